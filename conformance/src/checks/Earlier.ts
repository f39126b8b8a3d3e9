/**
 * What had become of an event when it came again.
 */
import type { Attempt, Trace } from "../observed/Trace.ts"
import { isTiming, read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"

/** The attempts of the same event that were over when this one began. */
export const earlierThan = (attempt: Attempt, { attempts }: Trace): ReadonlyArray<Attempt> =>
  attempts.filter(({ event, op }) => event === attempt.event && op < attempt.op)

/** Whether one of them was waited for in vain, and none acknowledged: who is still at it may refuse another. */
export const mayStillRun = (earlier: ReadonlyArray<Attempt>, terms: Terms): boolean => {
  const readings = earlier.flatMap(({ exchange, kind }) => (kind === "delivery" ? [read(exchange, terms)] : []))
  return !readings.includes("acknowledged") && readings.some(isTiming)
}
