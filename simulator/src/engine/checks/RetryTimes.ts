/**
 * Retries keep their schedule: not earlier, by no more than the jitter later, and made when they are due. Before its lifetime
 * leaves no time for the next one, nothing ends as expired.
 */
import type { TransportResult } from "@doorhook/core"
import { RetryPolicy } from "@doorhook/core"
import { dueWindow } from "../rules/DueWindow.ts"
import { mayGiveUp } from "../rules/GivingUp.ts"
import type { Check, Violation } from "./Check.ts"
import { isBusy, isDisturbed } from "./Disturbances.ts"
import { schedulesAt } from "./Knowledge.ts"
import type { Request, Trace, TracedDelivery } from "./Trace.ts"
import { clockOf, longestUnseen, putBackSince } from "./Trace.ts"

type Settled = TracedDelivery["settlements"][number]

/** What a receiver asked the next attempt to wait, in milliseconds. The simulated ones send seconds, or nonsense. */
export const askedFor = (result: TransportResult): number => {
  if (result._tag !== "Answered" || (result.status !== 429 && result.status !== 503)) return 0
  const seconds = Number(result.retry_after ?? 0)
  return Number.isNaN(seconds) ? 0 : Math.min(seconds * 1_000, RetryPolicy.maxRetryAfter)
}

/**
 * When a retry may be due after a failed attempt that ended at a time, by any schedule that may have been in force. One that
 * was made early leaves the delivery due when it was, or when the receiver asks for.
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

/** The request whose outcome a settlement records. */
const requestOf = ({ requests }: TracedDelivery, { entry }: Settled, number: number): Request | undefined =>
  requests.findLast(
    ({ entry: sent, response }) =>
      sent.attempt === number && response !== null && response.entry.index < entry.index && sent.engine === entry.engine
  )

/** What ended as expired while there was time for another attempt. */
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
    const tell = (what: string, ...entries: ReadonlyArray<number>) =>
      found.push({ what: `delivery ${delivery.id}: ${what}`, entries: [...entries, entry.index] })

    const request = requestOf(delivery, settled, attempt.number)
    if (request?.response === null || request === undefined) {
      tell(`attempt ${attempt.number} is recorded and was never answered`)
      return found
    }
    const { entry: response, result } = request.response
    const end = clockOf(trace, entry.engine, response)
    const due = dueBetween(trace, request, settled, end, result)
    if (due.length === 0) tell(`there is no retry ${attempt.number} in the schedule`, request.entry.index)
    else if (!due.some(({ from, to }) => next_attempt_at >= from && next_attempt_at <= to)) {
      const away = next_attempt_at - end
      tell(`a retry after ${away} ms is not in the schedule`, request.entry.index, response.index)
    }

    const next = delivery.requests.find(({ entry: sent }) => sent.index > entry.index)
    // Asked for during the attempt or while it waited, so that the schedule does not apply.
    const leased = request.grant?.index ?? 0
    if (next === undefined || delivery.resent.some((index) => index > leased && index < next.entry.index)) return found
    // Sent early: `CatchingUp` judges that.
    if (next.grant?.early_due_at !== null) return found
    const early = next_attempt_at - clockOf(trace, next.entry.engine, next.entry)
    if (early > putBackSince(trace, entry.index)) tell(`a retry came ${early} ms too early`, next.entry.index)
    const dueAt = Math.max(entry.at, entry.at + next_attempt_at - clockOf(trace, entry.engine, entry))
    const late = next.entry.at - dueAt
    if (late > slack(trace) && !isDisturbed(trace, entry.at, next.entry.at) && !isBusy(trace, dueAt, next.entry.at)) {
      tell(`a retry came ${late} ms too late`, next.entry.index)
    }
    return found
  })

/** A poll that just missed it, the store calls of a round, and two questions to the directory. */
export const slack = (trace: Trace): number => {
  const { directoryLatency, skew, storeLatency } = trace.outcome.scenario
  return longestUnseen(trace) + 8 * storeLatency + 2 * directoryLatency + 2 * skew + 200
}

export const retryTimes: Check = {
  name: "retry-times",
  rule: "A retry comes when its schedule or Retry-After says, up to a fifth later, and when it is due; failed early attempts change neither; nothing expires before.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap((delivery) => [
      ...violationsOf(trace, delivery),
      ...expiredEarly(trace, delivery)
    ])
}
