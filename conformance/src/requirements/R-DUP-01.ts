/**
 * What a receiver answers to a duplicate. What it does with one takes a probe to see (level 2).
 */
import { everyDuplicateAcknowledged } from "../checks/Duplicates.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, raceAgain, raceNew, retry } from "../history/History.ts"
import { duplicates } from "../history/Samples.ts"
import type { Requirement } from "./Requirement.ts"

export const requirement: Requirement = {
  id: "R-DUP-01",
  level: 1,
  strength: "MUST",
  statement: "Every further attempt of an event is acknowledged like the first, whatever became of those before it.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "A duplicate comes when an acknowledgement was lost. A receiver that refuses it (409 is a favourite) gets it again until the event counts as failed, although it was handled.",
  expected: (terms) => `every repeated attempt is answered with ${inWords(terms)}`,
  presumesAcknowledgement: true,
  directed: [
    makeCase("state", "the same request twice", newEvent(accessLog), again(0, [])),
    makeCase("state", "two retries", newEvent(accessLog), again(0, retry), again(0, retry)),
    makeCase("state", "a retry over a new connection", newEvent(call), again(0, [...retry, "new_connection"])),
    makeCase("state", "a retry with other whitespace", newEvent(accessLog), again(0, [...retry, "reencoded"])),
    makeCase(
      "state",
      "retries after other events",
      newEvent(accessLog),
      newEvent(call),
      newEvent(accessLog),
      again(0, retry),
      again(1, retry)
    ),
    makeCase("state", "several retries at once", newEvent(accessLog), raceAgain(0, 3)),
    makeCase("state", "a retry after several first attempts at once", raceNew(accessLog, 3), again(0, retry))
  ],
  sampled: duplicates("events that come again among others", 6),
  check: everyDuplicateAcknowledged
}
