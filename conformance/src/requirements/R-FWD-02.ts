/**
 * Values that are in order but seldom tried. Each is a case of its own, so that the report names it.
 */
import { everyFirstAttemptAcknowledged } from "../checks/FirstAttempts.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withMember, withoutMember } from "../history/Events.ts"
import type { EventTemplate } from "../history/History.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { everyPlane, maxNameLength, odd, rightToLeft } from "../history/Payloads.ts"
import { escapedString, string } from "../history/RawJson.ts"
import { single } from "../history/Samples.ts"
import type { Requirement } from "./Requirement.ts"

const sent = (event: EventTemplate, note: string) => makeCase("state", note, newEvent(noted(event, note)))
const named = (name: string): EventTemplate => withMember(accessLog, "name", name)

export const requirement: Requirement = {
  id: "R-FWD-02",
  level: 1,
  strength: "MUST",
  statement:
    "An event is acknowledged with null or absent optional members, empty and long texts, and texts of any script.",
  source: "interface document, section 2.3; RFC 8259, sections 7 and 8.1",
  because:
    "People have names in every script, and not every door has a camera: each such event would be refused for days.",
  expected: (terms) => `an event with such values is answered with ${inWords(terms)}`,
  presumesAcknowledgement: true,
  directed: [
    sent(withMember(accessLog, "image_url", "null"), "image_url null"),
    sent(withoutMember(accessLog, "image_url"), "without image_url"),
    sent(withMember(withMember(call, "unit", "null"), "image_url", "null"), "unit and image_url null"),
    sent(withoutMember(withoutMember(call, "unit"), "image_url"), "without unit and image_url"),
    sent(named(string("")), "an empty name"),
    sent(named(string("n".repeat(maxNameLength))), `a name of ${maxNameLength} characters`),
    sent(named(string(rightToLeft)), "a name right to left"),
    sent(named(string(everyPlane)), "a name with characters of every Unicode plane"),
    sent(named(escapedString(everyPlane)), "the same name, every character escaped"),
    sent(named(string("Zoe\u0308 Garci\u0301a")), "a name with combining accents")
  ],
  sampled: single("state", "events with unusual values", odd, 12),
  check: everyFirstAttemptAcknowledged
}
