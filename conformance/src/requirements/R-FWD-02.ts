/**
 * Values that are in order but seldom tried. Each is a case of its own, so that the report names it.
 */
import { storedAsSent } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { everyFirstAttemptAcknowledged } from "../checks/FirstAttempts.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withMember, withoutMember } from "../history/Events.ts"
import type { Case, EventTemplate } from "../history/History.ts"
import { makeCase, minted, newEvent } from "../history/History.ts"
import { everyPlane, maxNameLength, odd, rightToLeft, unseen } from "../history/Payloads.ts"
import { escapedString, object, string } from "../history/RawJson.ts"
import { single } from "../history/Samples.ts"
import { define } from "./Requirement.ts"

const sent = (event: EventTemplate, note: string) => makeCase("state", note, newEvent(noted(event, note)))
/** A call of a unit or at a panel. */
const callWith = (member: "unit" | "panel", id: string, labelled: "label" | "name", text: string): EventTemplate =>
  withMember(
    call,
    member,
    object([
      ["id", id],
      [labelled, string(text)]
    ])
  )
const named = (name: string): EventTemplate => withMember(accessLog, "name", name)

/** Each kind of value is a case of its own. Shared with what looks at their effects. */
export const oddCases: ReadonlyArray<Case> = [
  sent(withMember(accessLog, "image_url", "null"), "image_url null"),
  sent(withoutMember(accessLog, "image_url"), "without image_url"),
  sent(withMember(withMember(call, "unit", "null"), "image_url", "null"), "unit and image_url null"),
  sent(withoutMember(withoutMember(call, "unit"), "image_url"), "without unit and image_url"),
  sent(named(string("")), "an empty name"),
  sent(named(string("n".repeat(maxNameLength))), `a name of ${maxNameLength} characters`),
  sent(named(string(rightToLeft)), "a name right to left"),
  sent(named(string(everyPlane)), "a name with characters of every Unicode plane"),
  sent(named(escapedString(everyPlane)), "the same name, every character escaped"),
  sent(named(string(unseen)), "a name with U+2028, U+2029, U+FEFF, U+00A0 and U+200B inside"),
  sent(named(escapedString(unseen)), "the same characters inside a name, every one escaped"),
  sent(named(string("Zoe\u0308 Garci\u0301a")), "a name with combining accents"),
  sent(named(string('O\'Neill "Bob"; DROP TABLE doors; -- %s {{7*7}} <b>&amp;</b> C:\\temp')), "a name full of quotes"),
  sent(named(string("line one\nline two\ttab")), "a name with a line break and a tab"),
  sent(named(string("1234567890123456789012345")), "a name of digits"),
  sent(named(string("null")), "a name that reads null"),
  sent(named(string("true")), "a name that reads true"),
  sent(named(string("  Dana   Whitfield ")), "a name with spaces before, inside and behind"),
  sent(withMember(accessLog, "id", minted.longId), "an id beyond 32 bits"),
  sent(withMember(call, "id", minted.longId), "a call's id beyond 32 bits"),
  sent(withMember(accessLog, "access_point", "4294967301"), "an access point beyond 32 bits"),
  sent(withMember(accessLog, "access_point", "9007199254740991"), "an access point of 2^53 - 1"),
  sent(withMember(accessLog, "access_point", "0"), "an access point 0"),
  sent(callWith("unit", "4294967301", "label", "4B"), "a unit's id beyond 32 bits"),
  sent(callWith("panel", "4294967301", "name", "Main entrance"), "a panel's id beyond 32 bits"),
  sent(
    callWith("unit", "7", "label", "Gärtnerhaus, 2. Stock links, Tür 字"),
    "a unit's label that is long and in any script"
  ),
  sent(
    withMember(accessLog, "image_url", string(`https://images.example.com/${"s".repeat(1_900)}`)),
    "an image_url of 1,927 characters"
  ),
  sent(withMember(accessLog, "image_url", string("")), "an empty image_url"),
  sent(withMember(accessLog, "entry_method", string("face_recognition_v2")), "an entry_method of the future"),
  sent(withMember(accessLog, "release_status", string("Denied: anti-passback")), "another release_status"),
  sent(withMember(call, "notification_type", string("maintenance_request")), "a notification_type of the future"),
  sent(withMember(call, "status", string("forwarded_to_concierge")), "another status")
]

export const requirement = define({
  id: "R-FWD-02",
  level: 1,
  statement:
    "An event is acknowledged and stored as sent with null or absent optional members, empty and long texts, and texts of any script.",
  source: "interface document, section 2.3; RFC 8259, sections 7 and 8.1",
  because:
    "People have names in every script, and not every door has a camera: each such event would be refused for days.",
  expected: (terms) =>
    `an event with such values is answered with ${inWords(terms)}, and what is stored is what was sent`,
  provenBy: ["digest"],
  directed: oddCases,
  sampled: single("state", "events with unusual values", odd, 12),
  check: (trace, terms) => {
    const answers = everyFirstAttemptAcknowledged(trace, terms)
    return trace.effects.length === 0 ? answers : both(answers, storedAsSent(trace, terms))
  }
})
