/**
 * Faults that take two events for one.
 */
import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import type { Message } from "../receivers/Parts.ts"
import type { Change } from "../receivers/Server.ts"
import { fault } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const probed = fault(2)

const knownBy =
  (key: (message: Omit<Message, "key" | "stored">) => string): Change =>
  () => ({ key })

const dataId = (message: Omit<Message, "key" | "stored">): unknown => message.event.data["id"]

const contentOf = ({ event: { data, resource_type } }: Omit<Message, "key" | "stored">): string => {
  const { guid: _guid, id: _id, logged_at: _at, ...rest } = data
  return JSON.stringify([resource_type, rest])
}

/** As `String.hashCode` of Java. */
const stringHash = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}

export const identityFaults: ReadonlyArray<Fault> = [
  probed(
    "case-folded-ids",
    "R-NEW-01",
    "Compares ids without regard to case, as a database's collation does.",
    knownBy(({ id }) => id.toLowerCase())
  ),
  probed(
    "cut-ids",
    "R-NEW-01",
    "Keeps the id in a column too short for it.",
    knownBy(({ id }) => id.slice(0, -1))
  ),
  probed(
    "last-characters",
    "R-NEW-01",
    "Compares the last characters of ids only.",
    knownBy(({ id }) => id.slice(-1))
  ),
  probed(
    "rounded-ids",
    "R-NEW-01",
    "Reads data.id as a double: ids beyond 2^53 fall together.",
    knownBy(({ event }) => `${event.resource_type} ${String(event.data["id"])}`)
  ),
  probed(
    "integer-ids",
    "R-NEW-01",
    "Keeps data.id in 32 bits.",
    knownBy((message) => `${message.event.resource_type} ${Number(dataId(message)) | 0}`)
  ),
  probed(
    "id-without-type",
    "R-NEW-01",
    "Takes an access log and a call with the same data.id for one.",
    knownBy((message) => String(dataId(message)))
  ),
  probed("same-content", "R-NEW-01", "Takes events with equal content for one.", knownBy(contentOf)),
  probed(
    "small-hash",
    "R-NEW-01",
    "Keeps a hash of six bits instead of the id, to save memory.",
    knownBy(({ id }) => String((createHash("sha256").update(id).digest()[0] ?? 0) & 63))
  ),
  probed(
    "crc-ids",
    "R-NEW-01",
    "Keeps a CRC-32 of the id.",
    knownBy(({ id }) => String(crc32(id)))
  ),
  probed(
    "string-hash-ids",
    "R-NEW-01",
    "Keeps the hash code of the id that its language gives to texts.",
    knownBy(({ id }) => String(stringHash(id)))
  ),
  probed(
    "one-a-second",
    "R-NEW-01",
    "Takes events of one kind in one second for a bouncing contact.",
    knownBy(({ event }) => `${event.resource_type} ${String(event.data["logged_at"]).slice(0, 19)}`)
  )
]
