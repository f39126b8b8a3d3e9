/**
 * A body that comes in chunks, without content-length.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-HTTP-01",
  level: 1,
  statement: "An event is acknowledged when its body comes in chunks, without a length.",
  source: "RFC 9112, section 7.1",
  because:
    "Proxies in between re-frame requests. A receiver that insists on content-length (411) hears nothing through them; one that takes a body without it for an empty one has nothing of what it hears.",
  expected: (terms) => `an event sent in chunks is answered with ${inWords(terms)}`,
  directed: [
    makeCase("state", "an access log in chunks", newEvent(accessLog, ["chunked"])),
    makeCase("state", "a call in chunks", newEvent(call, ["chunked"]))
  ],
  check: everyAttemptAcknowledged
})
