/**
 * A move of buildings takes all their rows to a database with other buildings, and leaves the rest alone. It can be
 * killed at any moment and repeated.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertConsistent, firstId, joined, makeCell, rowsIn, serves, surviveCellKills, ways } from "./Cells.ts"
import { buildingMove, sourceAt, targetAt } from "./MoveSides.ts"

await describeOnPostgres("a move of buildings", (server) => {
  it.live.each(ways)("takes exactly the rows of the buildings: %s to %s", ([from, to]) =>
    Effect.gen(function* () {
      const seed = 1 + Math.floor(Math.random() * 50)
      const a = yield* makeCell(server, from, { buildings: [1, 2, 3, 4, 7], count: 300, first: 1, seed })
      const b = yield* makeCell(server, to, { buildings: [101, 102], count: 100, first: firstId, seed })
      const before = [yield* rowsIn(a), yield* rowsIn(b)] as const
      const counts = yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "2-3,7").run()
      assert.isTrue(counts.every(({ source, target }) => source === target))
      const after = [yield* rowsIn(a), yield* rowsIn(b)] as const
      const expected = joined(...before)
      for (const [name, rows] of Object.entries(joined(...after))) assert.deepStrictEqual(rows, expected[name], name)
      const left = after[0]["events"]?.map((row) => Number(JSON.parse(row)[4]))
      assert.sameMembers([...new Set(left)], [1, 4])
      assert.deepStrictEqual(
        [yield* serves(a, 2), yield* serves(a, 1), yield* serves(b, 2), yield* serves(b, 101)],
        [false, true, true, true]
      )
      yield* assertConsistent(server, a)
      yield* assertConsistent(server, b)
    }).pipe(Effect.scoped)
  )

  it.live("loses nothing when it is killed and repeated", () =>
    Effect.scoped(surviveCellKills(server, ["postgres", "postgres"], 2))
  )
})
