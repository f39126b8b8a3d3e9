/**
 * A receiver that was ended starts again.
 */
import type { Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { fail, nothing } from "./Finding.ts"

export const startsAgain = ({ interventions }: Trace): Finding => {
  const down = interventions.find((one) => one.down !== undefined)?.down
  return down === undefined
    ? nothing("the receiver started again whenever it was ended")
    : fail(null, `the receiver did not start again after it was killed: ${down}`)
}
