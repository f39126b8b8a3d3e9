/**
 * What the sender did not hear counts as no acknowledgement: it goes on sending, and the receiver goes on accepting.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, cutAgain, cutNew, inAnswer, makeCase, retried, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-LATE-03",
  level: 1,
  statement: "A receiver accepts further attempts of an event it has handled already but whose answer came too late.",
  source: "interface document, section 6, rule 3",
  because: "Refused, the event is retried for days and then reported as lost, although it was handled.",
  expected: (terms) => `each attempt after one that the sender gave up on is answered with ${inWords(terms)}`,
  presupposes: ["R-DUP-01"],
  directed: [
    makeCase(
      "disturbed",
      "retries after an answer nobody waited for",
      cutNew(accessLog, inAnswer(1.2)),
      retried(0),
      again(0, retry),
      again(0, retry)
    ),
    makeCase(
      "disturbed",
      "retries of a call that was given up at once",
      cutNew(call, inAnswer(0)),
      retried(0),
      again(0, retry)
    ),
    makeCase(
      "disturbed",
      "two answers nobody waited for",
      cutNew(accessLog, inAnswer(1)),
      cutAgain(0, inAnswer(1.2)),
      retried(0),
      again(0, retry)
    )
  ],
  check: everyAttemptAcknowledged
})
