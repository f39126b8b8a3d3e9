/** Checks that no delivery is lost and that records and tallies are true. */
import type { DeliveryState, Integration, IntegrationId, NewEvent } from "@doorhook/core"
import { deliveryStates } from "@doorhook/core"
import { DeliveryRules } from "@doorhook/simulator/testing"
import type { FinalDelivery } from "../History.ts"
import { isAcknowledged, isBusy, isDisturbed, outcomesOf, slack } from "./Knowledge.ts"
import { maySee } from "./Recipients.ts"
import type { Check, EntryOf, IntegrationEntry, Trace, TracedDelivery, Violation } from "./Trace.ts"
import { clockError, entriesOf, failedEarly, isSettled, isUrgent, longestLapse, longestUnseen } from "./Trace.ts"

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
    versionsBetween(history, from, to).every((version) => version !== null && maySee(version, event)) ? [id] : []
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
  return entriesOf(trace.entries, "ok").flatMap((ok) => {
    const operation = trace.invoked.get(ok.op)?.operation
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
  return Math.max(DeliveryRules.longestRetryAfter, ...delays.map(DeliveryRules.longestDelay))
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
  { callEnds, event, integration_id, requests, settlements }: TracedDelivery,
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
      return final.reason === "lifetime_over" && isUrgent(event)
    case "skipped":
      return final.reason === "integration_disabled" && wasDisabled
    case "cancelled":
      switch (final.reason) {
        case "integration_deleted":
          return history.some(({ what }) => what === "deleted")
        case "integration_disabled":
        case "integration_gone":
          return wasDisabled
        case "call_ended":
          return callEnds.length > 0
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
  return [...trace.invoked.values()].flatMap(({ op, operation }) => {
    const fail = failed.get(op)
    if (fail === undefined || operation.type !== "publish" || operation.key !== null) return []
    return operation.events.flatMap(({ data }) => {
      const entry = accepted.get(data)
      if (entry === undefined) return []
      return [{ what: `a refused event is stored: ${data}`, entries: [entry.index, fail.index] }]
    })
  })
}

/** Whether an integration was disabled or deleted by an entry. */
const endsIntegration = ({ integration, what }: IntegrationEntry): boolean =>
  what === "deleted" || integration.status === "disabled"

/** Finds requested resends that were not sent, or not soon, although nothing else ended the delivery. */
const forgotten = (trace: Trace): ReadonlyArray<Violation> =>
  [...trace.deliveries.values()].flatMap((delivery) =>
    delivery.resent.flatMap((requested) => {
      const { callEnds, final, grants, id, integration_id, requests, settlements } = delivery
      if (final === undefined) return []
      const isLater = ({ index }: { readonly index: number }): boolean => index > requested
      const changes = (trace.integrations.get(integration_id) ?? []).filter(isLater)
      const isEnded =
        changes.some(endsIntegration) ||
        callEnds.some(isLater) ||
        settlements.some(
          ({ entry, settlement }) => isLater(entry) && settlement.attempt === null && settlement.state === "cancelled"
        )
      // Only a request under a later lease counts, because an open request may have been sent before.
      const sent = requests.find(({ grant }) => grant !== null && isLater(grant))
      const entries = [requested, ...entriesAbout(trace, final)]
      if (sent === undefined)
        return isEnded || !isSettled(final.state) ? [] : [{ what: `delivery ${id} was not resent`, entries }]
      // A resend waits for the end of an open attempt, but not for the next retry.
      const before = grants.findLast(({ index }) => index < requested)
      const open = settlements.find(({ entry, grant }) => grant === before && isLater(entry))
      const from = open?.entry.at ?? trace.entries[requested]?.at ?? 0
      const late = sent.entry.at - from
      const isExcused = changes.length > 0 || isDisturbed(trace, from, sent.entry.at)
      if (late <= slack(trace) || isExcused || isBusy(trace, from, sent.entry.at)) return []
      return [{ what: `delivery ${id} was resent ${late} ms late`, entries: [...entries, sent.entry.index] }]
    })
  )

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

/** Finds attempts whose recorded outcome differs from the answer, by the rule of the integration. */
const misjudged = (trace: Trace): ReadonlyArray<Violation> =>
  [...trace.deliveries.values()].flatMap(({ id, requests, settlements }) =>
    settlements.flatMap(({ entry, settlement: { attempt } }) => {
      const request = requests.findLast(
        ({ entry: sent, response }) =>
          sent.engine === entry.engine &&
          sent.attempt === attempt?.number &&
          response !== null &&
          sent.index < entry.index
      )
      if (attempt === null || request === undefined) return []
      const acknowledged = attempt.outcome === "acknowledged"
      if (outcomesOf(trace, request).has(acknowledged)) return []
      const what = `attempt ${attempt.number} of delivery ${id} is recorded as ${acknowledged ? "" : "not "}acknowledged`
      return [{ what, entries: [request.entry.index, entry.index] }]
    })
  )

export const deliveredIsReceived: Check = {
  name: "delivered-is-received",
  rule: "An attempt counts as acknowledged if it was answered in time with a 200, or with any 2xx if its integration accepts that. A delivery in state delivered was acknowledged.",
  violations: (trace) => [
    ...misjudged(trace),
    ...[...trace.deliveries.values()].flatMap(({ final, id, requests }) =>
      final?.state !== "delivered" || requests.some((request) => isAcknowledged(trace, request))
        ? []
        : [{ what: `delivery ${id} was never acknowledged`, entries: requests.map(({ entry }) => entry.index) }]
    )
  ]
}

/**
 * Finds deliveries that the end of their integration or their call cancelled, and that did not stay so although no resend
 * was requested.
 */
export const staysCancelled: Check = {
  name: "stays-cancelled",
  rule: "The end of an integration cancels its active deliveries, and the end of a call those of the call. They stay cancelled, whatever their open attempts end with, unless a resend is requested.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap(({ callEnds, enqueued, final, id, integration_id, resent, settlements }) => {
      const ends = (trace.integrations.get(integration_id) ?? []).filter(endsIntegration)
      const end = [...ends, ...callEnds].findLast(({ index }) => index > enqueued.index)
      if (end === undefined || final === undefined || final.state === "cancelled" || final.state === "skipped")
        return []
      const last = settlements.findLast(({ entry }) => entry.index < end.index)
      const wasActive = last === undefined || last.settlement.state === "retrying"
      if (!wasActive || resent.some((index) => index > (last?.grant.index ?? 0))) return []
      const what = `delivery ${id} is ${final.state}, although the end of ${end.kind === "enqueued" ? "its call" : `integration ${integration_id}`} cancelled it`
      return [{ what, entries: [end.index, ...settlements.map(({ entry }) => entry.index)] }]
    })
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

/** Longest time until an engine has recorded an answer, besides the latency of the store, in milliseconds. */
const recordedWithin = 1_000

/** Longest time until a recording is repeated after a failure of the store or a lock, in milliseconds. */
const repeatedWithin = 10_000

/**
 * Finds answered attempts that a running engine did not record in time. A transaction that a vanished process left open
 * delays only the outcomes of the integrations that it has locked.
 */
const unrecorded = ({ entries, outcome: { scenario }, requests }: Trace): ReadonlyArray<Violation> => {
  const gone = new Set(
    entriesOf(entries, "process").flatMap(({ engine, what }) => (what === "started" ? [] : [engine]))
  )
  const recorded = new Map<string, number>()
  for (const { at, engine, settlements } of entriesOf(entries, "settled"))
    for (const { attempt, delivery_id } of settlements) {
      const key = `${engine} ${delivery_id} ${attempt?.number}`
      recorded.set(key, recorded.get(key) ?? at)
    }
  const failures = entriesOf(entries, "fault").filter(({ what }) => what === "store")
  const locks = entriesOf(entries, "locked")
  const end = entries.at(-1)?.at ?? 0
  return requests.flatMap(({ delivery, entry, response }) => {
    if (response === null || gone.has(entry.engine)) return []
    const { at } = response.entry
    const failed = failures.filter((fault) => fault.at <= at + recordedWithin && fault.until + repeatedWithin >= at)
    const locked = locks.filter(
      (lock) =>
        lock.at <= at + recordedWithin && lock.until >= at && lock.integrations.includes(delivery.integration_id)
    )
    const due = Math.max(
      at,
      ...failed.map(({ until }) => until + repeatedWithin),
      ...locked.map(({ until }) => until + repeatedWithin)
    )
    const deadline = due + recordedWithin + 8 * scenario.storeLatency
    const recordedAt = recorded.get(`${entry.engine} ${delivery.id} ${entry.attempt}`) ?? Infinity
    if (recordedAt <= deadline || deadline > end) return []
    const what = `attempt ${entry.attempt} of delivery ${delivery.id} was recorded ${recordedAt - at} ms after its answer`
    return [{ what, entries: [entry.index, ...locked.map(({ index }) => index)] }]
  })
}

export const attemptNumbers: Check = {
  name: "attempt-numbers",
  rule: "The attempts of a delivery are numbered from 1 without gaps, each is sent under its number, and every answered attempt is recorded without delay, unless the store fails or another transaction holds its integration.",
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
