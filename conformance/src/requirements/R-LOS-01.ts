/**
 * The promise of an acknowledgement. Judged on everything that is sent.
 */
import { acknowledgedHasEffect } from "../checks/EachEvent.ts"
import { manyEvents, ordinaryCases } from "./Ordinary.ts"
import { oddCases } from "./R-FWD-02.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-LOS-01",
  level: 2,
  statement: "What was acknowledged has its effect: soon, and without being sent again.",
  source: "interface document, section 6, rules 3 and 5",
  because:
    "After an acknowledgement the sender forgets the event. A receiver that answers 200 and drops it, for an error it swallows or a queue that is full, loses it for good.",
  expected: () => "one effect for every acknowledged event of a documented kind, within the settling time",
  needs: ["effects"],
  examines: "all",
  directed: [...ordinaryCases, ...oddCases, manyEvents],
  check: acknowledgedHasEffect
})
