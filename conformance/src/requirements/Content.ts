/**
 * R-FWD: content that is unknown, or valid but unusual.
 */
import { accessLog, call, placeholders, noted, withMember, withoutMember, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { filler, makeCase, newEvent, only, state } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { array, escapedString, object, string } from "../history/Json.ts"
import type { Member } from "../history/Json.ts"
import { everyPlane, maxNameLength, odd, rightToLeft, single, unknown, unseen } from "../history/Samples.ts"
import { all, firstAttempts, storedAsSent } from "../judgement/Judge.ts"
import type { Judge } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Criteria.ts"
import { requirement } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

/** An event and what is unusual about it. */
type Unusual = readonly [event: EventTemplate, note: string]

/** Makes a case for each event. */
const each = (...events: ReadonlyArray<Unusual>): ReadonlyArray<Case> =>
  events.map(([event, note]) => state(note, newEvent(noted(event, note))))

const battery: Member = ["battery_level", "87"]
const firmware: Member = [
  "firmware",
  object([
    ["version", string("4.1.0")],
    ["channels", "[1,2,[3]]"]
  ])
]
const unit = object([
  ["id", "7"],
  ["label", string("4B")],
  ["floor", "4"]
])

const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${"}]".repeat(levels / 2)}`

const longNumber: Unusual = [
  withUnknown(accessLog, ["serial", "9007199254740993123"]),
  "an unknown number longer than a double"
]
const manyDigits: Unusual = [
  withUnknown(accessLog, ["reading", "-12345678901234567890.12345678901234567890e-3"]),
  "an unknown number of many digits"
]

const unknownMembers: ReadonlyArray<Case> = each(
  [withUnknown(accessLog, battery), "an unknown member in data"],
  [withUnknown(call, firmware), "an unknown object with a list in data"],
  [withMember(call, "unit", unit), "an unknown member inside unit"],
  [{ ...accessLog, beside_data: [battery] }, "an unknown member beside data"],
  [{ ...accessLog, beside_event: [firmware] }, "an unknown member beside event"],
  longNumber,
  [
    withUnknown(accessLog, ["notes", string("long ".repeat(4_000))], ["tree", nested(48)]),
    "an unknown text of 20,000 characters and a value 48 levels deep"
  ]
)

const moreUnknownMembers: ReadonlyArray<Case> = each(
  manyDigits,
  [withUnknown(accessLog, ["reading", "1e300"]), "an unknown number near the end of a double's range"],
  [withUnknown(call, ["tree", nested(48)]), "an unknown value 48 levels deep"],
  [
    withUnknown(accessLog, ["tags", array(Array.from({ length: 2_000 }, (_, at) => String(at)))]),
    "an unknown list of 2,000 elements"
  ],
  [
    withUnknown(accessLog, ...Array.from({ length: 300 }, (_, at): Member => [`extra_${at}`, "null"])),
    "300 unknown members"
  ],
  [
    withUnknown(accessLog, ["", "0"], ["a.b", "1"], ["$ref", string("#/a")], ["@type", string("x")]),
    "unknown members with odd names"
  ],
  [
    withUnknown(accessLog, ["Name", string("Door 2")], ["ID", "1"]),
    "unknown members whose names differ from known ones only in case"
  ],
  [
    withUnknown(accessLog, ["event", object([["resource_type", string("call")]])], ["data", "{}"]),
    "members called event and data inside data"
  ]
)

/** Members whose names make some parsers refuse the body, as a guard against prototype pollution. */
const dangerousMembers: ReadonlyArray<Case> = each(
  [withUnknown(accessLog, ["__proto__", object([["admin", "true"]])]), "an unknown member called __proto__"],
  [withUnknown(call, ["constructor", object([["prototype", "{}"]])]), "an unknown member called constructor"]
)

/**
 * Events of unknown types and actions. Acknowledging them is a SHOULD: no binding selects them, so doorhook never sends
 * them today.
 */
const unknownKinds: ReadonlyArray<Case> = each(
  [{ ...accessLog, resource_type: "intercom_status" }, "an unknown resource type"],
  [{ ...accessLog, resource_type: "door.forced:v2/alarm" }, "an unknown resource type with other characters"],
  [{ ...accessLog, resource_type: "intercom_status", data: [] }, "an unknown resource type with empty data"],
  [
    { ...accessLog, resource_type: "visit", data: [["id", placeholders.guid]] },
    "an unknown resource type whose id is a text"
  ],
  [{ ...accessLog, action: "update" }, "an unknown action"],
  [{ ...call, action: "delete" }, "an unknown action of a call"]
).map((one) => ({
  ...one,
  because:
    "No binding selects such an event today. But an event of a kind added later, or one sent by mistake, would be retried for days. Acknowledge events that you do not handle."
}))

const named = (name: string): EventTemplate => withMember(accessLog, "name", name)

/** Returns a call with this unit or panel. */
const callWith = (member: "unit" | "panel", id: string, labelled: "label" | "name", text: string): EventTemplate =>
  withMember(
    call,
    member,
    object([
      ["id", id],
      [labelled, string(text)]
    ])
  )

/**
 * Makes a case of events with unusual values of one kind. The events are sent one by one with nothing else in flight,
 * so that only the value can cause a failure.
 */
const values = (title: string, because: string, ...events: ReadonlyArray<Unusual>): Case => ({
  ...makeCase("timing", title, ...events.map(([event, note]) => newEvent(noted(event, note)))),
  because
})

const people =
  "People have names in every script. A receiver that can't handle them refuses such events for days, or stores them incorrectly."

const oddValues: ReadonlyArray<Case> = [
  values(
    "access logs with image_url null or absent",
    "Not every door has a camera. A receiver that refuses such an event gets it again for days.",
    [withMember(accessLog, "image_url", "null"), "image_url null"],
    [withoutMember(accessLog, "image_url"), "without image_url"],
    [withMember(accessLog, "image_url", string("")), "an empty image_url"]
  ),
  values(
    "calls with unit and image_url null or absent",
    "Not every panel has a camera, and not every call is for a unit. A receiver that refuses such an event gets it again for days.",
    [withMember(withMember(call, "unit", "null"), "image_url", "null"), "unit and image_url null"],
    [withoutMember(withoutMember(call, "unit"), "image_url"), "without unit and image_url"]
  ),
  values(
    "names of any script",
    people,
    [named(string(rightToLeft)), "a right-to-left name"],
    [named(string(everyPlane)), "a name with characters of every Unicode plane"],
    [named(string("Zoe\u0308 Garci\u0301a")), "a name with combining accents"],
    [named(string("Zo\u00eb Garc\u00eda")), "the same name with composed accents"],
    [named(string(unseen)), "a name with U+2028, U+2029, U+FEFF, U+00A0 and U+200B inside"],
    [named(escapedString(everyPlane)), "a name with characters of every Unicode plane, each escaped"]
  ),
  values(
    "names with quotes, markup and line breaks",
    "Quotes, markup and line breaks in a name are text. A receiver that puts them into SQL, HTML or CSV unescaped, or removes them, stores another name, or does worse.",
    [
      named(string('O\'Neill "Bob"; DROP TABLE doors; -- %s {{7*7}} <b>&amp;</b> C:\\temp')),
      "a name full of quotes and markup"
    ],
    [named(string("line one\nline two\r\nline three\ttab")), "a name with line breaks and a tab"]
  ),
  values(
    "names that look like numbers, null or true",
    "A string stays a string, whatever it looks like. A receiver that turns it into a number, a date or null stores something else.",
    [named(string("")), "an empty name"],
    [named(string("007")), "a name of digits with leading zeros"],
    [named(string("1e5")), "a name that reads like a number"],
    [named(string("1234567890123456789012345")), "a name of 25 digits"],
    [named(string("null")), "a name that reads null"],
    [named(string("true")), "a name that reads true"],
    [named(string("  Dana   Whitfield ")), "a name with leading, inner and trailing spaces"]
  ),
  values(
    "long texts",
    "Names and image URLs can be too long for a database column that fits usual texts. A receiver with such a column refuses the event for days, or cuts its texts.",
    [named(string("n".repeat(maxNameLength))), `a name of ${maxNameLength} characters`],
    [named(string("\u{1f511}".repeat(maxNameLength))), `a name of ${maxNameLength} characters of four bytes`],
    [
      withMember(accessLog, "image_url", string(`https://images.example.com/${"s".repeat(1_900)}`)),
      "an image_url of 1,927 characters"
    ]
  ),
  values(
    "large ids of access logs",
    "Some day, new ids no longer fit into 32 bits. From then on, a receiver with 32-bit ids refuses every event, or stores it under another id.",
    [withMember(accessLog, "id", placeholders.longId), "an id beyond 32 bits"],
    [withMember(accessLog, "access_point", "4294967301"), "an access point beyond 32 bits"],
    [withMember(accessLog, "access_point", "9007199254740991"), "an access point of 2^53 - 1"],
    [withMember(accessLog, "access_point", "0"), "an access point 0"]
  ),
  values(
    "calls with large ids and labels of any script",
    people,
    [withMember(call, "id", placeholders.longId), "a call's id beyond 32 bits"],
    [callWith("unit", "4294967301", "label", "4B"), "a unit's id beyond 32 bits"],
    [callWith("panel", "4294967301", "name", "Main entrance"), "a panel's id beyond 32 bits"],
    [
      callWith("unit", "7", "label", "Gärtnerhaus, 2. Stock links, Tür 字"),
      "a unit's label that is long and in any script"
    ],
    [callWith("panel", "311", "name", everyPlane), "a panel's name with characters of every Unicode plane"]
  ),
  values(
    "values that the interface does not list",
    "The interface lists only examples of these values, and hosts have others. A receiver that refuses such an event gets it again for days.",
    [withMember(accessLog, "entry_method", string("face_recognition_v2")), "another entry_method"],
    [withMember(accessLog, "release_status", string("Denied: anti-passback")), "another release_status"]
  ),
  values(
    "values of calls that the interface does not list",
    "The interface lists only examples of these values, and hosts have others. A receiver that refuses such an event gets it again for days.",
    [withMember(call, "notification_type", string("maintenance_request")), "another notification_type"],
    [withMember(call, "status", string("forwarded_to_concierge")), "another status"]
  ),
  {
    ...state("different events at once", filler(40)),
    because:
      "An event was stored with the data of another request that arrived at the same time. Requests share something that should be separate for each: a global variable, a connection or a prepared statement."
  }
]

const limit =
  "The interface does not promise such values. But a receiver that refuses such a value gets the event again for days, and a receiver that silently changes it stores something else."

/** Values at the limits of JSON and doubles. Accepting them is a SHOULD. */
const limits: ReadonlyArray<Case> = only("SHOULD", [
  values(
    "an access point beyond 2^53",
    limit,
    [withMember(accessLog, "access_point", "9007199254740993"), "an access point of 2^53 + 1"],
    [withMember(accessLog, "access_point", "9223372036854775807"), "an access point of 2^63 - 1"]
  ),
  values("a name of 1,000 characters", limit, [named(string("n".repeat(1_000))), "a name of 1,000 characters"]),
  values("a name with U+0000, escaped", limit, [named('"Dana\\u0000Whitfield"'), "a name with U+0000, escaped"]),
  values(
    "times in other forms of ISO 8601",
    "The same moment in another form is a different string. A receiver that stores another form later shows, exports or compares a time that the controller did not send.",
    ...["2026-03-02T08:00:00Z", "2026-03-02T08:00:00.123456Z", "2026-03-02T08:00:00+00:00"].map((time): Unusual => [
      withMember(accessLog, "logged_at", string(time)),
      `logged_at ${time}`
    ])
  ),
  ...each(longNumber, manyDigits).map((one) => ({ ...one, because: limit }))
])

/**
 * Requires that first attempts are acknowledged and that the stored data, if the probe gives its digest, is what was
 * sent.
 */
const answeredAndStored: Judge = (trace, criteria) => {
  // R-ACK-01 judges whether ordinary events are acknowledged.
  const isOrdinary = trace.effects.length > 0 && trace.history.ops.every(({ k }) => k === "filler")
  return isOrdinary ? storedAsSent(trace, criteria) : all(firstAttempts, storedAsSent)(trace, criteria)
}

export const contentRequirements: ReadonlyArray<Requirement> = [
  requirement("R-FWD-01", 1, {
    statement: "An event with unknown members at any depth is acknowledged.",
    source:
      "interface document, section 2.3: the shape of data depends on the resource type, and lists are not complete; types and actions: section 6.1",
    because:
      "Hosts may add members to events at any time. A receiver that refuses unknown members then stops working. It may ignore such members.",
    expected: (criteria) => `an event with unknown content is answered with ${inWords(criteria)}`,
    given: unknownMembers,
    further: [...moreUnknownMembers, ...unknownKinds, ...only("SHOULD", dangerousMembers)],
    sampled: single("state", "events with unknown content", unknown, 10),
    judge: firstAttempts
  }),
  requirement("R-FWD-02", 1, {
    statement:
      "An event is acknowledged and stored as sent with null or absent optional members, empty and long texts, and texts of any script.",
    source: "interface document, section 2.3; RFC 8259, sections 7 and 8.1",
    because:
      "People have names in every script, and not every door has a camera. A receiver that refuses such an event gets it again for days.",
    expected: (criteria) =>
      `an event with such values is answered with ${inWords(criteria)}, and what is stored is what was sent`,
    provenBy: ["digest"],
    given: oddValues,
    further: limits,
    sampled: single("timing", "events with unusual values", odd, 12),
    judge: answeredAndStored
  })
]
