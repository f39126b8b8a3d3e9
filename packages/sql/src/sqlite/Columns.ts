/**
 * Converts column values to domain types. Rows are arrays in the order of the statement's columns.
 */
import type { DeliveryId, IntegrationId, Lane } from "@doorhook/core"
import { DeliveryId as DeliveryIds, IntegrationId as IntegrationIds, lanes } from "@doorhook/core"
import type { StatementSync } from "node:sqlite"
import { parsed } from "../DeliveryRows.ts"

export type Row = NonNullable<ReturnType<StatementSync["get"]>>

export const deliveryId = (value: unknown): DeliveryId => DeliveryIds.make(Number(value), { disableChecks: true })

export const integrationId = (value: unknown): IntegrationId =>
  IntegrationIds.make(Number(value), { disableChecks: true })

export const laneOf = (value: unknown): Lane => lanes.find((lane) => lane === value) ?? 3

/** Returns a placeholder id for an event whose row is missing. */
export const eventIdOf = (seq: unknown): string => `evt_${String(seq).padStart(20, "0")}`

/** Returns the event whose columns begin at index `at`, not decoded yet. */
export const eventFrom = (row: Row, at: number): object => ({
  id: row[at],
  resource_type: row[at + 1],
  action: row[at + 2],
  building_id: row[at + 3],
  tenant_ids: parsed(String(row[at + 4])),
  data: row[at + 5],
  created_at: row[at + 6]
})

/** Returns the attempt whose columns begin at index `at`, not decoded yet. */
export const attemptFrom = (row: Row, at: number): object => ({
  number: row[at],
  started_at: row[at + 1],
  duration_ms: row[at + 2],
  outcome: row[at + 3],
  status: row[at + 4],
  detail: row[at + 5],
  response_excerpt: row[at + 6]
})
