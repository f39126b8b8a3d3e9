/**
 * Copies that overtake each other. The check whether an event is known and the note that it is must be one step.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { copiesAnswered, lastAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent, raceAgain, raceNew, retried, volleys } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-DUP-04",
  level: 1,
  statement:
    "Copies of an event that come at once have one effect; each is acknowledged or refused at once, and a later retry is acknowledged.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "A sender that lost the answer tries again while the first attempt may still run, perhaps on another process of the receiver. Looking first and noting later lets both through.",
  expected: (terms) =>
    `every copy is answered in time, the retry after them with ${inWords(terms)}, and the probe counts one effect`,
  provenBy: ["effects"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    ...[2, 3, 4, 8, 12, 16].flatMap((copies) => [
      makeCase("state", `${copies} copies of a new access log at once`, raceNew(accessLog, copies), retried(0)),
      makeCase("state", `${copies} copies of a new call at once`, raceNew(call, copies), retried(0))
    ]),
    makeCase("state", "16 copies of an event that is known", newEvent(accessLog), raceAgain(0, 16), retried(0)),
    makeCase("state", "two races for one event", raceNew(accessLog, 8), raceAgain(0, 8), retried(0))
  ],
  // Together with the events ahead of them, no more than doorhook sends to one integration at once.
  directedWithEffects: [
    makeCase("load", "races to the last byte, 6 copies each", volleys(call, 6, 12)),
    makeCase("load", "races to the last byte, 2 copies each", volleys(accessLog, 2, 12))
  ],
  check: (trace, terms) =>
    both(copiesAnswered(trace, terms), lastAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms))
})
