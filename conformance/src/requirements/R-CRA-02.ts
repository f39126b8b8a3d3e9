/**
 * A crash between two steps that should have been one.
 */
import { retriedAfterCrash } from "../checks/Crashes.ts"
import { both } from "../checks/Finding.ts"
import { startsAgain } from "../checks/StartsAgain.ts"
import { inWords } from "../checks/Terms.ts"
import { crashCases } from "./Crashing.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-CRA-02",
  level: 3,
  statement: "An event that a crash interrupted is acknowledged when it comes again, and has one effect.",
  source: "interface document, section 6, rules 3 and 4",
  because:
    "If the note «seen» and the effect are not one transaction, a crash between them leaves one without the other: the event is lost, or done twice.",
  expected: (terms) => `the retry after the crash is answered with ${inWords(terms)}, and there is one effect`,
  needs: ["effects", "stop"],
  provenBy: ["kill"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: crashCases,
  check: (trace, terms) => both(retriedAfterCrash(trace, terms), startsAgain(trace))
})
