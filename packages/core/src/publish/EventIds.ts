/**
 * Generates event ids, which are globally unique and roughly ordered by time.
 */
import { Brand } from "effect"
import type { EventId } from "../model/Ids.ts"
import { eventIdPrefix } from "../model/Ids.ts"
import type { Crypto } from "../ports/Crypto.ts"

const base32 = "0123456789abcdefghjkmnpqrstvwxyz"

const toBase32 = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += base32[byte & 31]
  return text
}

/** Random bytes per event id, which uses five bits of each byte. */
const eventIdBytes = 20

/** Skips validation, which takes longer than generating an id: a generated id is always valid. */
const brandedEventId = Brand.nominal<EventId>()

const eventIdOf = (now: number, random: Uint8Array): EventId =>
  brandedEventId(`${eventIdPrefix}${now.toString(36).padStart(9, "0")}${toBase32(random)}`)

/**
 * Generates an event id: 48 bits of time, so that ids sort roughly by age, then 100 random bits.
 *
 * Receivers remember ids to detect duplicates. The random part keeps ids unique even after a database is restored or
 * replaced.
 */
export const makeEventId = (crypto: Crypto["Service"], now: number): EventId =>
  eventIdOf(now, crypto.randomBytes(eventIdBytes))

/** Generates `count` event ids with one call of the random generator. */
export const makeEventIds = (crypto: Crypto["Service"], now: number, count: number): ReadonlyArray<EventId> => {
  const random = crypto.randomBytes(count * eventIdBytes)
  return Array.from({ length: count }, (_, index) =>
    eventIdOf(now, random.subarray(index * eventIdBytes, (index + 1) * eventIdBytes))
  )
}
