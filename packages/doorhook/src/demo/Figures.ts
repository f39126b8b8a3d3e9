/**
 * What the demo shows while it runs and when it ends.
 */
import type { DeliverySummary } from "@doorhook/core"
import { Deliveries, DeliveryMetrics, deliveryStates, DurationText } from "@doorhook/core"
import { Clock, Effect } from "effect"

/** Events and deliveries that this run's publisher was told are accepted. */
export interface Accepted {
  readonly events: number
  readonly deliveries: number
}

const statesText = ({ states }: Pick<DeliverySummary, "states">): string =>
  deliveryStates
    .filter((state) => states[state] > 0)
    .map((state) => `${state} ${states[state]}`)
    .join(", ") || "none yet"

const latencyText = (millis: number | null): string => (millis === null ? "-" : `${Math.round(millis)}ms`)

/** One line: events per second, deliveries by state, acknowledgement latency, oldest due delivery. */
export const liveLine = Effect.fnUntraced(function* (accepted: Accepted, elapsed: number) {
  const summary = yield* (yield* Deliveries).summary
  const now = yield* Clock.currentTimeMillis
  const [p50, p99] = yield* Effect.all([DeliveryMetrics.latencyQuantile(0.5), DeliveryMetrics.latencyQuantile(0.99)])
  const rate = elapsed === 0 ? 0 : (accepted.events * 1_000) / elapsed
  const oldest = summary.oldest_due_at === null ? "none" : DurationText.format(Math.max(0, now - summary.oldest_due_at))
  return [
    `${rate.toFixed(1)} events/s`,
    `deliveries: ${statesText(summary)}`,
    `ack p50 ${latencyText(p50)} p99 ${latencyText(p99)}`,
    `oldest due: ${oldest}`
  ].join(" | ")
})

const total = ({ states }: DeliverySummary): number => deliveryStates.reduce((sum, state) => sum + states[state], 0)

/** The difference that a run made to the store. */
const between = (before: DeliverySummary, after: DeliverySummary) => ({
  events: after.events - before.events,
  deliveries: total(after) - total(before)
})

/** Whether what was accepted and what the store holds agree, and how it ended, in words. */
export const endReport = (
  accepted: Accepted,
  before: DeliverySummary,
  after: DeliverySummary
): { readonly lines: ReadonlyArray<string>; readonly complete: boolean } => {
  const stored = between(before, after)
  const missing = accepted.deliveries - stored.deliveries
  const complete = missing === 0 && accepted.events === stored.events
  const sum = deliveryStates
    .filter((state) => after.states[state] > 0)
    .map((state) => `${state} ${after.states[state]}`)
    .join(" + ")
  return {
    complete,
    lines: [
      `accepted in this run: ${accepted.events} events with ${accepted.deliveries} deliveries`,
      `in the database: ${sum === "" ? "nothing" : sum} = ${total(after)} deliveries of ${after.events} events`,
      complete
        ? "every accepted event is accounted for"
        : `NOT accounted for: ${accepted.events - stored.events} events, ${missing} deliveries`
    ]
  }
}
