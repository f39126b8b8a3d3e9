/**
 * Deliveries as statement parameters: one array per column, in the order of the statements.
 */
import type { Attempt, Transitions } from "@doorhook/core"
import type { NewDeliveryRow, StandingRow } from "../DeliveryRows.ts"
import { toStored } from "./NulText.ts"
import { int8s, texts } from "./PostgresDialect.ts"

/**
 * A delivery with its id. The statement assigns the ids of new deliveries; their `id` here is the position in the list.
 */
export interface Numbered {
  readonly id: number
  readonly row: NewDeliveryRow
}

const identityColumns = (rows: ReadonlyArray<Numbered>) => [
  int8s(rows.map(({ id }) => id)),
  texts(rows.map(({ row }) => row.event_id)),
  int8s(rows.map(({ row }) => row.integration_id)),
  int8s(rows.map(({ row }) => row.created_at))
]

/** The columns that change while a delivery is active. */
export const standingColumns = (rows: ReadonlyArray<Transitions.QueueEntry>) => [
  texts(rows.map(({ state }) => state)),
  int8s(rows.map(({ attempts }) => attempts)),
  int8s(rows.map(({ early }) => early)),
  int8s(rows.map(({ lane }) => lane)),
  int8s(rows.map(({ due_at }) => due_at)),
  texts(rows.map(({ worker }) => worker)),
  int8s(rows.map(({ resend }) => resend))
]

export const attemptColumns = (attempts: ReadonlyArray<Attempt | null>) => [
  int8s(attempts.map((attempt) => attempt?.started_at ?? null)),
  int8s(attempts.map((attempt) => attempt?.duration_ms ?? null)),
  texts(attempts.map((attempt) => attempt?.outcome ?? null)),
  int8s(attempts.map((attempt) => attempt?.status ?? null)),
  texts(attempts.map((attempt) => toStored(attempt?.detail ?? null))),
  texts(attempts.map((attempt) => toStored(attempt?.response_excerpt ?? null)))
]

export const queuedColumns = (rows: ReadonlyArray<Numbered>) => [
  ...identityColumns(rows),
  ...standingColumns(rows.map(({ row }) => row))
]

export const endedColumns = (rows: ReadonlyArray<Numbered>) => [
  ...identityColumns(rows),
  texts(rows.map(({ row }) => row.state)),
  texts(rows.map(({ row }) => row.reason)),
  int8s(rows.map(({ row }) => row.attempts)),
  int8s(rows.map(({ row }) => row.early)),
  int8s(rows.map(({ row }) => row.lane)),
  texts(rows.map(({ row }) => row.worker))
]

export const withId = (row: StandingRow): Numbered => ({ id: row.id, row })
