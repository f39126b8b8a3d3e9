/**
 * The first request after a start, which pays for everything that is loaded late.
 */
import { everyAnswerComplete } from "../checks/CompleteAnswer.ts"
import { both } from "../checks/Finding.ts"
import { afterRestart } from "../checks/AfterRestart.ts"
import { everyStatusInTime } from "../checks/InTime.ts"
import { startsAgain } from "../checks/StartsAgain.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-CRA-04",
  level: 3,
  statement: "The first event after a start is acknowledged in time.",
  source: "interface document, section 6, rule 3, and section 8",
  because:
    "A receiver that says it is ready and then takes its time over the first event gets it twice after every deployment.",
  expected: (terms) => `the first event after the receiver is ready is answered with ${inWords(terms)}`,
  needs: ["stop"],
  directed: [
    makeCase("operated", "a door right after a start", { k: "restart" }, newEvent(accessLog), newEvent(call)),
    makeCase("operated", "a call right after a start", { k: "restart" }, newEvent(call), newEvent(accessLog))
  ],
  check: (trace, terms) =>
    both(
      afterRestart(trace, terms),
      everyStatusInTime(trace, terms),
      everyAnswerComplete(trace, terms),
      startsAgain(trace)
    )
})
