/**
 * A client that asks before it sends.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-HTTP-03",
  level: 1,
  statement: "An event is acknowledged when its sender asks first with expect: 100-continue.",
  source: "RFC 9110, section 10.1.1",
  because:
    "Clients and proxies send it for bodies they find large. A receiver that answers 417, or nothing, gets none of them.",
  expected: (terms) => `an event sent after expect: 100-continue is answered with ${inWords(terms)} of its last byte`,
  directed: [
    makeCase("state", "an access log after expect: 100-continue", newEvent(accessLog, ["expect"])),
    makeCase("state", "a call after expect: 100-continue", newEvent(call, ["expect"]))
  ],
  check: everyAttemptAcknowledged
})
