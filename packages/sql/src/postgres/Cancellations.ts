/**
 * Ending all active deliveries of an integration, also when it has a million of them.
 *
 * One transaction that moves them all would hold up the settlements that it is a part of, and is cut off when it takes too
 * long. So a row in `endings` says that all deliveries of the integration up to an id are cancelled, and whatever reads
 * `queue` respects it. The rows are moved afterwards, a few in a transaction, by any process that has the database open, or
 * opens it next. They are counted as they are moved: until then `tallies` adds them up.
 *
 * An integration that has an ending takes nothing: it is deleted or disabled, and before it is enabled or probed the ending
 * is finished. A transaction that begins one has locked the integration for change, so that nothing is published to it; one
 * that finishes it keeps it locked while it is disabled, when nothing that is published to it becomes active.
 */
import type { activeStates as states, DeliveryId, IntegrationId } from "@doorhook/core"
import { activeStates, runForever } from "@doorhook/core"
import { Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { CancellationBatch, Cancellations } from "../stores/Cancellations.ts"
import type { Answer } from "./Moves.ts"
import { cancelLocked, idsOf } from "./Moves.ts"
import * as Statements from "./statements/CancellationStatements.ts"

/** A state of a delivery that can be claimed or is leased. */
type ActiveState = (typeof states)[number]

/** Which rows of an ending to move: the first in a state after one, by growing id. */
interface Part {
  readonly integration: IntegrationId
  readonly state: ActiveState
  readonly after: DeliveryId | 0
  readonly limit: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const batch = yield* CancellationBatch
  const wanted = yield* Queue.sliding<void>(1)

  /** The integrations that have one. */
  const all = idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.cancellations))
  const forget = (id: IntegrationId) => sql.unsafe(Statements.finishCancellation, [id])

  /** Moves some rows of an ending, but for those that others lock; answers their ids. */
  const moveSome = Effect.fnUntraced(function* ({ after, integration, limit, state }: Part) {
    const ids = yield* idsOf(
      sql.unsafe<{ readonly id: DeliveryId }>(Statements.someToCancel, [integration, state, after, limit])
    )
    if (ids.length > 0) yield* cancelLocked(sql, ids)
    return ids
  })

  /** Whether this transaction may move rows that others would move too: one at a time, the first that comes. */
  const takeTurn = Effect.map(
    sql.unsafe<{ readonly mine: boolean }>(Statements.takeTurn),
    ([turn]) => turn?.mine === true
  )

  /**
   * Goes through the rows of an ending in a state, from where the last transaction left off: deleted rows are walked through
   * until they are vacuumed. Ends early, and says so, when it is another transaction's turn.
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
      // By turns with everything else that waits for the connection.
      yield* Effect.yieldNow
    }
    return true
  })

  /** Goes through an ending once. */
  const goThrough = Effect.fnUntraced(function* (id: IntegrationId, isMyTurn: Answer<boolean>) {
    for (const state of activeStates) if (!(yield* goThroughState(id, state, isMyTurn))) return
    yield* forget(id)
  })

  const has = (id: IntegrationId) => Effect.map(all, (ids) => ids.includes(id))

  const goThroughAll = Effect.gen(function* () {
    for (const id of yield* all) yield* goThrough(id, takeTurn)
  })

  const round = goThroughAll.pipe(
    Effect.catchTag("SqlError", (error) =>
      // No answer differs, and it is tried again.
      Effect.logWarning(`Cancelled deliveries are not moved out of the queue yet: ${error.message}`)
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(runForever("Moving cancelled deliveries out of the queue", round))

  return Cancellations.of({
    begin: Effect.fnUntraced(function* (id, reason) {
      if ((yield* sql.unsafe(Statements.beginCancellation, [id, reason])).length === 0) return
      // A few are moved at once.
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
    resume: Effect.asVoid(Queue.offer(wanted, undefined))
  })
})

export const layer: Layer.Layer<Cancellations, never, SqlClient.SqlClient> = Layer.effect(Cancellations, make)
