/**
 * The attempts that follow a restart are acknowledged.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { isTiming, read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const afterRestart = (trace: Trace, terms: Terms): Finding => {
  const restarted = trace.interventions.at(-1)?.over
  return eachAttempt(trace, "nothing was sent after a restart", ({ exchange, kind, started }, index) => {
    if (kind !== "delivery" || restarted === undefined || started < restarted) return null
    const reading = read(exchange, terms)
    if (reading === "acknowledged") return "good"
    const observed = exchangeInWords(exchange)
    return reading === "borderline" ? inconclusive(index, observed) : fail(index, observed, isTiming(reading))
  })
}
