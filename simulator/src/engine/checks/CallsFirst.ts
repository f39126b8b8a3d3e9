/**
 * A ring does not wait behind a backlog.
 */
import type { Check } from "./Check.ts"
import { isDisturbed } from "./Disturbances.ts"
import type { Trace, TracedDelivery } from "./Trace.ts"
import { leastShare, longestUnseen } from "./Trace.ts"

/**
 * Places are kept for calls. Where there is but one place for all, what is open has to be answered or to time out first,
 * and an integration may have to wait for its turn after that. Then a poll and the store calls of a round.
 */
const bound = (trace: Trace): number => {
  const { scenario } = trace.outcome
  const { ackTimeout, concurrency } = trace.settings
  const wait = Math.min(concurrency, leastShare(trace)) > 1 ? 0 : 2 * ackTimeout
  return (
    wait + longestUnseen(trace) + 8 * scenario.storeLatency + 4 * scenario.directoryLatency + 2 * scenario.skew + 500
  )
}

/** When nothing more was done for a delivery. */
const lastActive = ({ requests, settlements, enqueued }: TracedDelivery): number =>
  Math.max(enqueued.at, requests.at(-1)?.endedAt ?? 0, settlements.at(-1)?.entry.at ?? 0)

/** Whether other calls take the places that are kept for calls. */
const isContended = (trace: Trace, call: TracedDelivery, from: number, to: number): boolean => {
  const { concurrency } = trace.settings
  const keptOf = (places: number) => Math.max(1, places - Math.max(1, Math.floor(0.8 * places)))
  const others = [...trace.deliveries.values()].filter(
    (other) =>
      other !== call && other.event.resource_type === "call" && other.enqueued.at <= to && lastActive(other) >= from
  )
  const ofSame = others.filter(({ integration_id }) => integration_id === call.integration_id)
  return ofSame.length >= keptOf(leastShare(trace)) || others.length >= keptOf(concurrency)
}

export const callsFirst: Check = {
  name: "calls-first",
  rule: "A call is attempted soon, whatever backlog of access logs there is.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap((delivery) => {
      const { enqueued, event, id, integration_id, requests, settlements } = delivery
      const stored = enqueued.events.flatMap(({ deliveries }) => deliveries).find((other) => other.id === id)
      if (event.resource_type !== "call" || (stored?.state !== "delivering" && stored?.state !== "pending")) return []
      const deadline = enqueued.at + bound(trace)
      const first = Math.min(requests[0]?.entry.at ?? Infinity, settlements[0]?.entry.at ?? Infinity)
      const isChanged = (trace.integrations.get(integration_id) ?? []).some(
        ({ at }) => at >= enqueued.at && at <= deadline
      )
      if (first <= deadline || isChanged || isDisturbed(trace, enqueued.at, deadline)) return []
      if (isContended(trace, delivery, enqueued.at, deadline)) return []
      const what = `the call of delivery ${id} was not attempted for ${first - enqueued.at} ms`
      return [{ what, entries: [enqueued.index, ...requests.slice(0, 1).map(({ entry }) => entry.index)] }]
    })
}
