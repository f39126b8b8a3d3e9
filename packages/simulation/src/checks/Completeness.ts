/** Checks that no delivery is lost and that records and tallies are true. */
import type { DeliveryState, Integration, IntegrationId, NewEvent } from "@doorhook/core"
import { Matcher, RetryPolicy, deliveryStates } from "@doorhook/core"
import type { FinalDelivery } from "../History.ts"
import { isAcknowledged } from "./Knowledge.ts"
import type { Check, EntryOf, IntegrationEntry, Trace, TracedDelivery, Violation } from "./Trace.ts"
import { clockError, entriesOf, failedEarly, isSettled, longestLapse, longestUnseen } from "./Trace.ts"

/** Length of the last part of a run, in milliseconds. A backlog is not lost if some of it was sent in that part. */
const recently = 60_000

/**
 * Share of busy places above which engines count as overloaded. Less than half, because retries may use only half of
 * the places.
 */
const overload = 0.4

/**
 * Returns the versions of an integration that were in effect between two entries; null for a time when it did not
 * exist.
 */
const versionsBetween = (
  history: ReadonlyArray<IntegrationEntry>,
  from: number,
  to: number
): ReadonlyArray<Integration | null> => {
  const versionOf = ({ integration, what }: IntegrationEntry) => (what === "deleted" ? null : integration)
  const before = history.findLast(({ index }) => index <= from)
  return [
    before === undefined ? null : versionOf(before),
    ...history.filter(({ index }) => index > from && index <= to).map(versionOf)
  ]
}

/** Returns the integrations that matched an event during the whole time between two entries. */
const owed = ({ integrations }: Trace, event: NewEvent, from: number, to: number): ReadonlyArray<IntegrationId> =>
  [...integrations].flatMap(([id, history]) =>
    versionsBetween(history, from, to).every((version) => version !== null && Matcher.matches(version, event))
      ? [id]
      : []
  )

const missing = (trace: Trace): ReadonlyArray<Violation> => {
  const stored = new Map<string, Set<IntegrationId>>()
  for (const { event, final, integration_id } of trace.deliveries.values()) {
    if (final === undefined) continue
    stored.set(event.data, (stored.get(event.data) ?? new Set<IntegrationId>()).add(integration_id))
  }
  const accepted = new Map<string, EntryOf<"enqueued">>()
  for (const entry of entriesOf(trace.entries, "enqueued")) {
    for (const { event } of entry.events) accepted.set(event.data, entry)
  }
  const invoked = new Map(entriesOf(trace.entries, "invoke").map((entry) => [entry.op, entry]))
  return entriesOf(trace.entries, "ok").flatMap((ok) => {
    const operation = invoked.get(ok.op)?.operation
    if (operation?.type !== "publish") return []
    return operation.events.flatMap((event) => {
      // The event was matched at some time between its first request and its storage.
      const from = trace.publishes.get(event.data)?.index ?? ok.index
      return owed(trace, event, from, accepted.get(event.data)?.index ?? ok.index)
        .filter((id) => stored.get(event.data)?.has(id) !== true)
        .map((id) => ({
          what: `an accepted event has no delivery to integration ${id}: ${event.data}`,
          entries: [from, ok.index]
        }))
    })
  })
}

/** Returns the longest wait of an active delivery in this state, in milliseconds. */
const longestWait = ({ outcome: { scenario }, settings }: Trace, state: DeliveryState): number => {
  const delays = [...Object.values(settings.retry).flatMap((policy) => policy.delays), ...scenario.overrides.flat()]
  if (state !== "retrying") return settings.lease
  return Math.max(RetryPolicy.maxRetryAfter, ...delays.map((delay) => delay * (1 + RetryPolicy.maxJitter)))
}

const unsettled = (trace: Trace): ReadonlyArray<Violation> => {
  const { deliveries, scenario, wall } = trace.outcome
  const skew = clockError(scenario)
  const unseen = longestUnseen(trace)
  const end = trace.entries.at(-1)?.at ?? 0
  return deliveries.flatMap((delivery) => {
    const { id, integration_id, next_attempt_at, state } = delivery
    if (isSettled(state)) return []
    if (state === "delivering") {
      const leased = trace.deliveries.get(id)?.grants.at(-1)?.at ?? 0
      if (leased > end - longestLapse(trace) - unseen || worksAt(trace, integration_id)) return []
      const what = `delivery ${id} has been leased for ${end - leased} ms without a request`
      return [{ what, entries: entriesAbout(trace, delivery) }]
    }
    const due = next_attempt_at ?? Infinity
    const isWaiting = due > wall && due <= wall + longestWait(trace, state) + skew
    const isJustDue = due <= wall && (wall - due <= unseen + 2 * skew + 1_000 || worksAt(trace, integration_id))
    if (isWaiting || isJustDue) return []
    const what = `delivery ${id} is ${state}, due ${due - wall} ms after the end`
    return [{ what, entries: entriesAbout(trace, delivery) }]
  })
}

/** Whether requests to the integration were open recently, or the engines were overloaded. */
const worksAt = ({ entries, requests, settings }: Trace, integration: IntegrationId): boolean => {
  const end = entries.at(-1)?.at ?? 0
  const recent = requests.filter(({ endedAt }) => endedAt > end - recently)
  const busy = recent.reduce(
    (sum, { endedAt, entry }) => sum + Math.min(end, endedAt) - Math.max(end - recently, entry.at),
    0
  )
  return (
    recent.some(({ delivery }) => delivery.integration_id === integration) ||
    busy > overload * recently * settings.concurrency
  )
}

const entriesAbout = ({ deliveries }: Trace, { id }: FinalDelivery): ReadonlyArray<number> => {
  const delivery = deliveries.get(id)
  if (delivery === undefined) return []
  return [
    delivery.enqueued.index,
    ...delivery.requests.map(({ entry }) => entry.index),
    ...delivery.settlements.map(({ entry }) => entry.index)
  ]
}

/** Whether the history confirms the state and reason of a settled delivery. */
const isTrue = (
  trace: Trace,
  { event, integration_id, requests, settlements }: TracedDelivery,
  final: FinalDelivery
): boolean => {
  const history = trace.integrations.get(integration_id) ?? []
  const { access_log } = trace.settings.retry
  const shortest = Math.min(
    ...history
      .map(({ integration }) => (integration.overrides.retry ?? {}).access_log ?? access_log.delays)
      .map(({ length }) => length)
  )
  const wasDisabled = history.some(({ integration }) => integration.status === "disabled")
  switch (final.state) {
    case "delivered":
      return final.reason === null && requests.length > 0
    case "exhausted":
      return final.reason === "schedule_used_up" && final.attempts - settlements.filter(failedEarly).length > shortest
    case "expired":
      return final.reason === "lifetime_over" && event.resource_type === "call"
    case "skipped":
      return final.reason === "integration_disabled" && wasDisabled
    case "cancelled":
      switch (final.reason) {
        case "integration_deleted":
          return history.some(({ what }) => what === "deleted")
        case "integration_disabled":
        case "integration_gone":
          return wasDisabled
        case "right_lost":
          return entriesOf(trace.entries, "right").some(({ granted }: EntryOf<"right">) => !granted)
        default:
          return false
      }
    default:
      return true
  }
}

const untrue = (trace: Trace): ReadonlyArray<Violation> =>
  trace.outcome.deliveries.flatMap((final) => {
    const delivery = trace.deliveries.get(final.id)
    if (delivery === undefined || isTrue(trace, delivery, final)) return []
    const what = `delivery ${final.id} ended as ${final.state} (${final.reason}), which the history does not confirm`
    return [{ what, entries: entriesAbout(trace, final) }]
  })

/** Finds stored events whose publication was definitely refused. */
const refused = (trace: Trace): ReadonlyArray<Violation> => {
  const accepted = new Map(
    entriesOf(trace.entries, "enqueued").flatMap((entry) =>
      entry.events.map(({ event }) => [event.data, entry] as const)
    )
  )
  const failed = new Map(entriesOf(trace.entries, "fail").map((entry) => [entry.op, entry]))
  return entriesOf(trace.entries, "invoke").flatMap(({ op, operation }) => {
    const fail = failed.get(op)
    if (fail === undefined || operation.type !== "publish" || operation.key !== null) return []
    return operation.events.flatMap(({ data }) => {
      const entry = accepted.get(data)
      if (entry === undefined) return []
      return [{ what: `a refused event is stored: ${data}`, entries: [entry.index, fail.index] }]
    })
  })
}

/** Finds requested resends that were not sent, although nothing else ended the delivery. */
const forgotten = (trace: Trace): ReadonlyArray<Violation> =>
  [...trace.deliveries.values()].flatMap(({ final, id, integration_id, requests, resent, settlements }) => {
    const requested = resent.at(-1)
    if (requested === undefined || final === undefined || !isSettled(final.state)) return []
    // Only a request under a later lease counts, because an open request may have been sent before the resend was
    // requested.
    const isSent = requests.some(({ grant }) => (grant?.index ?? 0) > requested)
    const isEnded =
      settlements.some(
        ({ entry, settlement }) =>
          entry.index > requested && settlement.attempt === null && settlement.state === "cancelled"
      ) ||
      trace.integrations
        .get(integration_id)
        ?.some(
          ({ index, integration, what }) =>
            index > requested && (what === "deleted" || integration.status === "disabled")
        ) === true
    return isSent || isEnded
      ? []
      : [
          {
            what: `delivery ${id} was not resent`,
            entries: [requested, ...entriesAbout(trace, final)]
          }
        ]
  })

export const nothingLost: Check = {
  name: "nothing-lost",
  rule: "Every delivery of an accepted event ends with a true reason or waits for its next retry. Every requested resend is sent. No refused event is stored.",
  violations: (trace) => [
    ...missing(trace),
    ...refused(trace),
    ...unsettled(trace),
    ...untrue(trace),
    ...forgotten(trace)
  ]
}

export const deliveredIsReceived: Check = {
  name: "delivered-is-received",
  rule: "A delivery in state delivered was acknowledged in time: by a 200, or by any 2xx if its integration accepts that.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap(({ final, id, requests }) =>
      final?.state !== "delivered" || requests.some((request) => isAcknowledged(trace, request))
        ? []
        : [{ what: `delivery ${id} was never acknowledged`, entries: requests.map(({ entry }) => entry.index) }]
    )
}

export const nothingAfterSuccess: Check = {
  name: "nothing-after-success",
  rule: "Nothing is sent after an acknowledged attempt is settled, unless a resend is requested.",
  violations: (trace) =>
    trace.requests.flatMap(({ delivery, entry }) => {
      const success = delivery.settlements.findLast(
        (settled) => settled.entry.index < entry.index && settled.settlement.attempt?.outcome === "acknowledged"
      )
      if (success === undefined) return []
      // Allowed if a resend was requested under the lease of the successful attempt, or later.
      if (delivery.resent.some((index) => index > success.grant.index)) return []
      return [
        {
          what: `delivery ${delivery.id} was sent again after it had succeeded`,
          entries: [success.entry.index, entry.index]
        }
      ]
    })
}

/** Finds answered attempts that a running engine never tried to record. */
const unrecorded = ({ entries, requests }: Trace): ReadonlyArray<Violation> => {
  const gone = new Set(
    entriesOf(entries, "process").flatMap(({ engine, what }) => (what === "started" ? [] : [engine]))
  )
  const tried = new Set(
    entriesOf(entries, "settled").flatMap(({ engine, settlements }) =>
      settlements.map(({ attempt, delivery_id }) => `${engine} ${delivery_id} ${attempt?.number}`)
    )
  )
  const end = entries.at(-1)?.at ?? 0
  return requests.flatMap(({ delivery, entry, response }) => {
    const key = `${entry.engine} ${delivery.id} ${entry.attempt}`
    if (response === null || gone.has(entry.engine) || response.entry.at > end - 10_000 || tried.has(key)) return []
    return [{ what: `attempt ${entry.attempt} of delivery ${delivery.id} was never recorded`, entries: [entry.index] }]
  })
}

export const attemptNumbers: Check = {
  name: "attempt-numbers",
  rule: "The attempts of a delivery are numbered from 1 without gaps, each is sent under its number, and every answered attempt is recorded.",
  violations: (trace) => [
    ...unrecorded(trace),
    ...[...trace.deliveries.values()].flatMap(({ final, id, requests, settlements }) => {
      if (final === undefined) return []
      const entries = [...requests.map(({ entry }) => entry.index), ...settlements.map(({ entry }) => entry.index)]
      const numbers = final.history.map(({ number }) => number)
      const wanted = numbers.map((_, at) => at + 1)
      const unseen = final.history.filter(
        ({ number, status }) =>
          !requests.some(
            ({ entry, response }) =>
              entry.attempt === number &&
              response !== null &&
              (response.result._tag === "Answered" ? response.result.status : null) === status
          )
      )
      return [
        ...(numbers.join() === wanted.join() && final.attempts === numbers.length
          ? []
          : [{ what: `delivery ${id} has attempts ${numbers.join()} but counts ${final.attempts}`, entries }]),
        ...unseen.map(({ number }) => ({
          what: `attempt ${number} of delivery ${id} differs from what its receiver saw`,
          entries
        })),
        // Each settled attempt leaves a row, whatever the state of the delivery.
        ...(settlements.filter(({ settlement }) => settlement.attempt !== null).length > numbers.length
          ? [{ what: `delivery ${id} lost an attempt`, entries }]
          : []),
        ...(requests.length > 0 && final.state === "delivered" && numbers.length === 0
          ? [{ what: `delivery ${id} is delivered without an attempt`, entries }]
          : [])
      ]
    })
  ]
}

export const counts: Check = {
  name: "tallies",
  rule: "The store's tallies agree with its rows.",
  violations: ({ entries, outcome: { deliveries, summary } }) => {
    const counted = deliveryStates.map((state) => deliveries.filter((delivery) => delivery.state === state).length)
    const stated = deliveryStates.map((state) => summary.states[state])
    const events = new Set(entriesOf(entries, "enqueued").flatMap(({ events }) => events.map(({ event }) => event.id)))
    for (const purged of entriesOf(entries, "purged")) for (const { id } of purged.events) events.delete(id)
    return [
      ...(counted.join() === stated.join()
        ? []
        : [{ what: `the rows by state are [${counted.join()}], but the tallies are [${stated.join()}]`, entries: [] }]),
      ...(events.size === summary.events
        ? []
        : [
            {
              what: `${events.size} events were stored and not purged, but the summary counts ${summary.events}`,
              entries: []
            }
          ])
    ]
  }
}
