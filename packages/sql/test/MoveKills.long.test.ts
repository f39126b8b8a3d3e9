/**
 * Moves that are killed at random moments: of everything and of buildings. With `DOORHOOK_WHOLE=1`, those of everything are
 * killed at 50 moments, and those of buildings at 80.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { sample } from "@doorhook/testkit/Sample"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { surviveCellKills, takeBuildings, ways } from "./Cells.ts"
import { surviveKills } from "./MoveKills.ts"

/** Number of kills in each move. */
const kills = 5

await describeOnPostgres("a move that is killed at random moments", (server) => {
  for (const direction of ["there", "back"] as const)
    for (const round of sample([1, 2, 3, 4, 5], 1))
      it.live(`loses nothing: ${direction}, ${round}`, () =>
        Effect.scoped(surviveKills(server, direction, kills, Math.random))
      )
})

await describeOnPostgres("a move of buildings that is killed at random moments", (server) => {
  it.live.each(ways)("takes exactly the rows of the buildings: %s to %s", (way) =>
    Effect.scoped(takeBuildings(server, way))
  )

  for (const round of sample([1, 2, 3, 4], 1))
    it.live.each(ways)(`loses nothing, and no building is alive in both: %s to %s, ${round}`, (way) =>
      Effect.scoped(surviveCellKills(server, way, kills))
    )
})
