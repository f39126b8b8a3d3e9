/**
 * A machine vanishes in each way after statements that the engine carries out inside a transaction.
 */
import { assert } from "@effect/vitest"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { sample, times } from "@doorhook/testkit/Sample"
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
      const { seen } = world.link
      seen.clear()
      yield* eventually(
        "enough statements",
        Effect.sync(() => seen.size),
        (count) => count >= least
      )
      const tried = new Set<string>()
      let caughtCount = 0
      while (caughtCount < times(6, least) || tried.size < times(0, seen.size)) {
        const untried = Effect.sync(
          () =>
            sample(
              [...seen].filter((one) => !tried.has(one)),
              1
            )[0]
        )
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
      process.stdout.write(`${caughtCount} of ${seen.size} statements; rings p50, p99, max in ms: ${figures}\n`)
    },
    900_000
  )

  live("the server ends the transaction by itself, however the machine vanishes", function* () {
    const world = yield* startVanishing(server)
    for (const mode of modes) {
      const caught = yield* world.vanish(/^WITH attempted AS/, mode)
      yield* eventually("the end", world.isOpen(caught.pid), (isOpen) => !isOpen)
      yield* world.ringAll
      yield* world.comeBack(mode, caught)
    }
    yield* world.account
  })
})
