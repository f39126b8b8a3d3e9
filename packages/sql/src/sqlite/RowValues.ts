/**
 * Rows as parameters of statements, in the order in which these name their columns.
 */
import type { Attempt, DeliveryId, Event } from "@doorhook/core"
import type { NewDeliveryRow } from "../DeliveryRows.ts"
import type { Value } from "./SqliteClient.ts"

/** The columns that name a delivery, and where an active one stands. */
export const queuedValues = (id: DeliveryId, row: NewDeliveryRow): ReadonlyArray<Value> => [
  id,
  row.event_id,
  row.integration_id,
  row.created_at,
  row.state,
  row.reason,
  row.attempts,
  row.lane,
  row.due_at,
  row.lease_token,
  row.resend
]

export const eventValues = (
  seq: number,
  event: Event,
  first: number | null,
  last: number | null
): ReadonlyArray<Value> => [
  seq,
  event.id,
  event.resource_type,
  event.action,
  event.building_id,
  JSON.stringify(event.tenant_ids),
  event.created_at,
  first,
  last,
  event.data
]

export const attemptValues = (attempt: Attempt): ReadonlyArray<Value> => [
  attempt.started_at,
  attempt.duration_ms,
  attempt.outcome,
  attempt.status,
  attempt.detail,
  attempt.response_excerpt
]

export const noAttempt: ReadonlyArray<Value> = [null, null, null, null, null, null]

export const endedValues = (id: DeliveryId, row: NewDeliveryRow, attempt: Attempt | null): ReadonlyArray<Value> => [
  id,
  row.event_id,
  row.integration_id,
  row.created_at,
  row.state,
  row.reason,
  row.attempts,
  row.lane,
  row.lease_token,
  ...(attempt === null ? noAttempt : attemptValues(attempt))
]
