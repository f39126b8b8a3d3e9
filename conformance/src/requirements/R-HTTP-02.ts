/**
 * A body that comes slowly, as over a bad mobile link.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-HTTP-02",
  level: 1,
  statement: "An event is acknowledged when its body comes slowly but within the deadline.",
  source: "RFC 9112, section 9.5",
  because: "Half a second between first and last byte is nothing unusual between continents.",
  expected: (terms) => `an event that comes in small pieces over half a second is answered with ${inWords(terms)}`,
  directed: [
    makeCase("state", "an access log slowly", newEvent(accessLog, ["slow"])),
    makeCase("state", "a call slowly", newEvent(call, ["slow"]))
  ],
  check: everyAttemptAcknowledged
})
