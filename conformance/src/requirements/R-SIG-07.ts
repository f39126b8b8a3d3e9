/**
 * A retry with a timestamp and signature of its own.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-07",
  level: 1,
  profile: "signed",
  statement: "A retry that is stamped and signed anew is acknowledged.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "Each attempt has its own timestamp. A receiver that keeps the signature of the first to know duplicates by refuses the others.",
  expected: (terms) => `it is answered with ${inWords(terms)}`,
  needs: ["secret"],
  directed: [accessLog, call].flatMap((event) => [
    makeCase("state", `a retry of ${event.resource_type}`, newEvent(event), again(0, retry), again(0, retry)),
    makeCase("state", `a retry of ${event.resource_type} a minute later`, newEvent(event, ["aged"]), again(0, retry))
  ]),
  check: everyAttemptAcknowledged
})
