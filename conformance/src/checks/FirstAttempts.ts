/**
 * Every first attempt is acknowledged. Copies sent at once are judged elsewhere: which of them comes first is open.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { isTiming, read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const everyFirstAttemptAcknowledged = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "no first attempt was made", (attempt, index) => {
    if (!attempt.first || attempt.raced || attempt.kind !== "delivery") return null
    const reading = read(attempt.exchange, terms)
    if (reading === "acknowledged") return "good"
    const observed = exchangeInWords(attempt.exchange)
    return reading === "borderline" ? inconclusive(index, observed) : fail(index, observed, isTiming(reading))
  })
