import { MeasuredClock } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as fc from "fast-check"

/** A machine and a server whose clocks a test moves. All times are in milliseconds. */
class World {
  /** The time that really passed. */
  elapsed = 0
  /** The machine's monotonic clock, which a suspension may stop. */
  steady = 5_000
  wall = 1_800_000_000_000
  /** The server's time at the beginning, plus its jumps. */
  server = 1_800_000_000_000
  /** By how much the machine's monotonic clock runs faster. */
  rate = 0
  /** Duration of the next statements, before and after the server reads its clock. */
  trip: readonly [number, number] = [1, 1]

  readonly clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => Math.round(this.wall),
    currentTimeMillis: Effect.sync(() => Math.round(this.wall)),
    currentTimeNanosUnsafe: () => BigInt(Math.round(this.wall * 1e6)),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(this.wall * 1e6))),
    monotonicTimeNanosUnsafe: () => BigInt(Math.round(this.steady * 1e6)),
    monotonicTimeNanos: Effect.sync(() => BigInt(Math.round(this.steady * 1e6))),
    sleep: () => Effect.never
  }

  readonly read = Effect.sync(() => {
    this.pass(this.trip[0])
    const time = this.serverTime()
    this.pass(this.trip[1])
    return time
  })

  serverTime(): number {
    return this.server + this.elapsed
  }

  pass(millis: number): void {
    this.elapsed += millis
    this.steady += millis * (1 + this.rate)
    this.wall += millis * (1 + this.rate)
  }

  /** The machine sleeps: its monotonic clock stands still, and its wall clock is corrected when it wakes. */
  suspend(millis: number): void {
    this.elapsed += millis
    this.wall += millis
  }
}

const measured = (world: World) =>
  MeasuredClock.make(world.read).pipe(Effect.provideService(Clock.Clock, world.clock), Effect.runSync)

const unknown = { ahead_ms: Number.NaN, error_ms: Number.NaN }

type Step =
  | { readonly kind: "pass"; readonly millis: number }
  | { readonly kind: "wall"; readonly millis: number }
  | { readonly kind: "server"; readonly millis: number }
  | { readonly kind: "suspend"; readonly millis: number }
  | { readonly kind: "measure"; readonly trip: readonly [number, number] }

/** Greatest jump that errors of measurements may hide, in milliseconds. */
const hidden = 20_000
const trip = fc.tuple(fc.nat(3_000), fc.nat(3_000))
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("pass" as const), millis: fc.nat(60_000) }),
  fc.record({ kind: fc.constant("wall" as const), millis: fc.integer({ min: -400_000, max: 400_000 }) }),
  fc.record({ kind: fc.constant("server" as const), millis: fc.integer({ min: -400_000, max: 400_000 }) }),
  fc.record({ kind: fc.constant("suspend" as const), millis: fc.nat(400_000) }),
  fc.record({ kind: fc.constant("measure" as const), trip })
)

describe("MeasuredClock", () => {
  it("returns the server's time within the stated error whatever the machine's wall clock does, unless it says that the time is uncertain", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.double({ min: -200e-6, max: 200e-6, noNaN: true }),
        trip,
        (steps, rate, first) => {
          const world = new World()
          world.rate = rate
          world.trip = first
          const clock = measured(world)
          // What no measurement has seen yet: jumps of the server's clock, and suspensions that the wall clock hides.
          let unseen = 0
          // A measurement can't see what is smaller than its own error.
          let missed = 0
          let lead = world.wall - world.steady
          for (const one of steps) {
            if (one.kind === "pass") world.pass(one.millis)
            else if (one.kind === "wall") world.wall += one.millis
            else if (one.kind === "suspend") {
              world.suspend(one.millis)
              unseen += one.millis
            } else if (one.kind === "server") {
              world.server += one.millis
              unseen += one.millis
            } else {
              world.trip = one.trip
              Effect.runSync(clock.measure)
              assert.isTrue(clock.isCertain())
              missed = Math.abs(unseen) > hidden ? 0 : missed + Math.abs(unseen)
              unseen = 0
              lead = world.wall - world.steady
            }
            if (Math.abs(world.wall - world.steady - lead) > 1_001) assert.isFalse(clock.isCertain())
            if (!clock.isCertain() || unseen !== 0) continue
            const { ahead_ms, error_ms } = clock.offset() ?? unknown
            const wrong = Math.abs(clock.now() - world.serverTime())
            assert.isAtMost(wrong, error_ms + missed + 2, "the time")
            assert.isAtMost(Math.abs(ahead_ms - (world.wall - world.serverTime())), error_ms + missed + 2, "the offset")
          }
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("keeps an exact measurement when a later one is less exact and agrees", () => {
    const world = new World()
    const clock = measured(world)
    world.trip = [0, 4_000]
    Effect.runSync(clock.measure)
    assert.isAtMost((clock.offset() ?? unknown).error_ms, 4)
    assert.strictEqual(clock.now(), Math.floor(world.serverTime()))
  })

  it("repeats a measurement during which the machine was suspended", () => {
    const world = new World()
    const clock = measured(world)
    let isFirst = true
    const suspending = MeasuredClock.make(
      Effect.suspend(() => {
        const time = world.read
        if (!isFirst) return time
        isFirst = false
        return Effect.tap(time, () => Effect.sync(() => world.suspend(40_000)))
      })
    ).pipe(Effect.provideService(Clock.Clock, world.clock), Effect.runSync)
    assert.isAtMost(Math.abs(suspending.now() - world.serverTime()), 2)
    assert.isFalse(clock.isCertain(), "of the clock that was not measured since")
  })

  it("says for a while that the server's clock jumped, or that this machine was suspended", () => {
    for (const jump of [-300_000, -1_500, 1_500, 300_000]) {
      const world = new World()
      const clock = measured(world)
      assert.isFalse(clock.hasJumped(45_000))
      world.server += jump
      Effect.runSync(clock.measure)
      assert.isTrue(clock.hasJumped(45_000), String(jump))
      world.pass(45_001)
      assert.isFalse(clock.hasJumped(45_000))
    }
    const world = new World()
    const clock = measured(world)
    world.wall += 300_000
    Effect.runSync(clock.measure)
    assert.isFalse(clock.hasJumped(45_000), "a step of the machine's own wall clock")
    world.suspend(60_000)
    Effect.runSync(clock.measure)
    assert.isTrue(clock.hasJumped(45_000), "a suspension")
  })
})
