import { DirectoryDocument } from "@doorhook/core"
import { demo, demoDirectory, Measurements, PlannedEvent, runDemo } from "@doorhook/simulator"
import type { Target } from "@doorhook/simulator"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { loggedAt } from "../src/plan/PlannedEvent.ts"
import { buildingsOf } from "./support.ts"

describe("the demo directory", () => {
  it("is accepted by a service and matches the demo's buildings", () => {
    const read = DirectoryDocument.fromValue(demoDirectory)
    assert.isTrue(Result.isSuccess(read), Result.isFailure(read) ? read.failure.message : "")
    const { clients, users } = demoDirectory
    assert.deepStrictEqual(
      clients.map(({ secret }) => secret !== undefined),
      [true, false]
    )
    assert.isTrue(users.some(({ buildings }) => buildings?.includes(1) && buildings.includes(2)))
    assert.isAtLeast(users.filter(({ tenants = [] }) => tenants.length > 0).length, 2)
    const doors = buildingsOf(demo).flatMap(({ building }) => building.access_points.map(({ id }) => id))
    assert.strictEqual(new Set(doors).size, doors.length)
    const tenants = (demoDirectory.tenants ?? []).map(({ id }) => id)
    assert.strictEqual(new Set(tenants).size, tenants.length)
    assert.include(tenants, 101)
  })
})

describe("demo traffic", () => {
  it.effect("begins now, arrives on time, and has current dates", () =>
    Effect.gen(function* () {
      const now = Date.UTC(2030, 0, 1, 3, 0)
      yield* TestClock.setTime(now)
      const seen: Array<{ readonly event: PlannedEvent; readonly at: number }> = []
      const target: Target = {
        name: "nobody",
        greet: Effect.succeed({ _tag: "Accepted", deliveries: 0, events: [] }),
        publish: (events) =>
          Effect.clockWith((clock) =>
            Effect.sync(() => {
              for (const event of events)
                seen.push({ event: Schema.decodeUnknownSync(PlannedEvent)(event), at: clock.currentTimeMillisUnsafe() })
              return { _tag: "Accepted", deliveries: 0, events: [] }
            })
          )
      }
      const live = yield* Effect.forkChild(runDemo({ seed: 5, rateScale: 30 }, target, new Measurements()))
      yield* TestClock.adjust("10 minutes")
      assert.isAbove(seen.length, 150)
      for (const { event, at } of seen) {
        assert.strictEqual(new Date(at).toISOString(), event.at)
        // Devices publish after some seconds, and some of their clocks are wrong.
        assert.closeTo(Date.parse(loggedAt(event)), at, 300_000)
      }
      assert.deepStrictEqual(new Set(seen.map(({ event }) => event.building_id)), new Set([1, 2]))
      assert.isAbove(seen.filter(({ event }) => event.resource_type === "call").length, 6)
      const before = seen.length
      // 13 hours after noon, it is past midnight in the demo.
      yield* TestClock.adjust("13 hours")
      assert.isAbove(seen.length, before * 10)
      yield* Fiber.interrupt(live)
    })
  )
})
