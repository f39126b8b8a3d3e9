/**
 * Checks when deliveries are attempted: by the schedule, within the lifetime of a call, and early after an outage.
 */
import type { IntegrationId, RetrySchedule, TransportResult } from "@doorhook/core"
import { RetryPolicy, builtInTypes } from "@doorhook/core"
import type { Step } from "./Knowledge.ts"
import { isAcknowledged, isBusy, isDisturbed, schedulesAt, stepsOf } from "./Knowledge.ts"
import type { Check, EntryOf, Request, Trace, TracedDelivery, Violation } from "./Trace.ts"
import { clockError, clockOf, entriesOf, longestUnseen, putBackSince } from "./Trace.ts"

const mostJitter = 0.2

interface DueWindow {
  readonly from: number
  readonly to: number
}

/**
 * Returns the window in which a retry may be due. `end` is the end of the previous attempt, `asked` the Retry-After of
 * its answer (0: none). All in milliseconds.
 */
const dueWindow = (end: number, delay: number, asked: number): DueWindow => ({
  from: end + Math.max(delay, asked),
  to: end + Math.max(Math.floor(delay * (1 + mostJitter)), asked)
})

/** Times in milliseconds. */
interface LastAttempt {
  /** Position in the schedule. Failed early attempts don't count. */
  readonly number: number
  readonly end: number
  /** Retry-After of its answer (0: none). */
  readonly asked: number
}

/**
 * Whether a delivery may be given up at `now`. `last` is its last attempt, or null if the delivery could be attempted
 * immediately.
 */
const mayGiveUp = (
  { delays, lifetime }: RetrySchedule,
  publishedAt: number,
  now: number,
  last: LastAttempt | null
): boolean => {
  const delay = last === null ? 0 : delays[last.number - 1]
  if (delay === undefined) return true
  const again = last === null ? now : dueWindow(last.end, delay, last.asked).to
  return lifetime !== null && again >= publishedAt + lifetime
}

type Settled = TracedDelivery["settlements"][number]

/** Returns the Retry-After of an answer, in milliseconds. Simulated receivers send seconds or nonsense. */
const askedFor = (result: TransportResult): number => {
  if (result._tag !== "Answered" || (result.status !== 429 && result.status !== 503)) return 0
  const seconds = Number(result.retry_after ?? 0)
  return Number.isNaN(seconds) ? 0 : Math.min(seconds * 1_000, RetryPolicy.maxRetryAfter)
}

/**
 * Returns the windows in which a retry may be due after a failed attempt that ended at `end`: one for each schedule
 * that may have been in force. A failed early attempt keeps the due time, or moves it to the Retry-After if that is
 * later.
 */
const dueBetween = (
  trace: Trace,
  request: Request,
  { early, grant }: Settled,
  end: number,
  result: TransportResult
) => {
  const asked = askedFor(result)
  if (grant.early_due_at !== null) {
    const due = asked === 0 ? grant.early_due_at : Math.max(grant.early_due_at, end + asked)
    return [{ from: due, to: due }]
  }
  return schedulesAt(trace, request).flatMap((delays) => {
    const delay = delays[request.entry.attempt - early - 1]
    return delay === undefined ? [] : [dueWindow(end, delay, asked)]
  })
}

/** Finds the request whose outcome a settlement records. */
const requestOf = ({ requests }: TracedDelivery, { entry }: Settled, number: number): Request | undefined =>
  requests.findLast(
    ({ entry: sent, response }) =>
      sent.attempt === number && response !== null && response.entry.index < entry.index && sent.engine === entry.engine
  )

/** Finds deliveries that expired while there was time for another attempt. */
const expiredEarly = (trace: Trace, delivery: TracedDelivery): ReadonlyArray<Violation> =>
  delivery.settlements.flatMap((settled) => {
    const { entry, settlement } = settled
    const { attempt, state } = settlement
    if (state !== "expired") return []
    const { created_at, resource_type } = delivery.event
    const policy = RetryPolicy.policyOf(trace.settings.retry, resource_type)
    const request = attempt === null ? undefined : requestOf(delivery, settled, attempt.number)
    const answer = request?.response ?? null
    const leased = delivery.grants.findLast(({ index }) => index < entry.index)?.index ?? 0
    const isRight =
      attempt === null || request === undefined || answer === null
        ? mayGiveUp(policy, created_at, entry.now + putBackSince(trace, leased), null)
        : schedulesAt(trace, request).some((delays) =>
            mayGiveUp({ ...policy, delays }, created_at, entry.now, {
              number: attempt.number - settled.early,
              end: clockOf(trace, entry.engine, answer.entry),
              asked: askedFor(answer.result)
            })
          )
    if (isRight) return []
    const what = `delivery ${delivery.id} expired after ${attempt?.number ?? "no"} attempts, while there was time for another one`
    return [{ what, entries: [...(request === undefined ? [] : [request.entry.index]), entry.index] }]
  })

const violationsOf = (trace: Trace, delivery: TracedDelivery): ReadonlyArray<Violation> =>
  delivery.settlements.flatMap((settled) => {
    const { entry, settlement } = settled
    const { attempt, next_attempt_at } = settlement
    if (attempt === null || next_attempt_at === null) return []
    const found: Array<Violation> = []
    const report = (what: string, ...entries: ReadonlyArray<number>) =>
      found.push({ what: `delivery ${delivery.id}: ${what}`, entries: [...entries, entry.index] })

    const request = requestOf(delivery, settled, attempt.number)
    if (request?.response === null || request === undefined) {
      report(`attempt ${attempt.number} is recorded but was never answered`)
      return found
    }
    const { entry: response, result } = request.response
    const end = clockOf(trace, entry.engine, response)
    const due = dueBetween(trace, request, settled, end, result)
    if (due.length === 0) report(`the schedule has no retry ${attempt.number}`, request.entry.index)
    else if (!due.some(({ from, to }) => next_attempt_at >= from && next_attempt_at <= to)) {
      const away = next_attempt_at - end
      report(`a retry after ${away} ms is not in the schedule`, request.entry.index, response.index)
    }

    const next = delivery.requests.find(({ entry: sent }) => sent.index > entry.index)
    // A resend was requested during the attempt or the wait, so the schedule does not apply.
    const leased = request.grant?.index ?? 0
    if (next === undefined || delivery.resent.some((index) => index > leased && index < next.entry.index)) return found
    // The check `catching-up` covers early requests.
    if (next.grant?.early_due_at !== null) return found
    const early = next_attempt_at - clockOf(trace, next.entry.engine, next.entry)
    if (early > putBackSince(trace, entry.index)) report(`a retry was sent ${early} ms too early`, next.entry.index)
    const dueAt = Math.max(entry.at, entry.at + next_attempt_at - clockOf(trace, entry.engine, entry))
    const late = next.entry.at - dueAt
    if (late > slack(trace) && !isDisturbed(trace, entry.at, next.entry.at) && !isBusy(trace, dueAt, next.entry.at)) {
      report(`a retry was sent ${late} ms too late`, next.entry.index)
    }
    return found
  })

/**
 * Returns how late a retry may be, in milliseconds: the wait for the next poll, the store calls of a round, and two
 * directory calls.
 */
const slack = (trace: Trace): number => {
  const { scenario } = trace.outcome
  const { directoryLatency, storeLatency } = scenario
  return longestUnseen(trace) + 8 * storeLatency + 2 * directoryLatency + 2 * clockError(scenario) + 200
}

export const retryTimes: Check = {
  name: "retry-times",
  rule: "A retry is due after the scheduled delay plus up to 20 % of it, or after Retry-After if that is later, and is sent when due. A failed early attempt does not use up a retry of the schedule. Nothing expires while there is time for an attempt.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap((delivery) => [
      ...violationsOf(trace, delivery),
      ...expiredEarly(trace, delivery)
    ])
}

const { lifetime } = builtInTypes.call.retry

export const callLifetime: Check = {
  name: "call-lifetime",
  rule: "No call is sent after its lifetime, unless a resend is requested.",
  violations: (trace) =>
    trace.requests.flatMap(({ delivery, entry }) => {
      const { event, id, resent } = delivery
      const age = clockOf(trace, entry.engine, entry) - event.created_at
      if (event.resource_type !== "call" || age < lifetime || resent.some((index) => index < entry.index)) return []
      return [{ what: `the call of delivery ${id} was sent when it was ${age} ms old`, entries: [entry.index] }]
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
      const asked = askedFor(other.response.result)
      if (asked === 0 || other.response.entry.at >= entry.at) return []
      const settled = other.delivery.settlements.find(
        ({ settlement, entry: { engine } }) =>
          settlement.attempt?.number === other.entry.attempt && engine === other.entry.engine
      )
      // A Retry-After counts if it was received during the failures that have ended, or by this engine since then.
      const isOfRun =
        settled !== undefined && settled.entry.index <= step.entry.index && settled.entry.now >= (step.since ?? 0)
      const isSince = other.entry.engine === entry.engine && other.response.entry.index > step.entry.index
      return isOfRun || isSince ? [clockOf(trace, other.entry.engine, other.response.entry) + asked] : []
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
  const isAsked = failures.some(({ response }) => response !== null && askedFor(response.result) > 0)
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
