/**
 * R-LATE: answers that are lost on their way or come too late, and the attempts that follow.
 */
import { accessLog, call } from "../history/Events.ts"
import { again, cutAgain, cutNew, inAnswer, inBody, makeCase, newEvent, retried } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import type { EventTemplate } from "../history/Template.ts"
import { retry } from "../history/Variations.ts"
import { all, everyAttempt, exactlyOnce, lastAttempts } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import { requirement } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const givenUp = (event: EventTemplate, share: number): Case =>
  makeCase(
    "disturbed",
    `${event.resource_type} given up ${share * 100} % into the wait`,
    cutNew(event, inAnswer(share)),
    retried(0)
  )

const basics: ReadonlyArray<Requirement["id"]> = ["R-DUP-01", "R-DUP-02", "R-LOS-01"]

export const answeringLate: ReadonlyArray<Requirement> = [
  requirement({
    id: "R-LATE-01",
    level: 2,
    statement: "When the answer is lost on its way, the retry is acknowledged and there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "Networks fail after the work and before the answer. Work that is rolled back because the client went away, while the id stays noted, is lost; work that is not noted is done twice.",
    expected: (terms) => `the retry is answered with ${inWords(terms)}, and there is one effect`,
    needs: ["effects"],
    presupposes: basics,
    given: [
      givenUp(accessLog, 0),
      givenUp(call, 0.6),
      givenUp(accessLog, 1),
      makeCase(
        "disturbed",
        "three lost answers",
        cutNew(accessLog, inAnswer(0)),
        cutAgain(0, inAnswer(0.5)),
        cutAgain(0, inAnswer(1)),
        retried(0)
      ),
      makeCase("disturbed", "the answer to a duplicate lost", newEvent(call), cutAgain(0, inAnswer(0.3)), retried(0)),
      {
        ...makeCase(
          "disturbed",
          "the third attempt is the first that arrives whole",
          cutNew(accessLog, inBody(0)),
          cutAgain(0, inBody(0)),
          again(0, retry),
          again(0, retry)
        ),
        because:
          "The attempt number counts what was sent, not what arrived. A receiver that takes any number above 1 for a duplicate drops events whose first attempts were lost."
      }
    ],
    further: [
      givenUp(call, 0),
      ...[0.2, 0.4, 0.6, 0.8, 1.2].map((share) => givenUp(accessLog, share)),
      ...[0.2, 0.4, 0.8, 1, 1.2].map((share) => givenUp(call, share))
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement({
    id: "R-LATE-02",
    level: 2,
    statement: "When the receiver is too slow and the event comes again in the meantime, there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A pause of some seconds (a full disk, a long collection, a migration) makes every event of that time come twice.",
    expected: (terms) => `one effect, and a later retry is answered with ${inWords(terms)}`,
    needs: ["effects", "pause"],
    presupposes: basics,
    given: [
      makeCase(
        "operated",
        "events while the receiver stands still",
        { k: "pause_during", events: [accessLog, call, accessLog, accessLog, call, accessLog] },
        { k: "retry_open" },
        { k: "again_all", how: retry }
      )
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement({
    id: "R-LATE-03",
    level: 1,
    statement: "A receiver accepts further attempts of an event it has handled already but whose answer came too late.",
    source: "interface document, section 6, rule 3",
    because: "Refused, the event is retried for days and then reported as lost, although it was handled.",
    expected: (terms) => `each attempt after one that the sender gave up on is answered with ${inWords(terms)}`,
    presupposes: ["R-DUP-01"],
    given: [
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
      )
    ],
    further: [
      makeCase(
        "disturbed",
        "two answers nobody waited for",
        cutNew(accessLog, inAnswer(1)),
        cutAgain(0, inAnswer(1.2)),
        retried(0),
        again(0, retry)
      )
    ],
    judge: everyAttempt
  })
]
