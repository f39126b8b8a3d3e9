/**
 * Cancels all active deliveries of an integration, even a million of them.
 *
 * Moving all their rows in one transaction would block the settlements that share the transaction, and would time out.
 * Instead, a row in `endings` (a "cancellation") says that all deliveries of the integration up to an id are cancelled.
 * Every statement that reads `queue` respects this row. Later, any process that has the database open moves the rows of
 * the deliveries in batches and counts them. Until then, the counts add the deliveries that `endings` covers.
 *
 * No delivery is sent to an integration with a cancellation. The integration is deleted or disabled, and its
 * cancellation must be finished before the integration is enabled or probed. The transaction that begins a cancellation
 * holds the lock for changes of the integration, so nothing is published to the integration at the same time. The
 * transaction that finishes a cancellation keeps the integration locked and disabled, so deliveries published in the
 * meantime are not active.
 */
import type { activeStates as states, DeliveryId, IntegrationId } from "@doorhook/core"
import { activeStates } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { CancellationBatch, Cancellations, inBackground } from "../stores/Cancellations.ts"
import type { Answer } from "./DeliveryTables.ts"
import { cancelLocked, idsOf } from "./DeliveryTables.ts"
import * as Statements from "./statements/CancellationStatements.ts"

/** A state of an active delivery. */
type ActiveState = (typeof states)[number]

/** Rows of a cancellation to move: the first `limit` rows in a state after an id, in order of id. */
interface Part {
  readonly integration: IntegrationId
  readonly state: ActiveState
  readonly after: DeliveryId | 0
  readonly limit: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const batch = yield* CancellationBatch

  /** The integrations that have a cancellation. */
  const all = idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.cancellations))
  const forget = (id: IntegrationId) => sql.unsafe(Statements.finishCancellation, [id])

  /** Moves some rows of a cancellation, except rows that others have locked. Returns the ids of the moved rows. */
  const moveSome = Effect.fnUntraced(function* ({ after, integration, limit, state }: Part) {
    const ids = yield* idsOf(
      sql.unsafe<{ readonly id: DeliveryId }>(Statements.someToCancel, [integration, state, after, limit])
    )
    if (ids.length > 0) yield* cancelLocked(sql, ids)
    return ids
  })

  /** Whether this transaction may move rows. Only one transaction at a time may move rows. */
  const takeTurn = Effect.map(
    sql.unsafe<{ readonly mine: boolean }>(Statements.takeTurn),
    ([turn]) => turn?.mine === true
  )

  /**
   * Moves the rows of a cancellation in one state, in batches. Each batch starts after the previous one, because
   * deleted rows stay in the index until they are vacuumed. Returns false if another transaction is moving rows.
   */
  const goThroughState = Effect.fnUntraced(function* (
    integration: IntegrationId,
    state: ActiveState,
    isMyTurn: Answer<boolean>
  ): Effect.fn.Return<boolean, SqlError.SqlError> {
    let after: DeliveryId | 0 | undefined = 0
    while (after !== undefined) {
      const part: Part = { integration, state, after, limit: batch }
      const move = Effect.gen(function* () {
        return (yield* isMyTurn) ? yield* moveSome(part) : null
      })
      const moved: ReadonlyArray<DeliveryId> | null = yield* sql.withTransaction(move)
      if (moved === null) return false
      after = moved.length === batch ? moved.at(-1) : undefined
      // Gives other work a chance to use the connection.
      yield* Effect.yieldNow
    }
    return true
  })

  /** Moves the rows of a cancellation, then deletes the cancellation. */
  const goThrough = Effect.fnUntraced(function* (id: IntegrationId, isMyTurn: Answer<boolean>) {
    for (const state of activeStates) if (!(yield* goThroughState(id, state, isMyTurn))) return
    yield* forget(id)
  })

  const has = (id: IntegrationId) => Effect.map(all, (ids) => ids.includes(id))

  const resume = yield* inBackground(
    Effect.gen(function* () {
      for (const id of yield* all) yield* goThrough(id, takeTurn)
    })
  )

  return Cancellations.of({
    begin: Effect.fnUntraced(function* (id, reason) {
      if ((yield* sql.unsafe(Statements.beginCancellation, [id, reason])).length === 0) return
      // The first batch is moved in this transaction.
      let room = batch
      for (const state of activeStates)
        if (room > 0) room -= (yield* moveSome({ integration: id, state, after: 0, limit: room })).length
      yield* forget(id)
    }),
    prepare: Effect.fnUntraced(function* (id) {
      if (yield* has(id)) yield* goThrough(id, Effect.succeed(true))
    }),
    finish: Effect.fnUntraced(function* (id) {
      if (!(yield* has(id))) return
      const ids = yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Statements.restToCancel, [id]))
      if (ids.length > 0) yield* cancelLocked(sql, ids)
      yield* forget(id)
    }),
    resume
  })
})

export const layer: Layer.Layer<Cancellations, never, SqlClient.SqlClient> = Layer.effect(Cancellations, make)
