/**
 * The declared peak, and a burst above it, judged by when each event was due.
 */
import { everyLoadedAttempt } from "../checks/UnderLoad.ts"
import { inWords } from "../checks/Terms.ts"
import { makeCase } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-ACK-05",
  level: 1,
  profile: "load",
  statement:
    "At the declared peak rate every event is acknowledged, 99.9 % of them within 5 seconds of when they were due.",
  source: "interface document, section 6, rule 3, and section 8",
  because:
    "When a controller comes back after an outage, or a shift begins, everything comes at once. A receiver that falls behind then gets each event several times, and falls behind further.",
  expected: (terms) => `every event at the peak rate is answered with ${inWords(terms)}, counted from when it was due`,
  needs: ["rate"],
  directed: [
    makeCase("load", "the declared peak rate", { k: "load", factor: 1, ms: 8_000 }),
    makeCase("load", "a burst of five times the peak rate", { k: "load", factor: 5, ms: 1_000 })
  ],
  check: everyLoadedAttempt
})
