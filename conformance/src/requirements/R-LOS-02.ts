/**
 * A failed attempt must leave nothing behind that makes the next one a duplicate.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { lastAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { cutAgain, cutNew, inAnswer, inBody, makeCase, retried } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-LOS-02",
  level: 2,
  statement: "An event whose attempts failed is handled at the next undisturbed one: a failure does not poison its id.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "A receiver that notes an id before it has handled the event takes the retry of a broken attempt for a duplicate, acknowledges it and drops it.",
  expected: (terms) => `the retry after broken attempts is answered with ${inWords(terms)}, and there is one effect`,
  needs: ["effects"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    ...[0, 25, 50, 75, 99].flatMap((percent) => [
      makeCase(
        "disturbed",
        `an access log broken off after ${percent} % of its body`,
        cutNew(accessLog, inBody(percent)),
        retried(0)
      ),
      makeCase(
        "disturbed",
        `a call broken off after ${percent} % of its body`,
        cutNew(call, inBody(percent)),
        retried(0)
      )
    ]),
    makeCase(
      "disturbed",
      "three broken attempts",
      cutNew(accessLog, inBody(60)),
      cutAgain(0, inBody(90)),
      cutAgain(0, inBody(10)),
      retried(0)
    ),
    makeCase(
      "disturbed",
      "broken off in the body, then without waiting",
      cutNew(call, inBody(50)),
      cutAgain(0, inAnswer(0)),
      retried(0)
    ),
    makeCase("disturbed", "an answer nobody waited for", cutNew(accessLog, inAnswer(0)), retried(0)),
    makeCase(
      "disturbed",
      "a malformed attempt first",
      { k: "malformed", event: accessLog, kind: "truncated" },
      retried(0)
    )
  ],
  check: (trace, terms) => {
    // A receiver that acknowledged what was no event owes nothing for it.
    const owed = trace.attempts.every(
      ({ exchange, kind }) => kind !== "malformed" || exchange._tag === "Failed" || exchange.status >= 300
    )
    const answers = lastAttemptAcknowledged(trace, terms)
    return owed ? both(answers, exactlyOnce(trace, terms)) : answers
  }
})
