/**
 * Adding up the rows of `tallies`. Whatever changes counts appends a row, hosts that publish in SQL too; so it is no part
 * of any of these calls, which would fail with it, but done by whoever has the database open: at first, and with each beat.
 */
import { runForever, rootMessage } from "@doorhook/core"
import { Effect, Queue } from "effect"
import type { SqlClient } from "effect/sql"
import { compactTallies, mostCompacted } from "./statements/TallyStatements.ts"

/** Starts it, for as long as the scope lives. Answers what has it done once more. */
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
      // The counts are right all the same, and it is tried again.
      Effect.logWarning(`The rows that counts are kept in are not added up yet: ${rootMessage(error)}`)
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(runForever("Adding up counts", round))

  return Effect.asVoid(Queue.offer(wanted, undefined))
})
