/**
 * Bodies up to the largest that there are: the data of one event has at most 256 KiB.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/History.ts"
import { again, makeCase, minted, newEvent, retry } from "../history/History.ts"
import { array, object, string } from "../history/RawJson.ts"
import { define } from "./Requirement.ts"

const kibibyte = 1_024

const longest: Readonly<Record<string, string>> = {
  [minted.id]: "2000000000",
  [minted.guid]: string("5f0c2a91-77d1-4e0b-a3f2-0c2a9177d1e0"),
  [minted.now]: string("2026-03-02T08:00:00.000Z")
}

/** What the data of an event takes at most once it is minted, in bytes. */
const sizeOf = ({ data }: EventTemplate): number =>
  Buffer.byteLength(object(data.map(([name, value]) => [name, longest[value] ?? value])))

/** The event with a text that makes its data so long: to the byte, or one less where its id is short. */
const longText = (kib: number, event: EventTemplate): EventTemplate => {
  const left = kib * kibibyte - sizeOf(withUnknown(event, ["transcript", string("")]))
  return noted(withUnknown(event, ["transcript", string("x".repeat(left))]), `${kib} KiB in one text`)
}

const entry = object([
  ["at", string("2026-03-02T08:00:00Z")],
  ["state", string("open")]
])

/** What the documented members take, with some room. */
const rest = 1_024

const longList = (kib: number, event: EventTemplate): EventTemplate =>
  noted(
    withUnknown(event, [
      "history",
      array(Array.from({ length: Math.floor((kib * kibibyte - rest) / (entry.length + 1)) }, () => entry))
    ]),
    `${kib} KiB in a list`
  )

/** Each is above a limit that is in use, in KiB; the last is the most there is. */
const sizes = [11, 17, 33, 65, 101, 129, 200, 256]

export const requirement = define({
  id: "R-HTTP-08",
  level: 1,
  statement: "An event whose data has up to 256 KiB is acknowledged.",
  source: "the largest event data that doorhook publishes: 256 KiB",
  because:
    "Hosts put into data what they like, up to 256 KiB, and the body is a little longer than its data. Many frameworks refuse bodies (413) beyond a limit of their own, such as 64 KiB or 100 kB, until they are told otherwise: a large event is refused at every retry, and lost.",
  expected: (terms) => `events with data of ${sizes.join(", ")} KiB are answered with ${inWords(terms)}`,
  presupposes: ["R-DUP-01"],
  directed: [
    ...sizes.map((kib) => makeCase("state", `${kib} KiB`, newEvent(longText(kib, accessLog)))),
    makeCase("state", "100 KiB in a list", newEvent(longList(100, call))),
    makeCase("state", "256 KiB in a list, twice", newEvent(longList(256, accessLog)), again(0, retry)),
    makeCase("state", "256 KiB in chunks", newEvent(longText(256, call), ["chunked"])),
    makeCase("state", "256 KiB, then a small one", newEvent(longText(256, accessLog)), newEvent(call))
  ],
  check: everyAttemptAcknowledged
})
