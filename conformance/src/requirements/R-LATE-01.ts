/**
 * A lost acknowledgement: the receiver has all of the request, the sender is gone before the answer.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { lastAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { cutAgain, cutNew, inAnswer, makeCase, newEvent, retried } from "../history/History.ts"
import { define } from "./Requirement.ts"

const shares = [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]

export const requirement = define({
  id: "R-LATE-01",
  level: 2,
  statement: "When the answer is lost on its way, the retry is acknowledged and there is one effect.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "Networks fail after the work and before the answer. Work that is rolled back because the client went away, while the id stays noted, is lost; work that is not noted is done twice.",
  expected: (terms) => `the retry is answered with ${inWords(terms)}, and there is one effect`,
  needs: ["effects"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    ...shares.flatMap((share) => [
      makeCase(
        "disturbed",
        `an access log given up ${share * 100} % into the wait`,
        cutNew(accessLog, inAnswer(share)),
        retried(0)
      ),
      makeCase("disturbed", `a call given up ${share * 100} % into the wait`, cutNew(call, inAnswer(share)), retried(0))
    ]),
    makeCase(
      "disturbed",
      "three lost answers",
      cutNew(accessLog, inAnswer(0)),
      cutAgain(0, inAnswer(0.5)),
      cutAgain(0, inAnswer(1)),
      retried(0)
    ),
    makeCase("disturbed", "the answer to a duplicate lost", newEvent(call), cutAgain(0, inAnswer(0.3)), retried(0))
  ],
  check: (trace, terms) => both(lastAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms))
})
