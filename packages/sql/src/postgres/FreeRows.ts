/**
 * Choosing what to claim among rows that nobody else is claiming.
 *
 * To choose, more rows are looked at than are taken, and each is locked when it is looked at. Were these locks kept, other
 * claims would pass over rows that nobody takes. So they are given back, and the chosen ones locked again.
 */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import type { Choice } from "../DeliveryTables.ts"
import { int8s } from "./PostgresDialect.ts"
import * as Claims from "./statements/ClaimStatements.ts"

/** Takes a part of a transaction back, and with it the locks. */
class TakenBack extends Schema.TaggedError<TakenBack>()("TakenBack", {}) {}

/** Keeps of the rows that are looked at only the chosen ones; fewer, if others took some in between. */
export const chooseFree = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  look: Effect.Effect<Choice, SqlError.SqlError>
): Effect.fn.Return<ReadonlyArray<StandingRow>, SqlError.SqlError> {
  let chosen: ReadonlyArray<StandingRow> = []
  const looking = Effect.gen(function* () {
    const choice = yield* look
    ;({ chosen } = choice)
    if (choice.others) return yield* new TakenBack()
    return false
  })
  const takenBack = yield* looking.pipe(
    sql.withTransaction,
    Effect.catchTag("TakenBack", () => Effect.succeed(true))
  )
  if (!takenBack || chosen.length === 0) return chosen
  const latest = Math.max(...chosen.map(({ due_at }) => due_at ?? 0))
  const rows = yield* sql.unsafe<{ readonly id: number }>(Claims.keep, [int8s(chosen.map(({ id }) => id)), latest])
  const kept = new Set(rows.map(({ id }) => id))
  return chosen.filter(({ id }) => kept.has(id))
})
