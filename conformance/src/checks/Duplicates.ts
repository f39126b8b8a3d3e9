/**
 * Every further attempt of an event is acknowledged, whatever became of those before it.
 *
 * What goes wrong with a duplicate in the same way as with the event's first attempt is not for being a duplicate, and
 * is left to other requirements. While an earlier attempt may still run, a refusal is allowed, and so it is where several come
 * at once: each runs beside the others.
 */
import type { Attempt, Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import { earlierThan, mayStillRun } from "./Earlier.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { isTiming, read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

const isAlike = (a: Attempt, b: Attempt, terms: Terms): boolean => {
  const statusOf = ({ exchange }: Attempt): number | null => (exchange._tag === "Answered" ? exchange.status : null)
  return read(a.exchange, terms) === read(b.exchange, terms) && statusOf(a) === statusOf(b)
}

export const everyDuplicateAcknowledged = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "no event was sent again", (attempt, index) => {
    if (attempt.first || attempt.kind !== "delivery" || attempt.provisional) return null
    const reading = read(attempt.exchange, terms)
    if (reading === "acknowledged") return "good"
    if (attempt.raced && reading === "refused") return null
    const observed = `sent again (attempt ${attempt.number}): ${exchangeInWords(attempt.exchange)}`
    if (reading === "borderline") return inconclusive(index, observed)
    const earlier = earlierThan(attempt, trace)
    // Whose sender went away may still run.
    if (earlier.some(({ kind }) => kind === "cut")) return null
    if (mayStillRun(earlier, terms)) {
      return inconclusive(index, `${observed}, while an earlier attempt may still have run`)
    }
    const isKnown = earlier.some(({ exchange }) => read(exchange, terms) === "acknowledged")
    if (!isKnown && earlier.some((other) => isAlike(other, attempt, terms))) {
      return inconclusive(index, `${observed}, like the first attempt of the same event`)
    }
    return fail(index, observed, isTiming(reading))
  })
