/**
 * Bodies up to the largest that there are: the data of one event has at most 256 KiB.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { array, object, string } from "../history/RawJson.ts"
import { define } from "./Requirement.ts"

const kibibyte = 1_024

/** What the documented members take, with some room. */
const rest = 1_024

const longText = (kib: number, event: EventTemplate): EventTemplate =>
  noted(withUnknown(event, ["transcript", string("x".repeat(kib * kibibyte - rest))]), `${kib} KiB in one text`)

const entry = object([
  ["at", string("2026-03-02T08:00:00Z")],
  ["state", string("open")]
])

const longList = (kib: number, event: EventTemplate): EventTemplate =>
  noted(
    withUnknown(event, [
      "history",
      array(Array.from({ length: Math.floor((kib * kibibyte - rest) / (entry.length + 1)) }, () => entry))
    ]),
    `${kib} KiB in a list`
  )

export const requirement = define({
  id: "R-HTTP-08",
  level: 1,
  statement: "An event of up to 256 KiB is acknowledged.",
  source: "the largest event data that doorhook publishes: 256 KiB",
  because: "Many frameworks refuse bodies beyond 100 kB (413) or 64 KiB until they are told otherwise.",
  expected: (terms) => `events with data of 17, 65, 101, 129 and 256 KiB are answered with ${inWords(terms)}`,
  directed: [
    ...[17, 33, 65, 101, 129, 200, 256].map((kib) =>
      makeCase("state", `${kib} KiB`, newEvent(longText(kib, accessLog)))
    ),
    makeCase("state", "100 KiB in a list", newEvent(longList(100, call))),
    makeCase("state", "256 KiB in a list, twice", newEvent(longList(256, accessLog)), again(0, retry)),
    makeCase("state", "256 KiB in chunks", newEvent(longText(256, call), ["chunked"])),
    makeCase("state", "256 KiB, then a small one", newEvent(longText(256, accessLog)), newEvent(call))
  ],
  check: everyAttemptAcknowledged
})
