/**
 * The terms of a run, and what one exchange means under them. Core's rule decides which answers acknowledge an event. The suite is stricter in
 * one point: the body must end within the deadline, too.
 */
import { Acknowledgement, DurationText } from "@doorhook/core"
import { Schema } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"

export const DedupKey = Schema.Literals(["both", "header", "body"])
export type DedupKey = typeof DedupKey.Type

export const Terms = Schema.Struct({
  /** How long a receiver has, in milliseconds. */
  deadline: Schema.Finite,
  /** The suite's own measuring error, in milliseconds: nothing is decided this close to the deadline. */
  guard: Schema.Finite,
  rule: Schema.Literals(["200", "2xx"]),
  /** Which deduplication key is stressed; with `both` the two vary together. */
  dedupKey: DedupKey,
  /** How old, or how early, a signature may be, in milliseconds (`--tolerance`). */
  tolerance: Schema.Finite
})
export type Terms = typeof Terms.Type

/** Doorhook's own decision: Standard Webhooks names no number. */
export const defaultTolerance = 300_000

/** The terms of the interface, as far as a clock can keep to them. */
export const defaultTerms: Terms = {
  deadline: Acknowledgement.defaultDeadline,
  guard: 50,
  rule: "200",
  dedupKey: "both",
  tolerance: defaultTolerance
}

/** The acknowledging status, in words. */
export const statusInWords = ({ rule }: Terms): string => (rule === "200" ? "status 200" : "a 2xx status")

/** The acknowledging status and the deadline, in words. */
export const inWords = (terms: Terms): string => `${statusInWords(terms)} within ${DurationText.format(terms.deadline)}`

/**
 * Until when an answer is in time beyond doubt. On a busy machine the guard may reach the deadline. The suite then still only
 * sees answers later than they came, so the limit stays at three quarters of the deadline.
 */
export const certainlyInTime = ({ deadline, guard }: Terms): number => deadline - Math.min(guard, deadline / 4)

/** How long the suite waits for an answer before it counts as late. */
export const patienceOf = ({ deadline, guard }: Terms): number => deadline + guard

export type AnswerKind =
  | "acknowledged"
  /** Too close to the deadline to judge, or after it while the suite itself stood still. */
  | "borderline"
  /** A whole answer with a status that does not acknowledge. */
  | "refused"
  /** No status in time. */
  | "late"
  /** An acknowledging status in time, but not the end of the body. */
  | "unfinished"
  /** The connection or the answer broke. */
  | "broken"

/** Whether it rests on a measured time. */
export const restsOnTime = (answer: AnswerKind): boolean => answer === "late" || answer === "unfinished"

type Answered = Extract<Exchange, { readonly _tag: "Answered" }>

/** A time against the deadline. */
export type Timeliness = "in_time" | "borderline" | "late"

/** Time in which the suite itself stood still makes no answer late. */
const timeliness = ({ stalled = 0 }: Answered, isInTime: (deadline: number) => boolean, terms: Terms): Timeliness =>
  isInTime(certainlyInTime(terms)) ? "in_time" : isInTime(patienceOf(terms) + stalled) ? "borderline" : "late"

/** The time of the status against the deadline, by core's rule. */
export const statusTime = (answered: Answered, terms: Terms): Timeliness =>
  timeliness(
    answered,
    (deadline) => Acknowledgement.judge({ ...answered, status: 200 }, deadline, terms.rule) === "acknowledged",
    terms
  )

/** The time of the body's end against the deadline. */
export const bodyTime = (answered: Answered, terms: Terms): Timeliness =>
  answered.ending === "unfinished" ? "late" : timeliness(answered, (deadline) => answered.elapsed <= deadline, terms)

export const classify = (exchange: Exchange, terms: Terms): AnswerKind => {
  if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? "late" : "broken"
  if (!Acknowledgement.isAcknowledgingStatus(exchange.status, terms.rule)) return "refused"
  const status = statusTime(exchange, terms)
  if (status === "late") return "late"
  if (exchange.ending === "cut_off" || exchange.ending === "malformed") return "broken"
  const body = bodyTime(exchange, terms)
  if (body === "late") return "unfinished"
  return status === "borderline" || body === "borderline" ? "borderline" : "acknowledged"
}

/** A time in whole milliseconds; short ones with a decimal. */
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
  const { bytes, detail, elapsed, ending, headers_elapsed, location, status } = exchange
  const head = `${status} after ${millis(headers_elapsed)}${location === null ? "" : `, redirecting to ${location}`}`
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

/** One exchange in words, like `409 after 3 ms`. */
export const exchangeInWords = (exchange: Exchange): string =>
  exchange.stalled === undefined
    ? plainlyInWords(exchange)
    : `${plainlyInWords(exchange)}; the suite itself stood still for ${millis(exchange.stalled)} of that`
