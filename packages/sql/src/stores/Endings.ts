/**
 * Ending all active deliveries of an integration, also when it has a million of them.
 *
 * On SQLite one transaction holds up all others, on PostgreSQL it holds up the settlements that it is a part of, and what
 * takes too long is cut off. So it must be short. A row in `endings` says at once that everything of the integration up to
 * an id is cancelled, and whatever reads `queue` heeds it. The rows are moved afterwards, some in a transaction, by whoever
 * has the database open, or opens it next. They are counted as they are moved: until then `tallies` adds them up.
 *
 * An integration that has an ending takes nothing: it is deleted or disabled, and before it is enabled or probed the ending
 * is finished. Who begins one has locked the integration for change, so that nothing is published to it meanwhile; who
 * finishes one keeps it locked while it is disabled, when nothing that is published to it becomes active.
 */
import type { DeliveryId, DeliveryReason, IntegrationId } from "@doorhook/core"
import { activeStates, lasting } from "@doorhook/core"
import { Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { ActiveState, Answer } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { fleeting } from "../Durability.ts"
import { endNow } from "./Moving.ts"

/** The most deliveries that are moved in one transaction: some ten milliseconds. */
export const EndingBatch = Context.Reference<number>("@doorhook/sql/EndingBatch", { defaultValue: () => 2_000 })

/** Which rows of an ending to move. */
type Part = Parameters<DeliveryTables["Service"]["someOfEnding"]>[0]

export class Endings extends Context.Service<
  Endings,
  {
    /** Ends what is active of an integration that takes no more: core's `Standing.cancelled`. In the caller's transaction. */
    readonly begin: (id: IntegrationId, reason: DeliveryReason) => Answer<void>
    /** Moves what there is to move of an integration, in transactions of its own, but for what others keep at the moment. */
    readonly prepare: (id: IntegrationId) => Answer<void>
    /** Moves what is left after it, in the caller's transaction, which has locked the integration. */
    readonly finish: (id: IntegrationId) => Answer<void>
    /** Has what there is to move moved by and by: called when something was begun, and now and then. */
    readonly goOn: Effect.Effect<void>
  }
>()("@doorhook/sql/Endings") {}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* DeliveryTables
  const batch = yield* EndingBatch
  const wanted = yield* Queue.sliding<void>(1)

  /** Moves the first rows of an ending in a state after one, as many as wanted; answers their ids. */
  const moveSome = Effect.fnUntraced(function* (part: Part) {
    const ids = yield* tables.someOfEnding(part)
    if (ids.length > 0) yield* endNow(tables, ids)
    return ids
  })

  /**
   * Goes through the rows of an ending in a state, from where the last transaction left off: what it deleted is walked
   * through until it is vacuumed. Ends early, and says so, when it is somebody else's turn.
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
    yield* tables.finishEnding(id)
  }, fleeting)

  const has = (id: IntegrationId) => Effect.map(tables.endings, (ids) => ids.includes(id))

  const goThroughAll = Effect.gen(function* () {
    for (const id of yield* tables.endings) yield* goThrough(id, tables.takeTurn)
  })

  const round = goThroughAll.pipe(
    Effect.catchTag("SqlError", (error) =>
      // Nobody sees the difference, and it is tried again.
      Effect.logWarning(`Cancelled deliveries are not moved out of the queue yet: ${error.message}`)
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(lasting("Moving cancelled deliveries out of the queue", round))

  return Endings.of({
    begin: Effect.fnUntraced(function* (id, reason) {
      if (!(yield* tables.beginEnding(id, reason))) return
      // What is little is moved at once.
      let room = batch
      for (const state of activeStates)
        if (room > 0) room -= (yield* moveSome({ integration: id, state, after: 0, limit: room })).length
      yield* tables.finishEnding(id)
    }),
    prepare: Effect.fnUntraced(function* (id) {
      if (yield* has(id)) yield* goThrough(id, Effect.succeed(true))
    }),
    finish: Effect.fnUntraced(function* (id) {
      if (!(yield* has(id))) return
      const ids = yield* tables.restOfEnding(id)
      if (ids.length > 0) yield* endNow(tables, ids)
      yield* tables.finishEnding(id)
    }),
    goOn: Effect.asVoid(Queue.offer(wanted, undefined))
  })
})

export const layer: Layer.Layer<Endings, never, DeliveryTables | SqlClient.SqlClient> = Layer.effect(Endings, make)
