/**
 * What the probe says of a stored event: the SHA-256 of the RFC 8785 form of its data.
 */
import { createHash } from "node:crypto"
import { canonical } from "../history/Canonical.ts"
import { parseEvent } from "@doorhook/receiver"

/** The digest of the data in a stored body; null when no event is stored there. */
export const storedDigest = (stored: string): string | null => {
  const read = parseEvent(Buffer.from(stored))
  if ("wrong" in read) return null
  return `sha256:${createHash("sha256").update(canonical(read.event.data)).digest("hex")}`
}
