/**
 * Checks when deliveries are attempted: by the schedule, within the lifetime of a call, and early after an outage.
 */
import type { IntegrationId } from "@doorhook/core"
import { DeliveryRules } from "@doorhook/simulator/testing"
import type { Step } from "./Knowledge.ts"
import { isAcknowledged, isBusy, isDisturbed, policyOf, schedulesAt, slack, stepsOf } from "./Knowledge.ts"
import type { Check, EntryOf, Request, Trace, TracedDelivery, Violation } from "./Trace.ts"
import { clockOf, entriesOf, isUrgent, putBackSince } from "./Trace.ts"

const { flawOf, flawOfStart, retryAfterOf } = DeliveryRules

type Settled = TracedDelivery["settlements"][number]

/** Finds the request whose outcome a settlement records. */
const requestOf = ({ requests }: TracedDelivery, { entry }: Settled, number: number): Request | undefined =>
  requests.findLast(
    ({ entry: sent, response }) =>
      sent.attempt === number && response !== null && response.entry.index < entry.index && sent.engine === entry.engine
  )

/** Returns when an attempt ended by its engine's clock, and the Retry-After of its answer. */
const endOf = (trace: Trace, { entry, response }: Request) => {
  if (response === null) return null
  const endedAt = clockOf(trace, entry.engine, response.entry)
  return { endedAt, retryAfter: retryAfterOf(response.result, endedAt) }
}

/** Finds settlements that the schedule and the lifetime don't allow. */
const wrongSettlement = (trace: Trace, delivery: TracedDelivery, settled: Settled): ReadonlyArray<Violation> => {
  const { early, entry, grant, settlement } = settled
  const { attempt, state } = settlement
  if (state !== "retrying" && state !== "expired" && state !== "exhausted") return []
  const { created_at: publishedAt, resource_type } = delivery.event
  const { lifetime } = policyOf(trace.settings.retry, resource_type)
  const request = attempt === null ? undefined : requestOf(delivery, settled, attempt.number)
  const end = request === undefined ? null : endOf(trace, request)
  if (attempt !== null && (request === undefined || end === null)) {
    const what = `attempt ${attempt.number} of delivery ${delivery.id} is recorded but was never answered`
    return [{ what, entries: [entry.index] }]
  }
  const last =
    attempt === null || end === null ? null : { number: attempt.number, early, earlyOf: grant.early_due_at, ...end }
  const schedules = request === undefined ? [] : schedulesAt(trace, request)
  const flaw = flawOf(
    { ...settlement, settledAt: entry.now, publishedAt, last },
    { schedules, lifetime },
    attempt === null ? putBackSince(trace, grant.index) : 0
  )
  if (flaw === null) return []
  const what = `delivery ${delivery.id} ${flaw}`
  return [{ what, entries: [...(request === undefined ? [] : [request.entry.index]), entry.index] }]
}

/** Finds retries that are sent before or after they are due. The check `catching-up` covers early requests. */
const wrongStart = (trace: Trace, delivery: TracedDelivery, settled: Settled): ReadonlyArray<Violation> => {
  const { entry, grant, settlement } = settled
  const next = delivery.requests.find(({ entry: sent }) => sent.index > entry.index)
  if (settlement.next_attempt_at === null || next === undefined || next.grant?.early_due_at !== null) return []
  // A resend was requested during the attempt or the wait, so the schedule does not apply.
  if (delivery.resent.some((index) => index > grant.index && index < next.entry.index)) return []
  const settledAt = clockOf(trace, entry.engine, entry)
  const dueAt = Math.max(settlement.next_attempt_at, settledAt)
  const at = clockOf(trace, next.entry.engine, next.entry)
  const flaw = flawOfStart(at, dueAt, putBackSince(trace, entry.index), slack(trace))
  const mayBeLate = () =>
    isDisturbed(trace, entry.at, next.entry.at) || isBusy(trace, entry.at + dueAt - settledAt, next.entry.at)
  if (flaw === null || (at > dueAt && mayBeLate())) return []
  return [{ what: `a retry of delivery ${delivery.id} was sent ${flaw}`, entries: [entry.index, next.entry.index] }]
}

export const retryTimes: Check = {
  name: "retry-times",
  rule: "A retry is due after the delay in the schedule of its integration plus up to 20 % of it, or after Retry-After if that is later, and is sent when due. A failed early attempt does not use up a retry. Nothing is given up while the schedule or the lifetime allows an attempt, nor retried after.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap((delivery) =>
      delivery.settlements.flatMap((settled) => [
        ...wrongSettlement(trace, delivery, settled),
        ...wrongStart(trace, delivery, settled)
      ])
    )
}

/** Lifetime of a call, in milliseconds. */
const lifetime = 45_000

export const callLifetime: Check = {
  name: "call-lifetime",
  rule: "No call and no end of a call is sent after its lifetime, unless a resend is requested.",
  violations: (trace) =>
    trace.requests.flatMap(({ delivery, entry }) => {
      const { event, id, resent } = delivery
      const age = clockOf(trace, entry.engine, entry) - event.created_at
      if (!isUrgent(event) || age < lifetime || resent.some((index) => index < entry.index)) return []
      return [
        {
          what: `the ${event.resource_type} of delivery ${id} was sent when it was ${age} ms old`,
          entries: [entry.index]
        }
      ]
    })
}

/** Shortest period of failures that is followed by catch-up, in milliseconds. */
const leastFailing = 60_000

/** One catch-up of an integration by one engine. */
interface Run {
  readonly step: Step
  /** Index of the entry that starts the next catch-up of the same integration by the same engine. */
  readonly until: number
  /** Early requests, in order. */
  readonly requests: ReadonlyArray<Request>
}

const isEarly = ({ grant }: Request): boolean => grant !== null && grant.early_due_at !== null

const runsOf = (trace: Trace): ReadonlyArray<Run> => {
  const starts = stepsOf(trace).filter(
    ({ acknowledged, entry, since }) => acknowledged && since !== null && entry.now - since >= leastFailing
  )
  const early = trace.requests.filter(isEarly)
  return starts.map((step, at) => {
    const { entry, integration_id } = step
    const next = starts
      .slice(at + 1)
      .find((other) => other.integration_id === integration_id && other.entry.engine === entry.engine)
    const until = next?.entry.index ?? Infinity
    const requests = early.filter(
      ({ delivery, entry: sent, grant }) =>
        delivery.integration_id === integration_id &&
        sent.engine === entry.engine &&
        (grant?.index ?? 0) > entry.index &&
        (grant?.index ?? 0) < until
    )
    return { step, until, requests }
  })
}

/** Finds early claims of deliveries whose integration had not recovered. */
const unasked = (trace: Trace, runs: ReadonlyArray<Run>): ReadonlyArray<Violation> =>
  entriesOf(trace.entries, "claimed").flatMap(({ deliveries, engine, index }) =>
    deliveries.flatMap(({ early_due_at, id }) => {
      const integration = trace.deliveries.get(id)?.integration_id
      const isWanted =
        early_due_at === null ||
        (trace.settings.catchUp &&
          runs.some(
            ({ step, until }) =>
              step.integration_id === integration &&
              step.entry.engine === engine &&
              step.entry.index < index &&
              index < until
          ))
      return isWanted
        ? []
        : [{ what: `delivery ${id} was claimed early, but its integration had not recovered`, entries: [index] }]
    })
  )

/**
 * Returns how many early requests may be open at the same time after this many acknowledgements: one, then two, then
 * four.
 */
const widthAfter = (acknowledged: number): number => 2 ** Math.floor(Math.log2(acknowledged + 1))

const endsBefore = ({ endedAt, response }: Request, { entry }: Request): boolean =>
  response === null ? endedAt <= entry.at : response.entry.index < entry.index

/** Finds more open early requests than allowed, and early requests after an early failure. */
const tooMany = (trace: Trace, { requests }: Run): ReadonlyArray<Violation> =>
  requests.flatMap((request, at) => {
    const { delivery, entry } = request
    const before = requests.slice(0, at)
    const over = before.filter((other) => endsBefore(other, request))
    const acknowledged = over.filter((other) => isAcknowledged(trace, other)).length
    const open = [...before.filter((other) => !endsBefore(other, request)), request]
    // In the same millisecond, the request counts as earlier.
    const failed = over.find((other) => other.endedAt < entry.at && !isAcknowledged(trace, other))
    const violations: Array<Violation> = []
    if (open.length > widthAfter(acknowledged)) {
      const what = `${open.length} early requests open to integration ${delivery.integration_id} after ${acknowledged} were acknowledged`
      violations.push({ what, entries: open.map((other) => other.entry.index) })
    }
    if (failed !== undefined) {
      const what = `delivery ${delivery.id} was sent early after an early attempt had failed`
      violations.push({ what, entries: [failed.entry.index, entry.index] })
    }
    return violations
  })

/** Returns the latest Retry-After time that had reached the engine before a request. */
const askedUntil = (trace: Trace, { step }: Run, { delivery, entry }: Request): number =>
  Math.max(
    0,
    ...trace.requests.flatMap((other) => {
      if (other.delivery.integration_id !== delivery.integration_id || other.response === null) return []
      const end = endOf(trace, other)
      if (end === null || end.retryAfter === 0 || other.response.entry.at >= entry.at) return []
      const settled = other.delivery.settlements.find(
        ({ settlement, entry: { engine } }) =>
          settlement.attempt?.number === other.entry.attempt && engine === other.entry.engine
      )
      // A Retry-After counts if it was received during the failures that have ended, or by this engine since then.
      const isOfRun =
        settled !== undefined && settled.entry.index <= step.entry.index && settled.entry.now >= (step.since ?? 0)
      const isSince = other.entry.engine === entry.engine && other.response.entry.index > step.entry.index
      return isOfRun || isSince ? [end.endedAt + end.retryAfter] : []
    })
  )

const tooSoonAfterRetryAfter = (trace: Trace, run: Run): ReadonlyArray<Violation> =>
  run.requests.flatMap((request) => {
    const { delivery, entry } = request
    const left = askedUntil(trace, run, request) - clockOf(trace, entry.engine, entry)
    if (left <= putBackSince(trace, run.step.entry.index)) return []
    const what = `delivery ${delivery.id} was sent early, ${left} ms before the Retry-After of its receiver`
    return [{ what, entries: [run.step.entry.index, entry.index] }]
  })

/**
 * Returns the settlement after which a delivery waits for its retry at a given entry; null if the delivery isn't
 * waiting.
 */
const waitsAt = ({ grants, resent, settlements }: TracedDelivery, index: number) => {
  const last = settlements.findLast(({ entry }) => entry.index < index)
  if (last?.settlement.state !== "retrying" || last.settlement.next_attempt_at === null) return null
  const isMoved = [...grants.map((grant) => grant.index), ...resent].some((at) => at > last.entry.index && at < index)
  return isMoved ? null : { entry: last.entry, due: last.settlement.next_attempt_at }
}

/** Finds early claims that skip an older delivery. */
const outOfOrder = (trace: Trace, of: ReadonlyMap<IntegrationId, ReadonlyArray<TracedDelivery>>) =>
  entriesOf(trace.entries, "claimed").flatMap((claimed: EntryOf<"claimed">): ReadonlyArray<Violation> => {
    const ids = claimed.deliveries.flatMap(({ early_due_at, id }) => (early_due_at === null ? [] : [id]))
    const newest = Math.max(...ids)
    const [first] = ids
    const integration = first === undefined ? undefined : trace.deliveries.get(first)?.integration_id
    if (integration === undefined) return []
    const taken = new Set<number>(ids)
    const left = of.get(integration)?.find((delivery) => {
      if (delivery.id > newest || taken.has(delivery.id)) return false
      if (delivery.final?.state === "cancelled" || delivery.purged !== undefined) return false
      const waits = waitsAt(delivery, claimed.index)
      return waits !== null && waits.due > claimed.now
    })
    if (left === undefined) return []
    const what = `delivery ${newest} was claimed early before delivery ${left.id}, which is older`
    return [{ what, entries: [claimed.index] }]
  })

/** Finds deliveries that wait although nothing keeps them from being sent early. */
const idle = (trace: Trace, all: ReadonlyArray<TracedDelivery>, { requests, step }: Run): ReadonlyArray<Violation> => {
  if (!trace.settings.catchUp) return []
  const { entry, integration_id } = step
  const patience = slack(trace)
  const failures = trace.requests.filter(
    (request) => request.delivery.integration_id === integration_id && !isAcknowledged(trace, request)
  )
  const isAsked = failures.some((request) => (endOf(trace, request)?.retryAfter ?? 0) > 0)
  if (isAsked) return []
  const moments = [entry, ...requests.flatMap((request) => request.response?.entry ?? [])]
  return moments.flatMap(({ at, index }): ReadonlyArray<Violation> => {
    const end = at + patience
    const within = (moment: number): boolean => moment >= at && moment <= end
    const isChanged = trace.integrations
      .get(integration_id)
      ?.some((change) => change.index > step.before.index && change.at <= end)
    const isFailing = failures.some(({ endedAt }) => endedAt >= entry.at && endedAt <= end)
    const isGoingOn = requests.some(
      (request) => within(request.entry.at) || (request.entry.at <= at && request.endedAt > at)
    )
    if (isChanged === true || isFailing || isGoingOn || end > (trace.entries.at(-1)?.at ?? 0)) return []
    if (isDisturbed(trace, entry.at, end) || isBusy(trace, at, end)) return []
    const waiting = all.find((delivery) => {
      const waits = waitsAt(delivery, index)
      const { grants, resent, settlements } = delivery
      return (
        waits !== null &&
        waits.entry.at + waits.due - clockOf(trace, waits.entry.engine, waits.entry) > end + 2_000 &&
        delivery.final?.state !== "cancelled" &&
        ![...grants, ...settlements.map((settled) => settled.entry)].some((other) => within(other.at)) &&
        !resent.some((other) => within(trace.entries[other]?.at ?? 0))
      )
    })
    if (waiting === undefined) return []
    const what = `delivery ${waiting.id} waits, although its integration acknowledges again and nothing is sent early`
    return [{ what, entries: [entry.index, index] }]
  })
}

export const catchingUp: Check = {
  name: "catching-up",
  rule: "After an acknowledgement that ends at least a minute of failures, waiting retries are sent early, the oldest first. At first one is sent at a time, then two, then four. None is sent before Retry-After or after an early failure. Otherwise nothing is sent early.",
  violations: (trace) => {
    const runs = runsOf(trace)
    const of = Map.groupBy(trace.deliveries.values(), ({ integration_id }) => integration_id)
    return [
      ...unasked(trace, runs),
      ...outOfOrder(trace, of),
      ...runs.flatMap((run) => [
        ...tooMany(trace, run),
        ...tooSoonAfterRetryAfter(trace, run),
        ...idle(trace, of.get(run.step.integration_id) ?? [], run)
      ])
    ]
  }
}
