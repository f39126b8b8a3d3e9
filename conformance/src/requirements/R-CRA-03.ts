/**
 * What a receiver knows must outlive its process.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { lastAttemptAcknowledged } from "../checks/Retried.ts"
import { startsAgain } from "../checks/StartsAgain.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { randomRestarts } from "../random/Histories.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-CRA-03",
  level: 3,
  statement: "An event that was handled before a restart is known again after it.",
  source: "interface document, section 6, rule 4",
  because:
    "A memory of ids that lives in the process forgets everything at each deployment, which is when duplicates come.",
  expected: (terms) => `the duplicate after the restart is answered with ${inWords(terms)}, and there is one effect`,
  needs: ["effects", "stop"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    makeCase(
      "operated",
      "duplicates after a restart",
      newEvent(accessLog),
      newEvent(call),
      newEvent(accessLog),
      again(0, retry),
      ...Array.from({ length: 7 }, () => newEvent(accessLog)),
      { k: "restart" },
      { k: "again_all", how: retry }
    ),
    makeCase(
      "operated",
      "duplicates after a crash and a restart",
      { k: "kill_amid", event: accessLog, workers: 4, after: 20 },
      { k: "retry_open" },
      { k: "restart" },
      { k: "again_all", how: retry }
    )
  ],
  sampled: randomRestarts,
  check: (trace, terms) => both(lastAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms), startsAgain(trace))
})
