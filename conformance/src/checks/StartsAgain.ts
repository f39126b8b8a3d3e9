/**
 * A receiver that was ended starts again. What is seen of one that was not ended says nothing of what outlives an end.
 */
import type { Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive, nothing } from "./Finding.ts"

export const startsAgain = ({ interventions }: Trace): Finding => {
  const down = interventions.find((one) => one.down !== undefined)?.down
  if (down !== undefined) return fail(null, `the receiver did not start again after it was killed: ${down}`)
  const unended = interventions.find((one) => one.unended !== undefined)?.unended
  return unended === undefined
    ? nothing("the receiver started again whenever it was ended")
    : inconclusive(null, unended)
}
