/**
 * Moves of the same buildings at the same time, failures of the last step, and what changes while a move copies.
 */
import type { BuildingSide } from "@doorhook/sql"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Engine } from "./Cells.ts"
import { firstId, makeCell, rowsIn, serves } from "./Cells.ts"
import { change } from "./MoveKills.ts"
import { buildingMove, isUsable, move, sourceAt, targetAt } from "./MoveSides.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** A side that first does something else, once, before a call. */
const before = (
  side: BuildingSide,
  call: "whileLeaving" | "whileStopped" | "noticed" | "fence",
  work: Effect.Effect<unknown, unknown>
): BuildingSide => {
  let isDone = false
  const first = Effect.suspend(() => {
    if (isDone) return Effect.void
    isDone = true
    return Effect.orDie(work)
  })
  return new Proxy(side, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== call) return typeof value === "function" ? value.bind(target) : value
      if (call === "noticed" || call === "fence") return Effect.andThen(first, target[call])
      const whole: BuildingSide["whileStopped"] = (...given) => Effect.andThen(first, target.whileStopped(...given))
      const some: BuildingSide["whileLeaving"] = (given) => Effect.andThen(first, target.whileLeaving(given))
      return call === "whileStopped" ? whole : some
    }
  })
}

const own = { buildings: [1, 2, 3], count: 60, first: 1, seed: 3 }
const others = { buildings: [101, 102], count: 20, first: firstId, seed: 3 }

await describeOnPostgres("moves at the same time", (server) => {
  const engines: ReadonlyArray<Engine> = ["file", "postgres"]

  it.live.each(engines)("the second move of the same buildings from a %s finds them moved", (engine) =>
    Effect.gen(function* () {
      const [a, b] = [yield* makeCell(server, "file", own), yield* makeCell(server, engine, others)]
      const first = Effect.scoped(
        Effect.gen(function* () {
          yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "2").run()
        })
      )
      const source = before(yield* sourceAt(a), "whileLeaving", first)
      // A file as the target is kept by the command itself.
      const target = yield* targetAt(b)
      const late = new Proxy(target, {
        get: (side, name) => {
          const value: unknown = Reflect.get(side, name, side)
          return name === "hold" ? Effect.void : typeof value === "function" ? value.bind(side) : value
        }
      })
      assert.deepStrictEqual(yield* buildingMove(source, late, "2").run(), [])
      assert.strictEqual((yield* rowsIn(b))["integrations"]?.length, 6)
      assert.isTrue(yield* serves(b, 2))
    })
  )

  it.live("the move to another database is refused, and leaves nothing there", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* makeCell(server, "file", own), yield* makeCell(server, "postgres", others)]
      const c = yield* makeCell(server, "file", { ...others, buildings: [201] })
      const untouched = yield* rowsIn(c)
      const first = Effect.scoped(
        Effect.gen(function* () {
          yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "2").run()
        })
      )
      const source = before(yield* sourceAt(a), "whileLeaving", first)
      const refused = yield* Effect.flip(buildingMove(source, yield* targetAt(c), "2").run())
      assert.include(refused.message, "does not serve building 2")
      assert.deepStrictEqual(yield* rowsIn(c), untouched)
      assert.isTrue(yield* serves(b, 2))
    })
  )

  it.live("a whole move that waited for the file finds it moved, and changes nothing of the new database", () =>
    Effect.gen(function* () {
      const a = yield* makeCell(server, "file", own)
      const [b, c] = [yield* temporaryFile, yield* temporaryFile]
      const first = Effect.scoped(
        Effect.gen(function* () {
          yield* move(yield* sourceAt(a), yield* targetAt(b))
        })
      )
      const source = before(yield* sourceAt(a), "whileStopped", first)
      const refused = yield* Effect.flip(move(source, yield* targetAt(c)))
      assert.include(refused.message, "was moved to")
      assert.deepStrictEqual([yield* isUsable(b), yield* isUsable(c)], [true, false])
    })
  )

  it.live("a PostgreSQL database is used by one move only, until that ends", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* makeCell(server, "postgres", own), yield* makeCell(server, "postgres", others)]
      const second = Effect.scoped(
        Effect.gen(function* () {
          const refused = yield* Effect.flip(buildingMove(yield* sourceAt(a), yield* targetAt(b), "3").run())
          assert.include(refused.message, "another doorhook move uses it")
        })
      )
      yield* buildingMove(before(yield* sourceAt(a), "whileLeaving", second), yield* targetAt(b), "2").run()
      yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "3").run()
      assert.deepStrictEqual([yield* serves(b, 2), yield* serves(b, 3), yield* serves(a, 3)], [true, true, false])
    })
  )
})

await describeOnPostgres("the last step of a move of buildings", (server) => {
  describe.each(["file", "postgres"] satisfies ReadonlyArray<Engine>)("from a %s", (engine) => {
    it.live("takes the tenants who have come since the copying began", () =>
      Effect.gen(function* () {
        const [a, b] = [yield* makeCell(server, "file", own), yield* makeCell(server, engine, others)]
        const late = change(a, [
          "UPDATE integrations SET scope_id = 29 WHERE scope_type = 'tenant' AND scope_id = 20",
          `INSERT INTO events (seq, id, resource_type, action, building_id, tenant_ids, created_at, data)
            VALUES (900, 'evt_00000000000000000900', 'call', 'create', 2, '[29]', 1, '{}')`
        ])
        yield* buildingMove(before(yield* sourceAt(a), "whileLeaving", late), yield* targetAt(b), "2").run()
        const ofTenant = (row: string) => row.includes('"tenant",29')
        assert.lengthOf((yield* rowsIn(b))["integrations"]?.filter(ofTenant) ?? [], 1)
        assert.lengthOf((yield* rowsIn(a))["integrations"]?.filter(ofTenant) ?? [], 0)
      })
    )

    it.live("gives the buildings back to the source if it fails", () =>
      Effect.gen(function* () {
        const [a, b] = [yield* makeCell(server, engine, own), yield* makeCell(server, "file", others)]
        const [source, target] = [yield* rowsIn(a), yield* rowsIn(b)]
        const broken = new Proxy(yield* targetAt(b), {
          get: (side, name) => {
            const value: unknown = Reflect.get(side, name, side)
            if (name === "follow") return () => Effect.die(new Error("the disk is full"))
            return typeof value === "function" ? value.bind(side) : value
          }
        })
        const failed = yield* Effect.exit(buildingMove(yield* sourceAt(a), broken, "2").run())
        assert.isTrue(failed._tag === "Failure")
        assert.deepStrictEqual([yield* serves(a, 2), yield* serves(b, 2)], [true, false])
        assert.deepStrictEqual(yield* rowsIn(a), source)
        assert.deepStrictEqual((yield* rowsIn(b))["integrations"], target["integrations"])
        yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "2").run()
        assert.deepStrictEqual([yield* serves(a, 2), yield* serves(b, 2)], [false, true])
      })
    )
  })
})
