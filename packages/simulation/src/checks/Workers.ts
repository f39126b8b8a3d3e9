/**
 * Checks how engines share the work: leases, limits on open requests, and calls before backlogs.
 */
import type { DeliverySettingsShape } from "@doorhook/core"
import { isDisturbed } from "./Knowledge.ts"
import type { Check, EntryOf, Request, Trace, TracedDelivery, Violation } from "./Trace.ts"
import {
  beatInterval,
  clockError,
  clockOf,
  entriesOf,
  isUrgent,
  jumpsSince,
  leastShare,
  longestUnseen
} from "./Trace.ts"

/** Whether the store's clock jumped between two entries. A jump can end memberships too early or too late. */
const jumpedBetween = (trace: Trace, from: number, to: number): boolean =>
  jumpsSince(trace, from).some(({ index }) => index < to)

/**
 * Finds attempts that can outlast the membership of their engine. Another engine could start a second attempt before
 * such an attempt has ended.
 */
const outlasting = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap(({ delivery, entry, grant }) => {
    if (grant === null) return [{ what: `delivery ${delivery.id} was sent without a lease`, entries: [entry.index] }]
    const known = trace.members.get(entry.engine)?.filter(({ index }) => index < entry.index) ?? []
    const member = known.at(-1)
    if (member === undefined) {
      const what = `delivery ${delivery.id} was sent by an engine without a confirmed membership`
      return [{ what, entries: [grant.index, entry.index] }]
    }
    const violations: Array<Violation> = []
    const left = (member.until ?? 0) - clockOf(trace, entry.engine, entry)
    if (left < trace.settings.ackTimeout && !jumpedBetween(trace, member.index, entry.index)) {
      const what = `delivery ${delivery.id} was sent with ${left} ms left of the membership`
      violations.push({ what, entries: [member.index, entry.index] })
    }
    // In the same millisecond, the request counts as earlier.
    const lapsed = known.find(({ at, continued, index }) => !continued && index > grant.index && at < entry.at)
    if (lapsed !== undefined) {
      const what = `delivery ${delivery.id} was sent under a lease that its engine knew to have lapsed`
      violations.push({ what, entries: [grant.index, lapsed.index, entry.index] })
    }
    return violations
  })

/**
 * Finds workers that keep their name after their membership ended, according to their own clock or the store's answer.
 */
const outliving = (trace: Trace): ReadonlyArray<Violation> => {
  const known = new Map<string, { readonly answer: EntryOf<"member">; readonly hasLapsed: boolean }>()
  return trace.entries.flatMap((entry): ReadonlyArray<Violation> => {
    if (entry.kind === "member") {
      const before = known.get(entry.worker)
      // The first answer under a name starts a membership instead of continuing one.
      known.set(entry.worker, { answer: entry, hasLapsed: before !== undefined && !entry.continued })
    }
    const last = entry.kind === "heartbeat" && entry.until !== null ? known.get(entry.worker) : undefined
    if (entry.kind !== "heartbeat" || last === undefined) return []
    if (!last.hasLapsed && (last.answer.until ?? 0) > entry.now) return []
    // After a jump of the store's clock, no membership ends for one lease.
    if (!last.hasLapsed && jumpedBetween(trace, last.answer.index, entry.index)) return []
    const what = `engine ${entry.engine} continued as ${entry.worker}, whose membership had lapsed`
    return [{ what, entries: [last.answer.index, entry.index] }]
  })
}

/**
 * Finds a second request for a delivery while the first is open. Only a clock jump excuses it, because memberships
 * outlast attempts by more than the clock skew.
 */
const overlap = (trace: Trace, first: Request, second: Request): ReadonlyArray<Violation> => {
  const isOver =
    first.response === null ? first.endedAt <= second.entry.at : first.response.entry.index < second.entry.index
  const { grant } = first
  if (isOver || grant === null || second.grant === null) return []
  const beat = trace.members.get(first.entry.engine)?.findLast(({ index }) => index < first.entry.index)
  const isOther = grant !== second.grant
  if (isOther && jumpedBetween(trace, beat?.index ?? grant.index, second.entry.index)) return []
  const what = `delivery ${first.delivery.id} had two open requests`
  return [{ what, entries: [grant.index, first.entry.index, second.grant.index, second.entry.index] }]
}

export const leases: Check = {
  name: "leases",
  rule: "A delivery is leased to one worker and never has two open requests, unless a clock jumps. An attempt ends before its worker's membership. Stale outcomes settle nothing. A worker whose membership lapsed continues under another name.",
  violations: (trace) => [
    ...trace.breaches,
    ...outlasting(trace),
    ...outliving(trace),
    ...[...trace.deliveries.values()].flatMap(({ requests }) =>
      requests.flatMap((first, at) => requests.slice(at + 1).flatMap((second) => overlap(trace, first, second)))
    )
  ]
}

interface Places {
  /** Maximum number of open requests of one process. */
  readonly ofProcess: number
  /** Maximum number of open requests of one process to one integration. */
  readonly ofProcessToOne: number
  /** Maximum number of open requests of all processes to one integration. Each process may have at least one. */
  readonly toOne: number
}

const placesOf = (
  { concurrency, concurrencyPerIntegration }: Pick<DeliverySettingsShape, "concurrency" | "concurrencyPerIntegration">,
  processes: number
): Places => ({
  ofProcess: concurrency,
  ofProcessToOne: concurrencyPerIntegration,
  toOne: Math.max(concurrencyPerIntegration, processes)
})

/** Finds the requests that began while `cap` or more other requests were open. */
const above = (requests: ReadonlyArray<Request>, cap: number, name: string): ReadonlyArray<Violation> => {
  let open: ReadonlyArray<Request> = []
  return requests.flatMap((request) => {
    open = [...open.filter(({ endedAt, response }) => isOpen(endedAt, response?.entry.index, request)), request]
    if (open.length <= cap) return []
    return [
      { what: `${open.length} requests open ${name}, more than ${cap}`, entries: open.map(({ entry }) => entry.index) }
    ]
  })
}

/** Whether a request is still open when another one starts. */
const isOpen = (endedAt: number, responseIndex: number | undefined, { entry }: Request): boolean =>
  responseIndex === undefined ? endedAt > entry.at : responseIndex > entry.index

/**
 * Returns the time after a worker's start, in milliseconds, until all workers share the limit with it: two heartbeats,
 * and the end of earlier requests.
 */
const acquaintance = ({ outcome: { scenario }, settings }: Trace): number =>
  2 * beatInterval + settings.ackTimeout + 8 * scenario.storeLatency

/**
 * Finds too many open requests to one integration from all workers together. Excludes the time right after a worker has
 * started.
 */
const shared = (trace: Trace): ReadonlyArray<Violation> => {
  const starts = entriesOf(trace.entries, "process").filter(({ what }) => what === "started")
  const needed = acquaintance(trace)
  return [...Map.groupBy(trace.requests, ({ delivery }) => `to integration ${delivery.integration_id}`)].flatMap(
    ([name, group]) =>
      above(group, placesOf(trace.settings, trace.outcome.scenario.engines).toOne, name).filter(({ entries }) => {
        const at = trace.entries[entries.at(-1) ?? 0]?.at ?? 0
        return !starts.some((start) => start.at <= at && start.at > at - needed) && !isDisturbed(trace, at - needed, at)
      })
  )
}

export const caps: Check = {
  name: "caps",
  rule: "An engine never has more open requests than its settings allow, nor do all engines together to one integration. No claim exceeds its limit.",
  violations: (trace) => {
    const { outcome, requests, settings } = trace
    const places = placesOf(settings, outcome.scenario.engines)
    const toOne = Map.groupBy(
      requests,
      ({ delivery, entry }) => `by engine ${entry.engine} to ${delivery.integration_id}`
    )
    return [
      ...[...Map.groupBy(requests, ({ entry }) => `by engine ${entry.engine}`)].flatMap(([name, group]) =>
        above(group, places.ofProcess, name)
      ),
      ...[...toOne].flatMap(([name, group]) => above(group, places.ofProcessToOne, name)),
      ...shared(trace),
      ...entriesOf(trace.entries, "claimed").flatMap(({ excess, index, worker }) =>
        excess === 0 ? [] : [{ what: `${worker} claimed ${excess} deliveries more than its limit`, entries: [index] }]
      )
    ]
  }
}

/**
 * Returns the longest wait of a call, in milliseconds. Some places are reserved for calls. If there is only one place,
 * an open request must end first, and another integration may come first.
 */
const bound = (trace: Trace): number => {
  const { scenario } = trace.outcome
  const { ackTimeout, concurrency } = trace.settings
  const wait = Math.min(concurrency, leastShare(trace)) > 1 ? 0 : 2 * ackTimeout
  return (
    wait +
    longestUnseen(trace) +
    8 * scenario.storeLatency +
    4 * scenario.directoryLatency +
    2 * clockError(scenario) +
    500
  )
}

/** Returns the time of the last activity on a delivery. */
const lastActive = ({ requests, settlements, enqueued }: TracedDelivery): number =>
  Math.max(enqueued.at, requests.at(-1)?.endedAt ?? 0, settlements.at(-1)?.entry.at ?? 0)

/** Whether other calls occupy the places reserved for calls. */
const isContended = (trace: Trace, call: TracedDelivery, from: number, to: number): boolean => {
  const { concurrency } = trace.settings
  const keptOf = (places: number) => Math.max(1, places - Math.max(1, Math.floor(0.8 * places)))
  const others = [...trace.deliveries.values()].filter(
    (other) => other !== call && isUrgent(other.event) && other.enqueued.at <= to && lastActive(other) >= from
  )
  const ofSame = others.filter(({ integration_id }) => integration_id === call.integration_id)
  return ofSame.length >= keptOf(leastShare(trace)) || others.length >= keptOf(concurrency)
}

/** Finds calls that are not attempted soon, although nothing prevents it. */
const lateCalls = (trace: Trace): ReadonlyArray<Violation> =>
  [...trace.deliveries.values()].flatMap((delivery) => {
    const { callEnds, enqueued, event, id, integration_id, requests, settlements, stored } = delivery
    if (event.resource_type !== "call" || (stored !== "delivering" && stored !== "pending")) return []
    const deadline = enqueued.at + bound(trace)
    const first = Math.min(requests[0]?.entry.at ?? Infinity, settlements[0]?.entry.at ?? Infinity)
    const changes = [...(trace.integrations.get(integration_id) ?? []), ...callEnds]
    const isChanged = changes.some(({ at }) => at >= enqueued.at && at <= deadline)
    if (first <= deadline || isChanged || isDisturbed(trace, enqueued.at, deadline)) return []
    if (isContended(trace, delivery, enqueued.at, deadline)) return []
    const what = `the call of delivery ${id} was not attempted for ${first - enqueued.at} ms`
    return [{ what, entries: [enqueued.index, ...requests.slice(0, 1).map(({ entry }) => entry.index)] }]
  })

/** A call that waits in the memory of an engine, from the lease to its first request under that lease. */
interface WaitingCall {
  readonly delivery: TracedDelivery
  readonly engine: number
  readonly from: number
  readonly to: number
}

const waitingCalls = ({ deliveries }: Trace): ReadonlyArray<WaitingCall> =>
  [...deliveries.values()].flatMap((delivery) => {
    const [first] = delivery.requests
    if (delivery.event.resource_type !== "call" || first === undefined || first.grant === null) return []
    const { engine, received } = first.grant
    // An interval of two entries has no room for another request.
    if (received === null || first.entry.index <= received + 1) return []
    return [{ delivery, engine, from: received, to: first.entry.index }]
  })

/** Longest time after a fault of the directory during which calls may wait for it, in milliseconds. */
const directoryAftermath = 30_000

/**
 * Finds access logs that an engine began to send while it held a call that it could have sent: the call's integration had
 * no open request. Only in worlds whose directory answers at once, where a request shows the start of its attempt.
 */
const overtaken = (trace: Trace): ReadonlyArray<Violation> => {
  const { entries, integrations, outcome, requests } = trace
  if (outcome.scenario.directoryLatency > 0) return []
  const faults = entriesOf(entries, "fault").filter(({ what }) => what === "directory")
  const locks = entriesOf(entries, "locked")
  const isClean = ({ from, to }: WaitingCall, { integration_id }: TracedDelivery): boolean => {
    const [began, ended] = [entries[from]?.at ?? 0, entries[to]?.at ?? 0]
    return (
      !faults.some(({ at, until }) => at <= ended && until + directoryAftermath >= began) &&
      !locks.some(({ at, integrations: held }) => at <= ended && held.includes(integration_id)) &&
      // Several signatures are made one after another, so such a request begins before it shows.
      integrations.get(integration_id)?.some(({ integration }) => integration.previous_secrets.length > 0) === false
    )
  }
  return waitingCalls(trace).flatMap((call) => {
    const others = requests.filter(
      ({ delivery, entry }) =>
        entry.engine === call.engine &&
        entry.index < call.to &&
        (delivery.integration_id === call.delivery.integration_id || entry.index > call.from)
    )
    const first = others.find(
      (other) =>
        other.entry.index > call.from &&
        !isUrgent(other.delivery.event) &&
        isClean(call, other.delivery) &&
        !others.some(
          (open) =>
            open.delivery.integration_id === call.delivery.integration_id &&
            open.entry.index < other.entry.index &&
            isOpen(open.endedAt, open.response?.entry.index, other)
        )
    )
    if (first === undefined || !isClean(call, call.delivery)) return []
    const what = `delivery ${first.delivery.id} was sent before the call of delivery ${call.delivery.id}, which waited`
    return [{ what, entries: [call.from, first.entry.index, call.to] }]
  })
}

/**
 * Finds claims of access logs that left a due call in the store, although they took access logs of its integration, or the
 * engine held nothing of its integration.
 */
const passedOver = (trace: Trace): ReadonlyArray<Violation> => {
  const of = Map.groupBy(trace.deliveries.values(), ({ integration_id }) => integration_id)
  const calls = [...trace.deliveries.values()].flatMap((delivery) => {
    const [first] = delivery.grants
    return delivery.event.resource_type === "call" && delivery.stored === "pending" && first !== undefined
      ? [{ delivery, first }]
      : []
  })
  return entriesOf(trace.entries, "claimed").flatMap((claimed) => {
    const taken = claimed.deliveries.flatMap(({ id }) => trace.deliveries.get(id) ?? [])
    const isEarly = claimed.deliveries.some(({ early_due_at }) => early_due_at !== null)
    if (isEarly || taken.every(({ event }) => isUrgent(event))) return []
    const left = calls.find(({ delivery: { callEnds, enqueued, event, integration_id }, first }) => {
      // The end of a call cancels it, until a resend is requested.
      if (callEnds.some(({ index }) => index < claimed.index)) return false
      if (enqueued.at >= claimed.at || claimed.index >= first.index || event.created_at > claimed.now) return false
      // Disabling cancels the call, until a probe or a resend is requested.
      const states = trace.integrations.get(integration_id)?.filter(({ index }) => index < claimed.index) ?? []
      if (states.some(({ index, integration }) => index > enqueued.index && integration.status === "disabled"))
        return false
      const own = taken.filter((other) => other.integration_id === integration_id)
      if (own.length > 0) return own.some((other) => !isUrgent(other.event))
      return (
        of
          .get(integration_id)
          ?.some(({ grants, settlements }) =>
            grants.some(
              (grant) =>
                grant.engine === claimed.engine &&
                grant.index < claimed.index &&
                !settlements.some((settled) => settled.grant === grant && settled.entry.index < claimed.index)
            )
          ) === false
      )
    })
    if (left === undefined) return []
    const what = `${claimed.worker} claimed access logs, but left the due call of delivery ${left.delivery.id}`
    return [{ what, entries: [left.delivery.enqueued.index, claimed.index, left.first.index] }]
  })
}

export const callsFirst: Check = {
  name: "calls-first",
  rule: "A call is attempted soon, however large the backlog of access logs. While a call can be sent, an engine begins no access log, and claims none while it leaves a due call in the store.",
  violations: (trace) => [...lateCalls(trace), ...overtaken(trace), ...passedOver(trace)]
}
