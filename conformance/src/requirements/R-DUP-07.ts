/**
 * The same id with another content, which a sender that keeps its word never sends.
 */
import { atMostOnce, storedAsSent } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-DUP-07",
  level: 2,
  strength: "SHOULD",
  statement: "A duplicate with another content is acknowledged and changes nothing: what came first stays.",
  source: "a reading of the interface document, section 6, rule 4",
  because: "An audit log in which a later request rewrites an earlier entry is none.",
  expected: (terms) => `${inWords(terms)}, one effect, and the data of the first attempt`,
  needs: ["effects"],
  provenBy: ["digest"],
  presupposes: ["R-DUP-01", "R-DUP-02"],
  directed: [
    makeCase("state", "an access log again with another name", newEvent(accessLog), again(0, [...retry, "changed"])),
    makeCase("state", "a call again with another status", newEvent(call), again(0, [...retry, "changed"])),
    makeCase(
      "state",
      "another name, then the first again",
      newEvent(accessLog),
      again(0, [...retry, "changed"]),
      again(0, retry)
    )
  ],
  check: (trace, terms) =>
    both(everyAttemptAcknowledged(trace, terms), atMostOnce(trace, terms), storedAsSent(trace, terms))
})
