/**
 * A move that is killed at 50 random moments, in both directions.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { surviveKills } from "./MoveKills.ts"

/** Number of kills in each move. */
const kills = 5

await describeOnPostgres("a move that is killed at random moments", (server) => {
  for (const direction of ["there", "back"] as const)
    for (let round = 1; round <= 5; round++)
      it.live(`loses nothing: ${direction}, ${round}`, () =>
        Effect.scoped(surviveKills(server, direction, kills, Math.random))
      )
})
