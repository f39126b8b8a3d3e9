/**
 * The acknowledgement of something that only memory holds.
 */
import { acknowledgedSurvives } from "../checks/Crashes.ts"
import { both } from "../checks/Finding.ts"
import { startsAgain } from "../checks/StartsAgain.ts"
import { crashCases } from "./Crashing.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-CRA-01",
  level: 3,
  statement: "What was acknowledged before a crash has its effect after it, without being sent again.",
  source: "interface document, section 6, rules 3 and 5",
  because:
    "At least once owes no retry after an acknowledgement. What a receiver holds in memory when it answers 200 is gone with the process.",
  expected: () => "one effect for every event that was acknowledged before the receiver was killed",
  needs: ["effects", "stop"],
  provenBy: ["kill"],
  presupposes: ["R-DUP-02", "R-LOS-01"],
  directed: crashCases,
  check: (trace, terms) => both(acknowledgedSurvives(trace, terms), startsAgain(trace))
})
