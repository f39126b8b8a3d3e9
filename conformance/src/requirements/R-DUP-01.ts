/**
 * What a receiver answers to a duplicate. What it does with one takes a probe to see (level 2).
 */
import { everyDuplicateAcknowledged } from "../checks/Duplicates.ts"
import { inWords } from "../checks/Terms.ts"
import { duplicates } from "../history/Samples.ts"
import { repeatedCases } from "./Repeated.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-DUP-01",
  level: 1,
  statement: "Every further attempt of an event is acknowledged like the first, whatever became of those before it.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "A duplicate comes when an acknowledgement was lost. A receiver that refuses it (409 is a favourite) gets it again until the event counts as failed, although it was handled.",
  expected: (terms) =>
    `every repeated attempt is answered with ${inWords(terms)}; of several at once some may be refused (R-DUP-04)`,
  directed: repeatedCases,
  sampled: duplicates("events that come again among others", 6),
  check: everyDuplicateAcknowledged
})
