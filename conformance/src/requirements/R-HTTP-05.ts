/**
 * Content types that mean the same.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-HTTP-05",
  level: 1,
  statement: "An event is acknowledged when its content type has a parameter or another case.",
  source: "RFC 9110, section 8.3.1",
  because: "A receiver that compares the header with one text refuses (415) what means the same.",
  expected: (terms) => `application/json; charset=utf-8 and Application/JSON are answered with ${inWords(terms)}`,
  directed: [accessLog, call].flatMap((event) => [
    makeCase("state", `${event.resource_type} with a charset`, newEvent(event, ["content_type_charset"])),
    makeCase("state", `${event.resource_type} in another case`, newEvent(event, ["content_type_case"]))
  ]),
  check: everyAttemptAcknowledged
})
