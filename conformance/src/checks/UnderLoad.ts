/**
 * Events under load: none refused, broken off or without an answer, and 99.9 % of them in time, counted from when they
 * were due.
 */
import type { Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive, nothing, pass } from "./Finding.ts"
import { read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

const inTimeShare = 0.999

export const everyLoadedAttempt = (trace: Trace, terms: Terms): Finding => {
  const loaded = trace.attempts.flatMap((attempt, index) => (attempt.kind === "load" ? [{ attempt, index }] : []))
  if (loaded.length === 0) return nothing("no load was sent")
  const readings = loaded.map(({ attempt, index }) => ({ attempt, index, reading: read(attempt.exchange, terms) }))
  const wrong = readings.find(({ reading }) => reading === "refused" || reading === "broken")
  if (wrong !== undefined) return fail(wrong.index, `under load: ${exchangeInWords(wrong.attempt.exchange)}`)
  const late = readings.filter(({ reading }) => reading === "late" || reading === "unfinished")
  const borderline = readings.filter(({ reading }) => reading === "borderline")
  const allowed = Math.floor(loaded.length * (1 - inTimeShare))
  const [first] = [...late, ...borderline]
  const heldUp = trace.shortfalls.reduce((sum, { done, of, what }) => sum + (what === "connections" ? of - done : 0), 0)
  if (late.length - heldUp > allowed) {
    return fail(first?.index ?? null, `${late.length} of ${loaded.length} answers came too late`, true)
  }
  if (heldUp > allowed) {
    return inconclusive(
      first?.index ?? null,
      `${heldUp} of ${loaded.length} answers came in time, but for events that were sent too late: all of the suite's connections were busy, so nothing can be said of this rate`
    )
  }
  if (late.length + borderline.length > allowed) {
    return inconclusive(
      first?.index ?? null,
      `${late.length + borderline.length} of ${loaded.length} answers came at the deadline`
    )
  }
  return pass(loaded.map(({ index }) => index))
}
