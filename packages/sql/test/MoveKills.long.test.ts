/**
 * Moves that are killed: one of everything at 50 random moments, and one of buildings at 80.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { surviveCellKills, takeBuildings, ways } from "./Cells.ts"
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

await describeOnPostgres("a move of buildings that is killed at random moments", (server) => {
  it.live.each(ways)("takes exactly the rows of the buildings: %s to %s", (way) =>
    Effect.scoped(takeBuildings(server, way))
  )

  for (let round = 1; round <= 4; round++)
    it.live.each(ways)(`loses nothing, and no building is alive in both: %s to %s, ${round}`, (way) =>
      Effect.scoped(surviveCellKills(server, way, kills))
    )
})
