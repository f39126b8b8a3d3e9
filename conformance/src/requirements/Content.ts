/**
 * R-FWD: content that is unknown, or valid but unusual.
 */
import { odd, unusualEvents } from "../history/Domain.ts"
import type { Unusual } from "../history/Domain.ts"
import { accessLog, call, placeholders, noted, withMember, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { filler, makeCase, newEvent, only, state } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { array, object, string } from "../history/Json.ts"
import type { Member } from "../history/Json.ts"
import { single, unknown } from "../history/Samples.ts"
import { all, firstAttempts, storedAsSent } from "../judgement/Judge.ts"
import type { Judge } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Criteria.ts"
import { requirement } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

/** An event and what is unusual about it. */
type Noted = readonly [event: EventTemplate, note: string]

/** Makes a case for each event. */
const each = (...events: ReadonlyArray<Noted>): ReadonlyArray<Case> =>
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

const longNumber: Noted = [
  withUnknown(accessLog, ["serial", "9007199254740993123"]),
  "an unknown number longer than a double"
]
const manyDigits: Noted = [
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

/**
 * Makes the cases of one member's unusual values. The events of a case are sent one by one with nothing else in flight,
 * so that only the value can cause a failure.
 */
const valuesOf = ({ events, kind, member, plain }: Unusual, how = "unusual"): ReadonlyArray<Case> =>
  events.length === 0
    ? []
    : [
        {
          ...makeCase("timing", `${plain.resource_type} with ${how} ${member}`, ...events.map((one) => newEvent(one))),
          because: kind.because
        }
      ]

const oddValues: ReadonlyArray<Case> = [
  // R-ACK-01 tests times, because a receiver may store the same moment in another form.
  ...unusualEvents(false).flatMap((one) => (one.member === "logged_at" ? [] : valuesOf(one))),
  {
    ...state("different events at once", filler(40)),
    because:
      "An event was stored with the data of another request that arrived at the same time. Requests share something that should be separate for each: a global variable, a connection or a prepared statement."
  }
]

const limit =
  "The interface does not promise such values. But a receiver that refuses such a value gets the event again for days, and a receiver that silently changes it stores something else."

/** Values at the limits of JSON and doubles, and times, of which another form may be stored. */
const limits: ReadonlyArray<Case> = only("SHOULD", [
  ...unusualEvents(true)
    .flatMap((one) => valuesOf(one, "extreme"))
    .map((one) => ({ ...one, because: limit })),
  ...unusualEvents(false)
    .filter(({ member }) => member === "logged_at")
    .flatMap((one) => valuesOf(one, "every form of"))
    .map((one) => ({
      ...one,
      because:
        "The same moment in another form is a different string. A receiver that stores another form later shows, exports or compares a time that the controller did not send."
    })),
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
