import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Trace } from "../src/evidence/Trace.ts"
import { defaultCriteria } from "../src/judgement/Criteria.ts"
import type { Probe, Subject } from "../src/probes/Probe.ts"
import { awaitEffects, drawn, rereadEffects } from "../src/run/EffectReading.ts"
import type { Reader } from "../src/run/EffectReading.ts"
import { attemptOf, counted, traceOf } from "./support/traces.ts"

/**
 * Makes a probe that returns `effectsOf(id, reading)`, with readings counted from 1 for each event. `asked` has the
 * number of readings by id.
 */
const probeOf = (kind: Probe["kind"], effectsOf: (id: string, reading: number) => number) => {
  const asked = new Map<string, number>()
  const probe: Probe = {
    kind,
    name: "test",
    concurrency: 8,
    read: ({ webhookId }) =>
      Effect.sync(() => {
        const reading = (asked.get(webhookId) ?? 0) + 1
        asked.set(webhookId, reading)
        return { effects: effectsOf(webhookId, reading), digest: null, data: null }
      })
  }
  return { probe, asked }
}

const readerOf = (probe: Probe, lag = 0): Reader => ({
  probe,
  criteria: defaultCriteria,
  endpoints: ["http://127.0.0.1:1/hook"],
  seed: 7,
  calibration: {
    kind: probe.kind,
    name: probe.name,
    neverSent: { expected: 0, observed: 0 },
    one: { expected: 1, observed: 1 },
    two: { expected: 2, observed: 2 },
    double: null,
    digest: false,
    byDataId: false,
    blindToUrls: false,
    foldsCase: true,
    lag
  }
})

const events = (count: number): Trace =>
  traceOf(Array.from({ length: count }, (_, event) => attemptOf({ event, webhook_id: `evt_${event + 1}` })))

const inBulk = (trace: Trace): Trace => ({ ...trace, events: trace.events.map((one) => ({ ...one, bulk: true })) })

describe("settling", () => {
  it.live("waits for a late effect, and for a second effect after the first", () =>
    Effect.gen(function* () {
      const { probe } = probeOf("http", (_, reading) => (reading < 3 ? 0 : reading < 4 ? 1 : 2))
      const { complete, traces } = yield* awaitEffects([events(1)], readerOf(probe), 5_000)
      assert.isTrue(complete)
      assert.deepStrictEqual(traces[0]?.effects, [counted(2)])
      assert.isTrue(traces[0]?.sight.foldsCase)
    })
  )

  it.live("gives up when the time is up, and says that an effect is missing", () =>
    Effect.gen(function* () {
      const { probe } = probeOf("http", (id) => (id === "evt_1" ? 1 : 0))
      const { complete, traces } = yield* awaitEffects([events(2)], readerOf(probe), 120)
      assert.isFalse(complete)
      assert.deepStrictEqual(traces[0]?.effects, [counted(1), counted(0)])
    })
  )

  it.live("keeps the highest count of all readings", () =>
    Effect.gen(function* () {
      const { probe } = probeOf("http", (_, reading) => (reading === 1 ? 2 : 1))
      const { traces } = yield* awaitEffects([events(1)], readerOf(probe), 1_000)
      assert.deepStrictEqual(traces[0]?.effects, [counted(1, 2)])
    })
  )

  /** Makes a probe that takes this long for each reading and counts one effect for every event. */
  const slowProbe = (milliseconds: number) => {
    const { asked, probe } = probeOf("exec", () => 1)
    return { asked, probe: { ...probe, read: (of: Subject) => Effect.delay(probe.read(of), milliseconds) } }
  }
  const slowly = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(effect)
      yield* TestClock.adjust("10 minutes")
      return yield* Fiber.join(fiber)
    })

  it.effect("reads as many bulk events as a short time allows, and every other event", () =>
    Effect.gen(function* () {
      const counts: Array<number> = []
      for (const each of [1, 200, 5_000]) {
        const { asked, probe } = slowProbe(each)
        const { traces } = yield* slowly(awaitEffects([inBulk(events(500)), events(20)], readerOf(probe), 1_000))
        assert.strictEqual(traces[1]?.effects.filter((one) => one !== null).length, 20)
        counts.push(traces[0]?.effects.filter((one) => one !== null).length ?? 0)
        assert.isAtLeast(asked.size, 20)
      }
      assert.deepStrictEqual(counts, [300, 60, 20])
    })
  )

  it.effect("reads again within a time limit, events that were sent again first", () =>
    Effect.gen(function* () {
      const { asked, probe } = slowProbe(200)
      const again = attemptOf({ event: 49, webhook_id: "evt_50", first: false })
      const trace = { ...events(50), attempts: [...events(50).attempts, again] }
      yield* slowly(rereadEffects([trace], readerOf(probe), 500))
      assert.strictEqual(asked.size, 24)
      assert.isTrue(asked.has("evt_50"))
    })
  )

  it("draws a sample without a fixed stride", () => {
    const some = drawn([...Array(600).keys()], 60, 1)
    const strides = new Set(some.slice(1).map((place, index) => place - (some[index] ?? 0)))
    assert.strictEqual(some.length, 60)
    assert.isAbove(strides.size, 8)
    assert.deepStrictEqual(drawn([...Array(600).keys()], 60, 1), some)
    assert.notDeepEqual(drawn([...Array(600).keys()], 60, 2), some)
  })

  it.live("adds effects that a later reading finds, and never lowers a count", () =>
    Effect.gen(function* () {
      const { probe } = probeOf("http", (id) => (id === "evt_1" ? 2 : 0))
      const before = { ...events(2), effects: [counted(1), counted(1)] }
      const [after] = yield* rereadEffects([before], readerOf(probe), 1_000)
      assert.deepStrictEqual(after?.effects, [counted(2), counted(1)])
    })
  )
})
