/**
 * A move of buildings takes all their rows to a database with other buildings, and leaves the rest alone. It can be
 * killed at any moment and repeated.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { surviveCellKills, takeBuildings, ways } from "./Cells.ts"

await describeOnPostgres("a move of buildings", (server) => {
  it.live.each(ways.slice(2))("takes exactly the rows of the buildings: %s to %s", (way) =>
    Effect.scoped(takeBuildings(server, way))
  )

  it.live("loses nothing when it is killed and repeated", () =>
    Effect.scoped(surviveCellKills(server, ["file", "file"], 2))
  )
})
