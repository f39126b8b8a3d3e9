/**
 * Questions must not be answered with deeds.
 */
import { exactlyOnce, noPhantom } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, methods, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-GET-01",
  level: 1,
  statement: "GET, HEAD and OPTIONS on the URL have no effect, and leave the event they mention to its POST.",
  source: "RFC 9110, section 9.2.1",
  because: "Browsers, previews, scanners and monitors ask for every URL they see. A door must not open for them.",
  expected: (terms) => `no effect of such a request; the POST after it is answered with ${inWords(terms)} and has one`,
  provenBy: ["effects"],
  directed: methods.flatMap((method) => [
    makeCase("disturbed", `${method} about an event that is never sent`, {
      k: "method_new",
      event: accessLog,
      method,
      with_body: false
    }),
    makeCase(
      "disturbed",
      `${method} with an event's body`,
      { k: "method_new", event: accessLog, method, with_body: true },
      newEvent(call)
    ),
    makeCase(
      "disturbed",
      `${method} before an event is sent`,
      { k: "method_new", event: call, method, with_body: true },
      again(0, []),
      again(0, retry)
    ),
    makeCase(
      "disturbed",
      `${method} after an event was sent`,
      newEvent(accessLog),
      { k: "method_again", ref: 0, method, with_body: true },
      again(0, retry)
    )
  ]),
  check: (trace, terms) =>
    both(everyAttemptAcknowledged(trace, terms), noPhantom(trace, terms), exactlyOnce(trace, terms))
})
