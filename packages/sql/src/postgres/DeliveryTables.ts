/**
 * Reads and changes the state of deliveries, inside the caller's transaction.
 *
 * A delivery has one row: in `queue` while it is active, in `deliveries` once it has ended. Transactions that wait for
 * locks take them in one order: one integration, then rows of `queue` by id, then rows of `deliveries` by id.
 */
import type { Attempt, DeliveryId, DeliveryState, IntegrationId, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { EndedRow, QueuedRow, StandingRow } from "../DeliveryRows.ts"
import { attemptColumns, endedColumns, queuedColumns, standingColumns, withId } from "./Columns.ts"
import { int8s, texts } from "./PostgresDialect.ts"
import * as EndingStatements from "./statements/CancellationStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import type { TallyName } from "./statements/TallyStatements.ts"
import { addToTallies, countsOf } from "./statements/TallyStatements.ts"

export type Sql = SqlClient.SqlClient
export type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** Changes of the counts in a transaction, by name. */
export type Tally = Map<TallyName, number>

export const count = (tally: Tally, name: TallyName, by: number): void => {
  tally.set(name, (tally.get(name) ?? 0) + by)
}

const countMove = (tally: Tally, from: DeliveryState, to: DeliveryState, by: number): void => {
  count(tally, from, -by)
  count(tally, to, by)
}

/** Writes a transaction's changes of the counts. Called at the end of the transaction. */
export const writeTally = (sql: Sql, tally: Tally): Answer<void> => {
  for (const by of tally.values()) if (by !== 0) return Effect.asVoid(sql.unsafe(addToTallies, countsOf(tally)))
  return Effect.void
}

export interface StateCount {
  readonly state: DeliveryState
  readonly count: number
}

/** Moves deliveries that a cancellation covers, and counts them as cancelled. */
export const cancelLocked = Effect.fnUntraced(function* (sql: Sql, ids: ReadonlyArray<DeliveryId>) {
  const tally: Tally = new Map()
  for (const { count: by, state } of yield* sql.unsafe<StateCount>(EndingStatements.cancelLocked, [int8s(ids)]))
    countMove(tally, state, "cancelled", by)
  yield* writeTally(sql, tally)
})

/** Statements that lock deliveries until the transaction ends. */
interface EntryStatements {
  readonly queued: string
  readonly ended: string
}

/**
 * Locks deliveries until the transaction ends and returns their rows. Locks active deliveries before ended ones. The
 * result includes a delivery that ends between the two locks. It lacks a delivery that becomes active again between the
 * two locks, like an unknown id.
 */
const entriesBy = Effect.fnUntraced(function* (
  sql: Sql,
  { ended, queued }: EntryStatements,
  ids: ReadonlyArray<DeliveryId>
) {
  if (ids.length === 0) return []
  const rows = yield* sql.unsafe<QueuedRow>(queued, [int8s(ids)])
  const cancelled = rows.filter(({ ending }) => Boolean(ending)).map(({ id }) => id)
  if (cancelled.length > 0) yield* cancelLocked(sql, cancelled)
  const active: ReadonlyArray<StandingRow> = rows.filter(({ ending }) => !ending)
  const found = new Set(active.map(({ id }) => id))
  const others = ids.filter((id) => !found.has(id))
  return others.length === 0 ? active : [...active, ...(yield* sql.unsafe<StandingRow>(ended, [int8s(others)]))]
})

/** Locks deliveries and returns their rows, like `entriesBy`. Waits for other transactions. */
export const entriesOf = (sql: Sql, ids: ReadonlyArray<DeliveryId>) =>
  entriesBy(sql, { queued: Statements.queuedStandings, ended: Statements.endedStandings }, ids)

/** Locks deliveries and returns their rows, like `entriesBy`, except those that other transactions have locked. */
export const freeEntries = (sql: Sql, ids: ReadonlyArray<DeliveryId>) =>
  entriesBy(sql, { queued: Statements.freeQueuedStandings, ended: Statements.freeEndedStandings }, ids)

/** The columns of an integration that affect changes of its deliveries. */
interface TargetRow {
  readonly id: IntegrationId
  readonly status: "enabled" | "disabled"
  readonly version: number
}

/** Locks integrations against changes until the transaction ends. Returns the integrations that exist. */
export const targetsOf = Effect.fnUntraced(function* (sql: Sql, ids: ReadonlyArray<IntegrationId>) {
  if (ids.length === 0) return new Map<IntegrationId, TargetRow>()
  const rows = yield* sql.unsafe<TargetRow>(Statements.targets, [int8s(ids)])
  return new Map(rows.map((target) => [target.id, target]))
})

/**
 * Like `targetsOf`, but waits for no transaction that changes an integration. Returns such an integration as it was
 * before the change, without a current version, so that no delivery to it is leased.
 */
export const freeTargetsOf = Effect.fnUntraced(function* (sql: Sql, ids: ReadonlyArray<IntegrationId>) {
  if (ids.length === 0) return new Map<IntegrationId, Transitions.Target>()
  const rows = yield* sql.unsafe<TargetRow & { readonly locked: boolean }>(Statements.freeTargets, [int8s(ids)])
  return new Map(
    rows.map(({ id, locked, status, version }): [IntegrationId, Transitions.Target] => [
      id,
      { status, version: locked ? version : Number.NaN }
    ])
  )
})

/** A change of one delivery, with the attempt that caused it, if any. */
export interface Move {
  readonly from: StandingRow
  readonly to: Transitions.QueueEntry
  readonly attempt?: Attempt | null
}

const isActive = ({ due_at }: Pick<Transitions.QueueEntry, "due_at">): boolean => due_at !== null

/**
 * Writes changes of deliveries within or between `queue` and `deliveries`. `attempt` is ignored for an ended delivery
 * that becomes active again.
 */
export const move = Effect.fnUntraced(function* (sql: Sql, tally: Tally, moves: ReadonlyArray<Move>) {
  const requeued: Array<EndedRow> = []
  const revived: Array<StandingRow> = []
  const ended: Array<EndedRow> = []
  const amended: Array<EndedRow> = []
  for (const { attempt = null, from, to } of moves) {
    countMove(tally, from.state, to.state, 1)
    const row = { ...from, ...to, attempt }
    if (isActive(to)) {
      const rows = isActive(from) ? requeued : revived
      rows.push(row)
    } else {
      const rows = isActive(from) ? ended : amended
      rows.push(row)
    }
  }
  if (requeued.length > 0)
    yield* sql.unsafe(Statements.requeue, [
      int8s(requeued.map(({ id }) => id)),
      ...standingColumns(requeued),
      ...attemptColumns(requeued.map(({ attempt }) => attempt))
    ])
  if (ended.length > 0)
    yield* sql.unsafe(Statements.end, [
      ...endedColumns(ended.map(withId)),
      ...attemptColumns(ended.map(({ attempt }) => attempt))
    ])
  if (amended.length > 0)
    yield* sql.unsafe(Statements.updateEnded, [
      int8s(amended.map(({ id }) => id)),
      int8s(amended.map((row) => row.attempts)),
      int8s(amended.map(({ early }) => early)),
      texts(amended.map(({ worker }) => worker)),
      ...attemptColumns(amended.map(({ attempt }) => attempt))
    ])
  if (revived.length > 0) {
    yield* sql.unsafe(Statements.takeEnded, [int8s(revived.map(({ id }) => id))])
    yield* sql.unsafe(Statements.insertQueued, queuedColumns(revived.map(withId)))
  }
})

/** Returns the ids of a query's rows. */
export const idsOf = <Id>(rows: Answer<ReadonlyArray<{ readonly id: Id }>>): Answer<ReadonlyArray<Id>> =>
  Effect.map(rows, (found) => found.map(({ id }) => id))

/** Wakes the workers in all processes when the transaction commits. */
export const signal = (sql: Sql): Answer<void> => Effect.asVoid(sql.unsafe(Statements.signal))
