/**
 * The one sentence that receivers are about: an event happens once. Judged on everything that is sent.
 */
import { atMostOnce } from "../checks/EachEvent.ts"
import { randomHistories } from "../random/Histories.ts"
import { repeatedCases } from "./Repeated.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-DUP-02",
  level: 2,
  statement: "However often an event comes, its effect happens once at most.",
  source: "interface document, section 6, rule 4",
  because:
    "Duplicates come by design: after every lost acknowledgement. A receiver that acts on each rings twice, bills twice, opens twice.",
  expected: () =>
    "the probe never counts more than one effect for an event, whatever was sent, nor does it some time later, at the end of the run",
  needs: ["effects"],
  examines: "all",
  directed: repeatedCases,
  sampled: randomHistories,
  check: atMostOnce
})
