/**
 * With lingering, frequent single events share transactions, and other calls don't wait.
 */
import { Publisher } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Linger, longest, patience, rest, sparse } from "../../src/publish/Linger.ts"
import { event, publisherOver } from "./PublisherOver.ts"

/** Returns a `Linger` that has recorded `calls` calls, `gap` milliseconds apart, and the time of the last call. */
const after = (calls: number, gap: number) => {
  const linger = new Linger()
  let now = 1_000
  for (let n = 0; n < calls; n++) linger.arrived(1, (now += gap))
  return { linger, now }
}

describe("Linger", () => {
  it("waits for about four more calls while calls are frequent, and for none while they are rare", () => {
    const waitAt = (gap: number): number => {
      const { linger, now } = after(100, gap)
      return linger.wait(now)
    }
    assert.strictEqual(waitAt(2), 8)
    assert.strictEqual(waitAt(1), 4)
    assert.strictEqual(waitAt(sparse - 1), longest)
    assert.strictEqual(waitAt(sparse + 1), 0)
    assert.strictEqual(waitAt(1_000), 0)
  })

  it("does not wait at the start or after a pause", () => {
    assert.strictEqual(after(1, 2).linger.wait(1_002), 0)
    const { linger, now } = after(100, 4)
    linger.arrived(1, now + 60_000)
    assert.strictEqual(linger.wait(now + 60_000), 0)
  })

  it("does not wait while the clock stops", () => {
    const { linger, now } = after(100, 2)
    linger.arrived(1, now)
    assert.strictEqual(linger.wait(now), 0)
  })

  it("pauses after useless waits, and tries again", () => {
    const { linger, now } = after(100, 2)
    for (let n = 1; n < patience; n++) linger.waited(false, now)
    linger.waited(true, now)
    for (let n = 1; n < patience; n++) linger.waited(false, now)
    assert.isAbove(linger.wait(now), 0)
    linger.waited(false, now)
    assert.strictEqual(linger.wait(now), 0)
    assert.strictEqual(linger.wait(now + rest - 1), 0)
    assert.isAbove(linger.wait(now + rest), 0)
  })

  it("never waits longer than its limit, whatever the clock and the calls do", () => {
    const arrival = fc.record({ count: fc.integer({ min: 1, max: 300 }), step: fc.integer({ min: -50, max: 50 }) })
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 100 }), (arrivals) => {
        const linger = new Linger()
        let now = 1_000_000
        for (const { count, step } of arrivals) {
          linger.arrived(count, (now += step))
          const wait = linger.wait(now)
          assert.isTrue(wait === 0 || (wait >= 2 && wait <= longest), String(wait))
        }
      })
    )
  })
})

describe("a publisher", () => {
  /**
   * Makes a publisher over a store whose commits take `commit` milliseconds. Records the number of events in each
   * transaction.
   */
  const watched = (commit: number) => {
    const sizes: Array<number> = []
    const layer = publisherOver((enqueue) => (records, keys) => {
      sizes.push(records.length)
      return Effect.delay(enqueue(records, keys), commit)
    })
    return { layer, sizes }
  }

  /** Publishes an event and returns how long the call took. */
  const timed = Effect.fnUntraced(function* (n: number, type: "access_log" | "call" = "access_log") {
    const began = yield* Clock.currentTimeMillis
    yield* Publisher.use(({ publish }) => publish([event(n, type)]))
    return (yield* Clock.currentTimeMillis) - began
  })

  it.effect("stores single events at 500 a second about five at a time, each without much delay", () => {
    const { layer, sizes } = watched(2)
    return Effect.gen(function* () {
      const publishing: Array<Fiber.Fiber<number, unknown>> = []
      for (let n = 0; n < 500; n++) {
        publishing.push(yield* Effect.forkChild(timed(n), { startImmediately: true }))
        yield* TestClock.adjust(2)
      }
      yield* TestClock.adjust(2 * longest)
      const took = yield* Fiber.joinAll(publishing)
      assert.isBelow(sizes.length, 150)
      assert.isAtMost(Math.max(...took), longest + 2 + 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("stores an isolated event immediately", () => {
    const { layer, sizes } = watched(2)
    return Effect.gen(function* () {
      for (let n = 0; n < 50; n++) {
        const publishing = yield* Effect.forkChild(timed(n), { startImmediately: true })
        yield* TestClock.adjust(20)
        assert.strictEqual(yield* Fiber.join(publishing), 2)
      }
      assert.strictEqual(sizes.length, 50)
    }).pipe(Effect.provide(layer))
  })

  it.effect("hardly slows down a caller that waits for each answer before its next event", () => {
    const { layer } = watched(2)
    return Effect.gen(function* () {
      const publishing = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 1_000 }, (_, n) => n),
          (n) => timed(n)
        ),
        { startImmediately: true }
      )
      while (publishing.pollUnsafe() === undefined) yield* TestClock.adjust(1)
      const took = yield* Fiber.join(publishing)
      const total = took.reduce((sum, time) => sum + time, 0)
      assert.isBelow(total, 2 * 1_000 * 1.1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("stores a call immediately, while access logs wait for each other", () => {
    const { layer, sizes } = watched(0)
    return Effect.gen(function* () {
      for (let n = 0; n < 100; n++) {
        yield* Effect.forkChild(timed(n), { startImmediately: true })
        yield* TestClock.adjust(2)
      }
      // From here on, an access log waits for its transaction.
      yield* Effect.forkChild(timed(100), { startImmediately: true })
      yield* TestClock.adjust(0)
      const before = sizes.length
      const calling = yield* Effect.forkChild(timed(101, "call"), { startImmediately: true })
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(calling), 0)
      assert.deepStrictEqual(sizes.slice(before, before + 1), [1])
      yield* TestClock.adjust(longest)
      assert.strictEqual(
        sizes.reduce((sum, size) => sum + size, 0),
        102
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("carries out waiting calls when it closes", () => {
    const { layer, sizes } = watched(0)
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        for (let n = 0; n < 100; n++) {
          yield* Effect.forkDetach(Effect.ignore(timed(n)), { startImmediately: true })
          yield* TestClock.adjust(2)
        }
      }).pipe(Effect.provide(layer))
      assert.strictEqual(
        sizes.reduce((sum, size) => sum + size, 0),
        100
      )
    })
  })

  it.effect("does not linger when it closes, even for calls that arrived during a transaction", () => {
    const { layer, sizes } = watched(2)
    return Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer, scope)
      const publish = (n: number) =>
        Effect.forkDetach(Effect.provideContext(Effect.ignore(timed(n)), context), { startImmediately: true })
      for (let n = 0; n < 100; n++) {
        yield* publish(n)
        yield* TestClock.adjust(2)
      }
      const before = sizes.length
      while (sizes.length === before) yield* TestClock.adjust(1)
      // The next call arrives during a transaction.
      yield* publish(100)
      const began = yield* Clock.currentTimeMillis
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      while (closing.pollUnsafe() === undefined) yield* TestClock.adjust(1)
      assert.isAtMost((yield* Clock.currentTimeMillis) - began, 2 + 2)
      assert.strictEqual(
        sizes.reduce((sum, size) => sum + size, 0),
        101
      )
    })
  })
})
