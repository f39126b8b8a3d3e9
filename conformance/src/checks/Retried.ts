/**
 * The last undisturbed attempt of an event is acknowledged, whatever became of those before it. Refusals before the last
 * of a row of retries are allowed: an earlier attempt may still have been running.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import { earlierThan, mayStillRun } from "./Earlier.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { isTiming, read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const lastAttemptAcknowledged = (trace: Trace, terms: Terms): Finding => {
  const last = new Map<number, number>()
  for (const [index, attempt] of trace.attempts.entries()) {
    if (attempt.kind === "delivery" && !attempt.provisional && !attempt.raced) last.set(attempt.event, index)
  }
  return eachAttempt(trace, "no event was retried", (attempt, index) => {
    if (last.get(attempt.event) !== index) return null
    const reading = read(attempt.exchange, terms)
    if (reading === "acknowledged") return "good"
    const observed = `the last attempt (${attempt.number}): ${exchangeInWords(attempt.exchange)}`
    return reading === "borderline" ? inconclusive(index, observed) : fail(index, observed, isTiming(reading))
  })
}

/** Every undisturbed attempt is acknowledged, whichever it is. */
export const everyAttemptAcknowledged = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "no attempt was made", (attempt, index) => {
    if (attempt.kind !== "delivery" || attempt.provisional) return null
    const reading = read(attempt.exchange, terms)
    if (reading === "acknowledged") return "good"
    const observed = exchangeInWords(attempt.exchange)
    if (reading === "borderline") return inconclusive(index, observed)
    // What follows from a late answer is as much of an accident as that.
    return fail(index, observed, isTiming(reading) || mayStillRun(earlierThan(attempt, trace), terms))
  })

/** Each of several copies sent at once is acknowledged, or refused at once: none hangs, none is cut off. */
export const copiesAnswered = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "no copies were sent at once", (attempt, index) => {
    if (!attempt.raced) return null
    const reading = read(attempt.exchange, terms)
    if (reading === "acknowledged" || reading === "refused") return "good"
    const observed = `one of several copies at once: ${exchangeInWords(attempt.exchange)}`
    return reading === "borderline" ? inconclusive(index, observed) : fail(index, observed, isTiming(reading))
  })

/** Requests that are not genuine are refused: answered, and not with a status that acknowledges. */
export const forgeriesRefused = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "nothing forged was sent", (attempt, index) => {
    if (attempt.kind !== "forged") return null
    const reading = read(attempt.exchange, terms)
    // A connection that is closed without an answer acknowledges nothing either.
    if (reading === "refused" || reading === "broken") return "good"
    const observed = exchangeInWords(attempt.exchange)
    return reading === "late" ? fail(index, observed, true) : fail(index, observed)
  })
