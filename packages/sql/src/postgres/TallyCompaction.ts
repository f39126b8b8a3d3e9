/**
 * Compacts the rows of `tallies`. Every change of counts appends a row, also from hosts that publish in SQL. Compaction is
 * not part of these calls, because they would fail with it. Each process compacts at start and with each heartbeat.
 */
import { runForever, rootMessage } from "@doorhook/core"
import { Effect, Queue } from "effect"
import type { SqlClient } from "effect/sql"
import { compactTallies, mostCompacted } from "./statements/TallyStatements.ts"

/** Starts compaction for the lifetime of the scope. Returns an effect that triggers another run. */
export const startCompaction = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const wanted = yield* Queue.sliding<void>(1)

  const compactAll = Effect.gen(function* () {
    for (let taken = mostCompacted; taken === mostCompacted;) {
      const [folded] = yield* sql.unsafe<{ readonly taken: number }>(compactTallies)
      taken = folded?.taken ?? 0
    }
  })

  const round = compactAll.pipe(
    Effect.catchTag("SqlError", (error) =>
      // Counts are right without it, and the next heartbeat retries.
      Effect.logWarning(`Can't compact the rows of counts, will retry: ${rootMessage(error)}`)
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(runForever("Compacting counts", round))

  return Effect.asVoid(Queue.offer(wanted, undefined))
})
