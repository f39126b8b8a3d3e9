/**
 * What one exchange means under the terms of a run: the step from what was seen to what checks talk about.
 *
 * Core's rule decides what acknowledges. The suite is stricter in one point: the body must end within the deadline too.
 */
import { Acknowledgement } from "@doorhook/core"
import type { Exchange } from "../evidence/Exchange.ts"
import type { Terms } from "./Terms.ts"
import { certainlyInTime, patienceOf } from "./Terms.ts"

export type Reading =
  | "acknowledged"
  /** Too near the deadline for the suite to tell, or after it while the suite itself stood still. */
  | "borderline"
  /** A whole answer with a status that does not acknowledge. */
  | "refused"
  /** No status in time. */
  | "late"
  /** An acknowledging status in time, but not the end of the body. */
  | "unfinished"
  /** The connection or the answer broke. */
  | "broken"

/** Whether a reading rests on a time that was measured. */
export const isTiming = (reading: Reading): boolean => reading === "late" || reading === "unfinished"

type Answered = Extract<Exchange, { readonly _tag: "Answered" }>

/** A time against the deadline. */
export type Timeliness = "in_time" | "borderline" | "late"

/** It is late only if it would be without what the suite itself stood still. */
const timeliness = ({ stalled = 0 }: Answered, isInTime: (deadline: number) => boolean, terms: Terms): Timeliness =>
  isInTime(certainlyInTime(terms)) ? "in_time" : isInTime(patienceOf(terms) + stalled) ? "borderline" : "late"

/** When the status was there, against the deadline, by core's rule. */
export const statusTime = (answered: Answered, terms: Terms): Timeliness =>
  timeliness(
    answered,
    (deadline) => Acknowledgement.judge({ ...answered, status: 200 }, deadline, terms.rule) === "acknowledged",
    terms
  )

/** When the body ended, against the deadline. */
export const bodyTime = (answered: Answered, terms: Terms): Timeliness =>
  answered.ending === "unfinished" ? "late" : timeliness(answered, (deadline) => answered.elapsed <= deadline, terms)

export const read = (exchange: Exchange, terms: Terms): Reading => {
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
