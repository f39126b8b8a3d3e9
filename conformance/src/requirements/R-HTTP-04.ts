/**
 * Header names in any case.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import type { EventTemplate, Variation } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

const sent = (how: Variation, title: string, event: EventTemplate) =>
  makeCase(
    "state",
    `${event.resource_type} events with header names ${title}`,
    newEvent(event, [how]),
    again(0, [...retry, how])
  )

export const requirement = define({
  id: "R-HTTP-04",
  level: 1,
  statement: "An event is acknowledged whatever the case of its header names.",
  source: "RFC 9110, section 5.1",
  because: "Header names have no case. A proxy may change it; a receiver that looks for one spelling then finds no id.",
  expected: (terms) => `an event with header names in upper or title case is answered with ${inWords(terms)}`,
  presupposes: ["R-DUP-01"],
  directed: [accessLog, call].flatMap((event) => [
    sent("upper_headers", "in upper case", event),
    sent("title_headers", "in title case", event)
  ]),
  check: everyAttemptAcknowledged
})
