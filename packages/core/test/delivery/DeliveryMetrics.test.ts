import { DeliveryMetrics } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"

/** Returns the value of a counter of attempts. */
const attemptsCounted = (name: string, description: string, outcome: "acknowledged" | "timeout") =>
  Effect.map(
    Metric.value(Metric.counter(name, { description, attributes: { resource_type: "access_log", outcome } })),
    (counter) => counter.count
  )

const earlyAttempts = (outcome: "acknowledged" | "timeout") =>
  attemptsCounted(
    "doorhook_early_attempts_total",
    "Attempts made early after an outage of their receiver, by outcome",
    outcome
  )

const allAttempts = (outcome: "acknowledged" | "timeout") =>
  attemptsCounted("doorhook_attempts_total", "HTTP requests made to receivers, by outcome", outcome)

const attempted = (outcome: "acknowledged" | "timeout", early_due_at: number | null) => ({
  delivery: { event: { resource_type: "access_log" as const }, early_due_at },
  settlement: {
    attempt: {
      number: 2,
      started_at: 0,
      duration_ms: 1,
      outcome,
      status: null,
      response_excerpt: null,
      detail: null
    },
    state: outcome === "acknowledged" ? ("delivered" as const) : ("retrying" as const)
  }
})

describe("attempts", () => {
  it.effect("made early are also counted separately, by outcome", () =>
    Effect.gen(function* () {
      const counter = yield* DeliveryMetrics.makeCounter
      const counts = Effect.all([
        earlyAttempts("acknowledged"),
        earlyAttempts("timeout"),
        allAttempts("acknowledged"),
        allAttempts("timeout")
      ])
      const before = yield* counts
      for (const outcome of [
        attempted("acknowledged", 60_000),
        attempted("acknowledged", null),
        attempted("timeout", 1)
      ])
        counter.attempted(outcome)
      const after = yield* counts
      assert.deepStrictEqual(
        after.map((value, at) => value - (before[at] ?? 0)),
        [1, 1, 2, 1]
      )
    })
  )
})

const description =
  "Deliveries that ended in this process, after an attempt or when one was due, by state. doorhook_deliveries also counts skipped deliveries and those cancelled by a change to their integration"

const ended = (resource_type: "access_log" | "call", state: "delivered" | "expired" | "retrying") => ({
  delivery: { event: { resource_type }, early_due_at: null },
  settlement: { attempt: null, state }
})

const count = (resource_type: string, state: string) =>
  Effect.map(
    Metric.value(
      Metric.counter("doorhook_deliveries_ended_total", { description, attributes: { resource_type, state } })
    ),
    (counter) => counter.count
  )

describe("deliveries that ended", () => {
  it.effect("are counted by state, including those that expired without an attempt, and without retries", () =>
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
