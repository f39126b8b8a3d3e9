/**
 * R-LATE: answers that are lost on their way or come too late, and the attempts that follow.
 */
import { accessLog, call } from "../history/Events.ts"
import { cutAgain, cutNew, inAnswer, inBody, retried } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import type { EventTemplate } from "../history/Events.ts"
import { all, everyAttempt, exactlyOnce, lastAttempts } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import { disturbed, newCall, operated, retryAll, retryOf, retryOpen } from "./Cases.ts"
import { requirement, unrecorded } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const givenUp = (event: EventTemplate, share: number): Case =>
  disturbed(
    `${event.resource_type} given up ${share * 100} % into the wait`,
    cutNew(event, inAnswer(share)),
    retried(0)
  )

export const answeringLate: ReadonlyArray<Requirement> = [
  requirement("R-LATE-01", 2, {
    statement: "When the answer is lost on its way, the retry is acknowledged and there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "Networks fail after the work is done and before the answer arrives: the sender then sends the event again, and a receiver that refuses it gets it for days.",
    becauses: {
      lost: "Networks fail after the work is done and before the answer arrives. Work that is rolled back because the client went away, while the id stays recorded, is lost.",
      doubled: unrecorded
    },
    expected: (terms) => `the retry is answered with ${inWords(terms)}, and there is one effect`,
    needs: ["effects"],
    given: [
      givenUp(accessLog, 0),
      givenUp(call, 0.6),
      givenUp(accessLog, 1),
      disturbed(
        "three lost answers",
        cutNew(accessLog, inAnswer(0)),
        cutAgain(0, inAnswer(0.5)),
        cutAgain(0, inAnswer(1)),
        retried(0)
      ),
      disturbed("the answer to a duplicate lost", newCall, cutAgain(0, inAnswer(0.3)), retried(0)),
      {
        ...disturbed(
          "the third attempt is the first that arrives whole",
          cutNew(accessLog, inBody(0)),
          cutAgain(0, inBody(0)),
          retryOf(0),
          retryOf(0)
        ),
        because:
          "The attempt number counts attempts that were sent, not those that arrived. A receiver that takes any number above 1 for a duplicate drops events whose first attempts were lost."
      }
    ],
    further: [
      givenUp(call, 0),
      ...[0.2, 0.4, 0.6, 0.8, 1.2].map((share) => givenUp(accessLog, share)),
      ...[0.2, 0.4, 0.8, 1, 1.2].map((share) => givenUp(call, share))
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement("R-LATE-02", 2, {
    statement: "When the receiver is too slow and the event is sent again in the meantime, there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A pause of some seconds (a full disk, a garbage collection, a migration) makes the sender repeat every event of that time.",
    expected: (terms) => `one effect, and a later retry is answered with ${inWords(terms)}`,
    needs: ["effects", "pause"],
    given: [
      operated(
        "events while the receiver stands still",
        { k: "pause_during", events: [accessLog, call, accessLog, accessLog, call, accessLog] },
        retryOpen,
        retryAll
      )
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement("R-LATE-03", 1, {
    statement: "A receiver acknowledges further attempts of an event that it has handled but answered too late.",
    source: "interface document, section 6, rule 3",
    because: "If they are refused, the event is retried for days and then reported as failed, although it was handled.",
    expected: (terms) => `each attempt after one that the sender has given up is answered with ${inWords(terms)}`,
    given: [
      disturbed(
        "retries after an answer nobody waited for",
        cutNew(accessLog, inAnswer(1.2)),
        retried(0),
        retryOf(0),
        retryOf(0)
      ),
      disturbed("retries of a call that was given up at once", cutNew(call, inAnswer(0)), retried(0), retryOf(0))
    ],
    further: [
      disturbed(
        "two answers nobody waited for",
        cutNew(accessLog, inAnswer(1)),
        cutAgain(0, inAnswer(1.2)),
        retried(0),
        retryOf(0)
      )
    ],
    judge: everyAttempt
  })
]
