/**
 * The demo's live figures, and its summary at the end.
 */
import type { DeliveryId, DeliverySummary, EventId } from "@doorhook/core"
import { counted, Deliveries, DeliveryMetrics, deliveryStates, DurationText } from "@doorhook/core"
import { Clock, Effect } from "effect"

/** The events accepted in this run, each with its number of deliveries. */
export type Accepted = ReadonlyMap<EventId, number>

const statesText = ({ states }: Pick<DeliverySummary, "states">): string =>
  deliveryStates
    .filter((state) => states[state] > 0)
    .map((state) => `${state} ${states[state]}`)
    .join(", ") || "none yet"

const latencyText = (millis: number | null): string => (millis === null ? "-" : `${Math.round(millis)}ms`)

/**
 * Returns one line with events per second, deliveries by state, acknowledgement latency and the oldest due delivery.
 */
export const liveLine = Effect.fnUntraced(function* (events: number, elapsed: number) {
  const summary = yield* (yield* Deliveries).summary
  const now = yield* Clock.currentTimeMillis
  const [p50, p99] = yield* Effect.all([DeliveryMetrics.latencyQuantile(0.5), DeliveryMetrics.latencyQuantile(0.99)])
  const rate = elapsed === 0 ? 0 : (events * 1_000) / elapsed
  const oldest = summary.oldest_due_at === null ? "none" : DurationText.format(Math.max(0, now - summary.oldest_due_at))
  return [
    `${rate.toFixed(1)} events/s`,
    `deliveries: ${statesText(summary)}`,
    `ack p50 ${latencyText(p50)} p99 ${latencyText(p99)}`,
    `oldest due: ${oldest}`
  ].join(" | ")
})

const total = ({ states }: DeliverySummary): number => deliveryStates.reduce((sum, state) => sum + states[state], 0)

/** Number of deliveries to read at a time. */
const page = 1_000

/** Returns the id of the newest delivery; undefined if there is none. */
export const newestDelivery = Effect.gen(function* () {
  const [newest] = yield* (yield* Deliveries).list({ order: "newest", limit: 1 })
  return newest?.id
})

/** Counts the stored deliveries of each event. With `newest`, counts only deliveries stored after it. */
export const storedAfter = Effect.fnUntraced(function* (newest: DeliveryId | undefined) {
  const { list } = yield* Deliveries
  const stored = new Map<EventId, number>()
  let after = newest
  for (let found = page; found === page;) {
    const deliveries = yield* list({ limit: page, ...(after !== undefined && { after }) })
    for (const { event_id } of deliveries) stored.set(event_id, (stored.get(event_id) ?? 0) + 1)
    found = deliveries.length
    after = deliveries.at(-1)?.id
  }
  return stored
})

/** Maximum number of missing events to name. */
const named = 3

const missingText = (missing: ReadonlyArray<EventId>): string => {
  const some = missing.slice(0, named).join(", ")
  return `NOT accounted for: ${counted(missing.length, "event")} (${missing.length > named ? `${some}, ...` : some})`
}

/**
 * Checks that all deliveries of each accepted event are stored, and describes the result. Additional events are not an
 * error: others might publish to the demo, and the run might stop before a response arrives.
 */
export const endReport = (
  accepted: Accepted,
  stored: ReadonlyMap<EventId, number>,
  summary: DeliverySummary
): { readonly lines: ReadonlyArray<string>; readonly complete: boolean } => {
  const missing = [...accepted].flatMap(([id, deliveries]) => ((stored.get(id) ?? 0) < deliveries ? [id] : []))
  const others = [...stored.keys()].filter((id) => !accepted.has(id)).length
  const sum = deliveryStates
    .filter((state) => summary.states[state] > 0)
    .map((state) => `${state} ${summary.states[state]}`)
    .join(" + ")
  const promised = [...accepted.values()].reduce((total, deliveries) => total + deliveries, 0)
  return {
    complete: missing.length === 0,
    lines: [
      `accepted in this run: ${accepted.size} events with ${promised} deliveries`,
      ...(others > 0
        ? [`also: ${counted(others, "event")} published by others, or whose response did not arrive`]
        : []),
      `in the database: ${sum === "" ? "nothing" : sum} = ${total(summary)} deliveries of ${summary.events} events`,
      missing.length === 0 ? "every accepted event is accounted for" : missingText(missing)
    ]
  }
}
