/**
 * Two secrets during a rotation.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-05",
  level: 1,
  profile: "signed",
  statement: "Of several signatures one good one is enough, wherever it stands.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "While a secret is rotated, each request carries a signature by the old and one by the new. A receiver that reads the first alone stops working then.",
  expected: (terms) => `it is answered with ${inWords(terms)}`,
  needs: ["secret"],
  directed: [accessLog, call].flatMap((event) => [
    makeCase("state", `${event.resource_type} with the good signature last`, newEvent(event, ["signature_last"])),
    makeCase("state", `${event.resource_type} with the good signature first`, newEvent(event, ["signature_first"])),
    makeCase(
      "state",
      `${event.resource_type} with unknown versions around`,
      newEvent(event, ["signature_among_unknown"])
    )
  ]),
  check: everyAttemptAcknowledged
})
