/**
 * The clocks of a machine and of the store are compared, and operators hear of a difference.
 */
import { ClockWatch, DeliveryStore, MemoryStore, Notifications, StoreClock } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

/** Watches as some processes of these machines, with an offset and an error that the test sets. */
const startWatching = Effect.fnUntraced(function* (machines: ReadonlyArray<string>) {
  const offset = { ahead_ms: 0, error_ms: 100 }
  const clock = yield* Clock.Clock
  const measured = {
    now: () => clock.currentTimeMillisUnsafe(),
    isCertain: () => true,
    hasJumped: () => false,
    measure: Effect.void,
    offset: () => offset
  }
  const stores = Layer.provideMerge(Notifications.layer, MemoryStore.layer)
  const services = yield* Layer.build(Layer.merge(stores, Layer.succeed(StoreClock, measured)))
  for (const machine of machines)
    yield* Layer.build(Layer.fresh(ClockWatch.layer(machine))).pipe(Effect.provideContext(services))
  const store = yield* Effect.provideContext(DeliveryStore, services)
  /** Returns the notifications ten seconds after the clock was set to be ahead. */
  const whenAhead = Effect.fnUntraced(function* (ahead_ms: number) {
    offset.ahead_ms = ahead_ms
    yield* TestClock.adjust("10 seconds")
    const all = yield* store.notifications({ limit: 100 })
    return all.map((each) => (each.kind === "clock_offset" ? [each.machine, each.ahead_ms] : [each.kind]))
  })
  return { whenAhead }
})

describe("comparing clocks", () => {
  it.effect("notifies once of an offset above 5 s, and again only after the clocks agreed", () =>
    Effect.gen(function* () {
      const { whenAhead } = yield* startWatching(["a"])
      for (const ahead of [0, 1_000, 2_500, 5_000, 5_100, -5_100])
        assert.deepStrictEqual(yield* whenAhead(ahead), [], `${ahead}`)
      const once = [["a", 5_001]]
      for (const ahead of [5_101, 300_000, 4_000, 1_200, 6_000])
        assert.deepStrictEqual(yield* whenAhead(ahead), once, `${ahead}`)
      assert.deepStrictEqual(yield* whenAhead(1_100), once)
      assert.deepStrictEqual(yield* whenAhead(6_000), once, "within ten minutes")
      yield* whenAhead(0)
      const behind = [...once, ["a", -299_900]]
      assert.deepStrictEqual(yield* whenAhead(-300_000), behind)
      yield* whenAhead(0)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* whenAhead(6_000), [...behind, ["a", 5_900]])
    }).pipe(Effect.scoped)
  )

  it.effect("notifies once for all processes of a machine, and for each machine", () =>
    Effect.gen(function* () {
      const { whenAhead } = yield* startWatching(["a", "a", "b", "a"])
      const found = yield* whenAhead(9_000)
      assert.sameDeepMembers(found, [
        ["a", 8_900],
        ["b", 8_900]
      ])
    }).pipe(Effect.scoped)
  )

  it("warns above 2 s, and until the clocks agree again", () => {
    const levels = [0, 2_000, 2_001, 1_500, 1_000, -2_001, -1_500, -1_000, 5_000, 5_001, 4_999, 1_001, 0]
    let level: ReturnType<typeof ClockWatch.clockLevel> = "agrees"
    const seen = levels.map((ahead) => (level = ClockWatch.clockLevel(level, ahead)))
    const short = seen.map((each) => each.slice(0, 1)).join("")
    assert.strictEqual(short, "aawwawwawfffa")
  })
})
