import { DeliveryMetrics } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"

const description = "Deliveries that ended in this process, by the state they ended in"

const ended = (resource_type: "access_log" | "call", state: "delivered" | "expired" | "retrying") => ({
  delivery: { event: { resource_type } },
  settlement: { attempt: null, state }
})

const count = (resource_type: string, state: string) =>
  Effect.map(
    Metric.value(Metric.counter("doorhook_deliveries_ended", { description, attributes: { resource_type, state } })),
    (counter) => counter.count
  )

describe("deliveries that ended", () => {
  it.effect("are counted by state, those that expired unattempted too, and retries are not", () =>
    Effect.gen(function* () {
      const before = [yield* count("call", "expired"), yield* count("access_log", "delivered")]
      const counter = yield* DeliveryMetrics.makeCounter
      counter.ended([
        ended("call", "expired"),
        ended("call", "expired"),
        ended("call", "retrying"),
        ended("access_log", "delivered")
      ])
      const after = [yield* count("call", "expired"), yield* count("access_log", "delivered")]
      assert.deepStrictEqual(
        after.map((value, at) => value - (before[at] ?? 0)),
        [2, 1]
      )
      assert.strictEqual(yield* count("call", "retrying"), 0)
    })
  )
})
