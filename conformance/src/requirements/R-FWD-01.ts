/**
 * Room for what is to come. Each kind of unknown is a case of its own, so that the report names it.
 */
import { everyFirstAttemptAcknowledged } from "../checks/FirstAttempts.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withMember, withUnknown } from "../history/Events.ts"
import { makeCase, minted, newEvent } from "../history/History.ts"
import type { EventTemplate, Member } from "../history/History.ts"
import { unknown } from "../history/Payloads.ts"
import { array, object, string } from "../history/RawJson.ts"
import { single } from "../history/Samples.ts"
import { define } from "./Requirement.ts"

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

const sent = (event: EventTemplate, note: string) => makeCase("state", note, newEvent(noted(event, note)))

export const requirement = define({
  id: "R-FWD-01",
  level: 1,
  statement: "An event with unknown members at any depth, or of an unknown type, is acknowledged.",
  source: "interface document, section 2.3: the shape of data depends on the resource type, and lists are not complete",
  because:
    "Hosts add members, and new kinds of events come. A receiver that refuses what it does not know stops working on the day that happens. It may ignore it.",
  expected: (terms) => `an event with something unknown in it is answered with ${inWords(terms)}`,
  directed: [
    sent(withUnknown(accessLog, battery), "an unknown member in data"),
    sent(withUnknown(call, firmware), "an unknown object with a list in data"),
    sent(withMember(call, "unit", unit), "an unknown member inside unit"),
    sent({ ...accessLog, beside_data: [battery] }, "an unknown member beside data"),
    sent({ ...accessLog, beside_event: [firmware] }, "an unknown member beside event"),
    sent(withUnknown(accessLog, ["serial", "9007199254740993123"]), "an unknown number longer than a double"),
    sent(
      withUnknown(accessLog, ["reading", "-12345678901234567890.12345678901234567890e-3"]),
      "an unknown number of many digits"
    ),
    sent(withUnknown(accessLog, ["reading", "1e300"]), "an unknown number near the end of a double's range"),
    sent(withUnknown(accessLog, ["tree", nested(48)]), "an unknown value 48 levels deep"),
    sent(withUnknown(accessLog, ["notes", string("long ".repeat(4_000))]), "an unknown text of 20,000 characters"),
    sent(
      withUnknown(accessLog, ["tags", array(Array.from({ length: 2_000 }, (_, at) => String(at)))]),
      "an unknown list of 2,000"
    ),
    sent(
      withUnknown(accessLog, ...Array.from({ length: 300 }, (_, at): Member => [`extra_${at}`, "null"])),
      "300 unknown members"
    ),
    sent(
      withUnknown(accessLog, ["", "0"], ["a.b", "1"], ["$ref", string("#/a")], ["@type", string("x")]),
      "unknown members with odd names"
    ),
    sent(
      withUnknown(accessLog, ["event", object([["resource_type", string("call")]])], ["data", "{}"]),
      "members called event and data inside data"
    ),
    sent({ ...accessLog, resource_type: "intercom_status" }, "an unknown resource type"),
    sent({ ...accessLog, resource_type: "door.forced:v2/alarm" }, "an unknown resource type with other characters"),
    sent({ ...accessLog, resource_type: "intercom_status", data: [] }, "an unknown resource type with empty data"),
    sent(
      { ...accessLog, resource_type: "visit", data: [["id", minted.guid]] },
      "an unknown resource type whose id is a text"
    ),
    sent({ ...accessLog, action: "update" }, "an unknown action"),
    sent({ ...call, action: "delete" }, "an unknown action of a call")
  ],
  sampled: single("state", "events with something unknown", unknown, 10),
  check: everyFirstAttemptAcknowledged
})
