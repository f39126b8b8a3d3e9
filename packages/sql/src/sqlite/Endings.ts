/**
 * Ending all active deliveries of an integration, also when it has a million of them.
 *
 * On SQLite one transaction holds up all others, so it must be short. A row in `endings` says at once that everything of
 * the integration up to an id is cancelled, and whatever reads `queue` heeds it. The rows are moved afterwards, some in a
 * transaction, by whoever has the file open, or opens it next.
 */
import type { DeliveryId, DeliveryReason, IntegrationId } from "@doorhook/core"
import { Effect, Queue } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Answer, StateCount } from "../DeliveryTables.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

/** The most deliveries that are moved in one transaction: some ten milliseconds. */
const batch = 2_000

export interface Endings {
  /** Ends what is active of an integration; counts it by former state. */
  readonly begin: (id: IntegrationId, reason: DeliveryReason) => Answer<ReadonlyArray<StateCount>>
  /** Moves all rows of an integration, in the caller's transaction. */
  readonly finish: (id: IntegrationId) => Answer<void>
  /** Moves certain rows, if they are of endings, in the caller's transaction. */
  readonly settle: (ids: ReadonlyArray<DeliveryId>) => Answer<void>
  /** Moves all rows there are to move, in transactions of their own. */
  readonly finishAll: Answer<void>
}

export const make: Effect.Effect<Endings, never, Scope.Scope | SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Queue.sliding<void>(1)
  const endings = sql.unsafe<{ readonly integration_id: IntegrationId }>(Statements.endings)

  /** Moves some rows of an integration's ending, if it has one; says whether there may be more. */
  const moveSome = Effect.fnUntraced(function* (id: IntegrationId) {
    yield* sql.unsafe(Statements.endSome, [id, batch])
    const moved = yield* sql.unsafe(Statements.deleteSome, [id, batch])
    if (moved.length === batch) return true
    yield* sql.unsafe(Statements.finishEnding, [id])
    return false
  })

  const finish: Endings["finish"] = Effect.fnUntraced(function* (id) {
    if (!(yield* endings).some(({ integration_id }) => integration_id === id)) return
    while (yield* moveSome(id));
  })

  const finishAll = Effect.gen(function* () {
    for (const { integration_id } of yield* endings) {
      // By turns with everything else that waits for the connection.
      while (yield* sql.withTransaction(moveSome(integration_id))) yield* Effect.yieldNow
    }
  })

  yield* finishAll.pipe(
    Effect.catchTag("SqlError", (error) =>
      // Nobody sees the difference, and whoever opens the file next goes on.
      Effect.logWarning(`Cancelled deliveries are not moved out of the queue yet: ${error.message}`)
    ),
    Effect.andThen(Queue.take(begun)),
    Effect.forever,
    Effect.forkScoped
  )

  return {
    begin: Effect.fnUntraced(function* (id, reason) {
      const counts = yield* sql.unsafe<StateCount>(Statements.countActive, [id])
      const total = counts.reduce((sum, { count }) => sum + count, 0)
      if (total === 0) return counts
      // One that is under way reaches over all there was: an integration takes nothing before it is finished.
      yield* finish(id)
      yield* sql.unsafe(Statements.beginEnding, [id, reason])
      if (total <= batch) yield* finish(id)
      else yield* Queue.offer(begun, undefined)
      return counts
    }),
    finish,
    settle: Effect.fnUntraced(function* (ids) {
      const list = [JSON.stringify(ids)]
      yield* sql.unsafe(Statements.endThese, list)
      yield* sql.unsafe(Statements.deleteThese, list)
    }),
    finishAll
  }
})
