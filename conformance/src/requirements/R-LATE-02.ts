/**
 * An answer that is really late: the receiver stands still past the deadline and then works on both attempts.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { lastAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-LATE-02",
  level: 2,
  statement: "When the receiver is too slow and the event comes again meanwhile, there is one effect.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "A pause of some seconds (a full disk, a long collection, a migration) makes every event of that time come twice.",
  expected: (terms) => `one effect, and a later retry is answered with ${inWords(terms)}`,
  needs: ["effects", "pause"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    makeCase(
      "operated",
      "events while the receiver stands still",
      { k: "pause_during", event: accessLog, count: 6 },
      { k: "retry_open" },
      { k: "again_all", how: retry }
    ),
    makeCase(
      "operated",
      "calls while the receiver stands still",
      { k: "pause_during", event: call, count: 2 },
      { k: "retry_open" }
    )
  ],
  check: (trace, terms) => both(lastAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms))
})
