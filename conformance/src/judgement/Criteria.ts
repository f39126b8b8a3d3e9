/**
 * The criteria of a run, such as the deadline, and how an exchange counts under them. Core's rule decides which answers
 * acknowledge an event. The suite is stricter in one point: the body must also end within the deadline.
 */
import { Acknowledgement, DurationText } from "@doorhook/core"
import { Schema } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import { limitSpan } from "../evidence/Trace.ts"
import type { Limit } from "../evidence/Trace.ts"

export const DedupKey = Schema.Literals(["both", "header", "body"])
export type DedupKey = typeof DedupKey.Type

export const Criteria = Schema.Struct({
  /** Time for a receiver to answer, in milliseconds. */
  deadline: Schema.Finite,
  /** Measuring error of the suite, in milliseconds. Answers this close to the deadline are not judged. */
  guard: Schema.Finite,
  rule: Schema.Literals(["200", "2xx"]),
  /** Which deduplication key is stressed; with `both`, the two keys vary together. */
  dedupKey: DedupKey,
  /** How far in the past or the future a signature's timestamp may be, in milliseconds (`--tolerance`). */
  tolerance: Schema.Finite
})
export type Criteria = typeof Criteria.Type

/** Default tolerance, in milliseconds. Chosen by doorhook, because Standard Webhooks names no number. */
export const defaultTolerance = 300_000

/** The criteria of the interface document, with a usual measuring error. */
export const defaultCriteria: Criteria = {
  deadline: Acknowledgement.defaultDeadline,
  guard: 50,
  rule: "200",
  dedupKey: "both",
  tolerance: defaultTolerance
}

/** Describes the statuses that acknowledge. */
export const statusInWords = ({ rule }: Criteria): string => (rule === "200" ? "status 200" : "a 2xx status")

/** Describes the statuses that acknowledge, and the deadline. */
export const inWords = (criteria: Criteria): string =>
  `${statusInWords(criteria)} within ${DurationText.format(criteria.deadline)}`

/**
 * Returns the time within which an answer certainly meets the deadline, in milliseconds. Subtracts the guard, up to a
 * quarter of the deadline. The guard may be as long as the deadline on a busy machine, but the suite never notices an
 * answer too early.
 */
export const certainlyInTime = ({ deadline, guard }: Criteria): number => deadline - Math.min(guard, deadline / 4)

/** Returns how long the suite waits before it counts an answer as late, in milliseconds. */
export const patienceOf = ({ deadline, guard }: Criteria): number => deadline + guard

export type AnswerKind =
  | "acknowledged"
  /** Too close to the deadline to judge, or after the deadline while the suite itself was stalled. */
  | "borderline"
  /** An answer with a status that does not acknowledge. */
  | "refused"
  /** No status in time. */
  | "late"
  /** An acknowledging status in time, but the body did not end in time. */
  | "unfinished"
  /** The connection or the answer broke. */
  | "broken"

/** Whether the kind of answer depends on a measured time. */
export const restsOnTime = (answer: AnswerKind): boolean => answer === "late" || answer === "unfinished"

type Answered = Extract<Exchange, { readonly _tag: "Answered" }>

/** How a time compares with the deadline. */
export type Timeliness = "in_time" | "borderline" | "late"

/** Compares a time with the deadline. Time during which the suite itself was stalled does not make an answer late. */
const timeliness = (
  { stalled = 0 }: Answered,
  isInTime: (deadline: number) => boolean,
  criteria: Criteria
): Timeliness =>
  isInTime(certainlyInTime(criteria)) ? "in_time" : isInTime(patienceOf(criteria) + stalled) ? "borderline" : "late"

/** Compares the time of the status with the deadline, by core's rule. */
export const statusTime = (answered: Answered, criteria: Criteria): Timeliness =>
  timeliness(
    answered,
    (deadline) => Acknowledgement.judge({ ...answered, status: 200 }, deadline, criteria.rule) === "acknowledged",
    criteria
  )

/** Compares the time of the body's end with the deadline. */
export const bodyTime = (answered: Answered, criteria: Criteria): Timeliness =>
  answered.ending === "unfinished" ? "late" : timeliness(answered, (deadline) => answered.elapsed <= deadline, criteria)

export const classify = (exchange: Exchange, criteria: Criteria): AnswerKind => {
  if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? "late" : "broken"
  if (!Acknowledgement.isAcknowledgingStatus(exchange.status, criteria.rule)) return "refused"
  const status = statusTime(exchange, criteria)
  if (status === "late") return "late"
  if (exchange.ending === "cut_off" || exchange.ending === "malformed") return "broken"
  const body = bodyTime(exchange, criteria)
  if (body === "late") return "unfinished"
  return status === "borderline" || body === "borderline" ? "borderline" : "acknowledged"
}

/** Formats a time in milliseconds, with one decimal below 10 ms. */
export const millis = (elapsed: number): string =>
  elapsed < 10 ? `${Math.round(elapsed * 10) / 10} ms` : `${Math.round(elapsed)} ms`

const failures: Readonly<Record<string, string>> = {
  connection_reset: "the connection was closed without an answer",
  invalid_response: "the answer is not readable as HTTP"
}

const plainlyInWords = (exchange: Exchange): string => {
  if (exchange._tag === "Failed") {
    if (exchange.outcome === "timeout") return `no answer within ${millis(exchange.elapsed)}`
    return `${failures[exchange.outcome] ?? exchange.outcome} after ${millis(exchange.elapsed)} (${exchange.detail})`
  }
  const { bytes, detail, elapsed, ending, headers_elapsed, location, retry_after, status } = exchange
  const pause = retry_after === null ? "" : `, retry-after: ${retry_after}`
  const head = `${status} after ${millis(headers_elapsed)}${location === null ? "" : `, redirecting to ${location}`}${pause}`
  switch (ending) {
    case "complete":
      return head
    case "unfinished":
      return `${head}, but the body had not ended after ${millis(elapsed)} (${bytes} bytes so far)`
    case "cut_off":
      return `${head}, but the body was cut off after ${bytes} bytes (${detail ?? "connection closed"})`
    case "malformed":
      return `${head}, but the body breaks HTTP after ${bytes} bytes (${detail ?? "malformed"})`
  }
}

/** Describes how many requests the receiver got when its limit refused one. */
export const crowdInWords = (limit: Limit, inFlight: number): string => {
  const span = limitSpan(limit) / 1_000
  return [
    ...(inFlight > 1 ? [`with ${inFlight} requests in flight`] : []),
    `after ${limit.before} ${limit.before === 1 ? "request" : "requests"} in the last ${span === 1 ? "second" : `${span} s`}`
  ].join(" and ")
}

/** Describes an exchange, like `409 after 3 ms`. */
export const exchangeInWords = (exchange: Exchange): string =>
  exchange.stalled === undefined
    ? plainlyInWords(exchange)
    : `${plainlyInWords(exchange)}; the suite itself was stalled for ${millis(exchange.stalled)} of that`
