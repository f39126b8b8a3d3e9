/**
 * What the probe says of a stored event: the SHA-256 of the RFC 8785 form of its data.
 */
import { createHash } from "node:crypto"
import { readEvent } from "../receiver/Delivery.ts"

/** RFC 8785, section 3.2: members by UTF-16 code units, numbers and strings as ECMAScript writes them. */
const canonical = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`
}

/** The digest of the data in a stored body; null when no event is stored there. */
export const storedDigest = (stored: string): string | null => {
  const read = readEvent(Buffer.from(stored))
  if (typeof read === "string") return null
  return `sha256:${createHash("sha256").update(canonical(read.event.data)).digest("hex")}`
}
