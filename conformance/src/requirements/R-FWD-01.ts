/**
 * Room for what is to come. Each kind of unknown is a case of its own, so that the report names it.
 */
import { everyFirstAttemptAcknowledged } from "../checks/FirstAttempts.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withMember, withUnknown } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import type { EventTemplate, Member } from "../history/History.ts"
import { unknown } from "../history/Payloads.ts"
import { object, string } from "../history/RawJson.ts"
import { single } from "../history/Samples.ts"
import type { Requirement } from "./Requirement.ts"

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

const sent = (event: EventTemplate, note: string) => makeCase("state", note, newEvent(noted(event, note)))

export const requirement: Requirement = {
  id: "R-FWD-01",
  level: 1,
  strength: "MUST",
  statement: "An event with unknown members at any depth, or of an unknown type, is acknowledged.",
  source: "interface document, section 2.3: the shape of data depends on the resource type, and lists are not complete",
  because:
    "Hosts add members, and new kinds of events come. A receiver that refuses what it does not know stops working on the day that happens. It may ignore it.",
  expected: (terms) => `an event with something unknown in it is answered with ${inWords(terms)}`,
  presumesAcknowledgement: true,
  directed: [
    sent(withUnknown(accessLog, battery), "an unknown member in data"),
    sent(withUnknown(call, firmware), "an unknown object with a list in data"),
    sent(withMember(call, "unit", unit), "an unknown member inside unit"),
    sent({ ...accessLog, beside_data: [battery] }, "an unknown member beside data"),
    sent({ ...accessLog, beside_event: [firmware] }, "an unknown member beside event"),
    sent(withUnknown(accessLog, ["serial", "9007199254740993123"]), "an unknown number longer than a double"),
    sent({ ...accessLog, resource_type: "intercom_status" }, "an unknown resource type"),
    sent({ ...accessLog, action: "update" }, "an unknown action")
  ],
  sampled: single("state", "events with something unknown", unknown, 10),
  check: everyFirstAttemptAcknowledged
}
