/**
 * Makes deliveries due again: a single one (resend), all that an integration has missed (recover), or one to a disabled
 * integration (probe).
 */
import type { DeliveryId, IntegrationId, RedeliverRequest, RedeliverResult } from "@doorhook/core"
import { StoreRules, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import type { SubjectRow } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import type { Cancellations } from "../stores/Cancellations.ts"
import type { Answer, Sql, Tally } from "./DeliveryTables.ts"
import { idsOf, move, signal, entriesOf, targetsOf, writeTally } from "./DeliveryTables.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

/** Maximum number of deliveries that one transaction recovers, in about ten milliseconds. */
const batch = 1_000

const { isRecovered, redelivered, refused, refusalOf } = StoreRules
const { subjects } = integrationStatements(postgres)

/**
 * Locks one integration, if it exists. Waits for the lock, so the transaction must hold no other integration's lock.
 */
const lockIntegration = (sql: Sql, id: number): Answer<void> =>
  Effect.asVoid(sql.unsafe(Statements.lockIntegration, [id]))

/** Makes deliveries due at `now` and wakes the workers of all processes. Runs in a transaction. */
const resend = Effect.fnUntraced(function* (sql: Sql, rows: ReadonlyArray<StandingRow>, now: number) {
  if (rows.length === 0) return
  const tally: Tally = new Map()
  const moves = rows.map((from) => ({ from, to: Transitions.resend(from, now) }))
  yield* move(sql, tally, moves)
  yield* writeTally(sql, tally)
  if (moves.some(({ to }) => to.state === "pending")) yield* signal(sql)
})

/**
 * Locks deliveries and returns their rows. A delivery that was cancelled during an attempt is leased to the same worker
 * again, so the worker's row of `members` is locked too.
 */
const lockToResend = Effect.fnUntraced(function* (sql: Sql, ids: ReadonlyArray<DeliveryId>) {
  const found = yield* sql.unsafe<{ readonly worker: string }>(Statements.workersOfEnded, [int8s(ids)])
  // Workers are locked before deliveries, in the same order as in a heartbeat.
  if (found.length > 0) yield* sql.unsafe(Statements.keepWorkers, [texts(found.map(({ worker }) => worker))])
  return yield* entriesOf(sql, ids)
})

/** Sends one delivery again. Runs in a transaction. */
const resendOne = Effect.fnUntraced(function* (sql: Sql, id: DeliveryId, now: number) {
  const ofDelivery = sql.unsafe<{ readonly id: IntegrationId }>(Statements.integrationsOfDeliveries, [int8s([id])])
  for (const integration of yield* idsOf(ofDelivery)) yield* lockIntegration(sql, integration)
  const look = lockToResend(sql, [id])
  // If a recovery revives the delivery during the first look, the second look finds it.
  const from = (yield* look)[0] ?? (yield* look)[0]
  if (from === undefined) return refused("not_found")
  const target = (yield* targetsOf(sql, [from.integration_id])).get(from.integration_id)
  const refusal = refusalOf("delivery", target)
  if (refusal !== null) return refused(refusal)
  yield* resend(sql, [from], now)
  return redelivered(1, id)
})

type Recovery = Extract<RedeliverRequest, { readonly type: "integration" }>

/** An unacknowledged delivery. `resource_type` is null if its event is missing. */
interface RecoverableRow {
  readonly id: DeliveryId
  readonly created_at: number
  readonly resource_type: string | null
}

/** The result of one transaction of a recovery. `next` is the id to continue after. */
type Part =
  | { readonly why: StoreRules.Refusal }
  | { readonly why: null; readonly count: number; readonly next: DeliveryId | undefined }

/** Recovers a batch of an integration's deliveries after an id. Runs in a transaction. */
const recoverSome = Effect.fnUntraced(function* (
  sql: Sql,
  request: Recovery,
  now: number,
  after: DeliveryId | 0
): Effect.fn.Return<Part, SqlError.SqlError> {
  const target = (yield* targetsOf(sql, [request.id])).get(request.id)
  const why = refusalOf("integration", target)
  if (why !== null) return { why }
  const found = yield* sql.unsafe<RecoverableRow>(Statements.recoverable, [request.id, after, batch])
  const ids = found.filter((row) => isRecovered(request, row)).map(({ id }) => id)
  const next = found.length === batch ? found.at(-1)?.id : undefined
  if (ids.length === 0) return { why: null, count: 0, next }
  // Excludes deliveries that were sent or revived in the meantime.
  const rows = (yield* lockToResend(sql, ids)).filter(Transitions.isRecoverable)
  yield* resend(sql, rows, now)
  return { why: null, count: rows.length, next }
})

/**
 * Recovers all deliveries of an integration created since a time, in order of id. Calls `noteBegun` when a part is
 * committed.
 */
const recoverAll = Effect.fnUntraced(function* (sql: Sql, request: Recovery, now: number, noteBegun: () => void) {
  let recovered = 0
  for (let after: DeliveryId | 0 | undefined = 0; after !== undefined;) {
    const part: Part = yield* sql.withTransaction(recoverSome(sql, request, now, after))
    if (part.why !== null) {
      if (recovered === 0) return refused(part.why)
      break
    }
    recovered += part.count
    if (part.count > 0) noteBegun()
    after = part.next
    // Gives other work a chance to use the connection.
    yield* Effect.yieldNow
  }
  return redelivered(recovered, null)
})

/** Makes due the newest unacknowledged delivery of a disabled integration. Runs in a transaction. */
const probeOne = Effect.fnUntraced(function* (
  sql: Sql,
  endings: Cancellations["Service"],
  integration: IntegrationId,
  now: number
) {
  yield* lockIntegration(sql, integration)
  const [subject] = yield* sql.unsafe<SubjectRow>(subjects, [int8s([integration])])
  const refusal = refusalOf("probe", subject)
  if (refusal !== null) return refused(refusal)
  yield* endings.finish(integration)
  const [newest] = yield* sql.unsafe<{ readonly id: DeliveryId | null }>(Statements.newestUnacknowledged, [integration])
  const id = newest?.id ?? null
  const [from] = id === null ? [] : yield* entriesOf(sql, [id])
  if (from === undefined) return refused("nothing_to_send")
  yield* resend(sql, [from], now)
  return redelivered(1, from.id)
})

/** Carries out `DeliveryStore.redeliver`. Calls `noteBegun` when a part of the request is committed. */
export const redeliver = (
  sql: Sql,
  endings: Cancellations["Service"],
  request: RedeliverRequest,
  now: number,
  noteBegun: () => void
): Effect.Effect<RedeliverResult, SqlError.SqlError> => {
  switch (request.type) {
    case "delivery":
      return sql.withTransaction(resendOne(sql, request.id, now))
    case "integration":
      return recoverAll(sql, request, now, noteBegun)
    case "probe":
      return Effect.andThen(endings.prepare(request.id), sql.withTransaction(probeOne(sql, endings, request.id, now)))
  }
}
