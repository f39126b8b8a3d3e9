/**
 * Receivers that take two events for one.
 */
import type { Delivery } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import type { Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const knownBy =
  (key: (delivery: Delivery) => string): Change =>
  () => ({ identify: key })

const dataId = ({ event }: Delivery): unknown => event.data["id"]

const contentOf = ({ event: { data, resource_type } }: Delivery): string => {
  const { guid: _guid, id: _id, logged_at: _at, ...rest } = data
  return JSON.stringify([resource_type, rest])
}

/** As `String.hashCode` of Java. */
const stringHash = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}

export const identityFaults: ReadonlyArray<Fault> = faults(2)(
  [
    "case-folded-ids",
    "R-NEW-01",
    "Compares ids without regard to case, as a database's collation does.",
    knownBy(({ id }) => id.toLowerCase())
  ],
  [
    "cut-ids",
    "R-NEW-01",
    "Keeps the first 30 characters of an id, in a column too short for it.",
    knownBy(({ id }) => id.slice(0, Math.min(30, id.length - 1)))
  ],
  [
    "known-by-its-beginning",
    "R-NEW-01",
    "Looks ids up with LIKE: an id that begins like a known one is a duplicate.",
    () => {
      const known: Array<string> = []
      return {
        identify: ({ id }) => {
          const same = known.find((one) => id.startsWith(one))
          if (same === undefined) known.push(id)
          return same ?? id
        }
      }
    }
  ],
  [
    "rounded-ids",
    "R-NEW-01",
    "Reads data.id as a double: ids beyond 2^53 fall together.",
    knownBy((delivery) => `${delivery.event.resource_type} ${String(dataId(delivery))}`)
  ],
  [
    "integer-ids",
    "R-NEW-01",
    "Keeps data.id in 32 bits.",
    knownBy((delivery) => `${delivery.event.resource_type} ${Number(dataId(delivery)) | 0}`)
  ],
  [
    "id-without-type",
    "R-NEW-01",
    "Takes an access log and a call with the same data.id for one.",
    knownBy((delivery) => String(dataId(delivery)))
  ],
  [
    "numeric-ids",
    "R-NEW-01",
    "Has a column of a type without a fixed one, which turns ids that look like numbers into numbers.",
    knownBy(({ id }) => (/^\d+$/.test(id) ? String(Number(id)) : id))
  ],
  [
    "letters-and-digits",
    "R-NEW-01",
    "Takes all but letters and digits out of ids before it compares them.",
    knownBy(({ id }) => id.replaceAll(/[^A-Za-z0-9]/g, ""))
  ],
  ["same-content", "R-NEW-01", "Takes events with equal content for one.", knownBy(contentOf)],
  [
    "small-hash",
    "R-NEW-01",
    "Keeps a hash of six bits instead of the id, to save memory.",
    knownBy(({ id }) => String((createHash("sha256").update(id).digest()[0] ?? 0) & 63))
  ],
  [
    "string-hash-ids",
    "R-NEW-01",
    "Keeps the hash code that its language gives to texts instead of the id.",
    knownBy(({ id }) => String(stringHash(id)))
  ],
  [
    "one-a-second",
    "R-NEW-01",
    "Takes events of one kind in one second for a bouncing contact.",
    knownBy(({ event }) => `${event.resource_type} ${String(event.data["logged_at"]).slice(0, 19)}`)
  ]
)
