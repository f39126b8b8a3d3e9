/**
 * What is signed is bytes, not what they mean.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, withMember, withUnknown } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { everyPlane } from "../history/Payloads.ts"
import { string } from "../history/RawJson.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-06",
  level: 1,
  profile: "signed",
  statement: "A genuine request is accepted whatever its whitespace, escapes, numbers and order of members.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "A receiver that parses the body and signs what it would have written finds genuine requests forged: for a space, a 1.0, an escaped letter.",
  expected: (terms) => `it is answered with ${inWords(terms)}`,
  needs: ["secret"],
  directed: [
    ...[accessLog, call].flatMap((event) => [
      makeCase("state", `${event.resource_type} with other whitespace`, newEvent(event, ["reencoded"])),
      makeCase("state", `${event.resource_type} with members in another order`, newEvent(event, ["reordered"])),
      makeCase("state", `${event.resource_type} with escaped texts`, newEvent(event, ["escaped"]))
    ]),
    makeCase(
      "state",
      "numbers written otherwise",
      newEvent(
        withUnknown(accessLog, ["reading", "1.0"], ["level", "1e2"], ["zero", "-0"], ["serial", "12345678901234567890"])
      )
    ),
    makeCase("state", "a text in many scripts", newEvent(withMember(accessLog, "name", string(everyPlane)))),
    makeCase(
      "state",
      "signs that some serializers escape",
      newEvent(withMember(accessLog, "name", string("<a/> & \u2028 'b'")))
    )
  ],
  check: everyAttemptAcknowledged
})
