/**
 * A machine vanishes in each way after each statement that the engine carries out inside a transaction.
 */
import { assert } from "@effect/vitest"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { Effect, Option } from "effect"
import { eventually } from "../harness/Eventually.ts"
import { live } from "../harness/Embedded.ts"
import type { Mode } from "./Vanishing.ts"
import { startVanishing } from "./Vanishing.ts"

const modes: ReadonlyArray<Mode> = ["silent", "stopped", "killed"]

/** How many different statements the load must cause in transactions, at least. */
const least = 20

/** A statement that does not occur again within this time is passed over. */
const rare = "10 seconds"

const exactly = (text: string): RegExp => new RegExp(`^${text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)}$`)

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)

await describeOnPostgres("a machine that vanishes anywhere", (server) => {
  live(
    "delays no ring of another, after any statement",
    function* () {
      const world = yield* startVanishing(server, { hasLimit: false })
      // The statements of the start don't occur again.
      world.link.seen.clear()
      const tried = new Set<string>()
      for (let caughtCount = 0; caughtCount < least || tried.size < world.link.seen.size;) {
        const untried = Effect.sync(() => [...world.link.seen].find((statement) => !tried.has(statement)))
        const statement = yield* eventually("another statement", untried, (text) => text !== undefined)
        if (statement === undefined) break
        tried.add(statement)
        const mode = modes[tried.size % modes.length] ?? "silent"
        const caught = yield* Effect.timeoutOption(world.vanish(exactly(statement), mode), rare)
        if (Option.isNone(caught)) continue
        caughtCount++
        yield* world.ringAll
        assert.isTrue(yield* world.isOpen(caught.value.pid), `${mode} after ${statement}: still open`)
        yield* world.comeBack(mode, caught.value)
      }
      yield* world.account
      const sorted = world.delays.toSorted((a, b) => a - b)
      const figures = [0.5, 0.99, 1].map((share) => quantile(sorted, share)).join(", ")
      process.stdout.write(`${tried.size} statements; rings p50, p99, max in ms: ${figures}\n`)
    },
    900_000
  )

  for (const mode of modes) {
    live(`the server ends the transaction by itself: ${mode}`, function* () {
      const world = yield* startVanishing(server)
      const caught = yield* world.vanish(/^WITH attempted AS/, mode)
      yield* eventually("the end", world.isOpen(caught.pid), (isOpen) => !isOpen)
      yield* world.ringAll
      yield* world.comeBack(mode, caught)
      yield* world.account
    })
  }
})
