/**
 * New event ids: unique beyond one database, and roughly in the order of time.
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

/** How many random bytes an event id takes; five bits of each are used. */
const eventIdBytes = 20

/** Brands without checks: a generated id is always valid, and checking it takes longer than making it. */
const brandedEventId = Brand.nominal<EventId>()

const eventIdOf = (now: number, random: Uint8Array): EventId =>
  brandedEventId(`${eventIdPrefix}${now.toString(36).padStart(9, "0")}${toBase32(random)}`)

/**
 * A new event id: 48 bits of time, so that ids sort roughly by age, then 100 random bits.
 *
 * The random part makes ids of a restored or fresh database differ from those it handed out before, which receivers
 * may still remember as duplicates.
 */
export const makeEventId = (crypto: Crypto["Service"], now: number): EventId =>
  eventIdOf(now, crypto.randomBytes(eventIdBytes))

/** `count` new event ids, from one call of the random generator. */
export const makeEventIds = (crypto: Crypto["Service"], now: number, count: number): ReadonlyArray<EventId> => {
  const random = crypto.randomBytes(count * eventIdBytes)
  return Array.from({ length: count }, (_, index) =>
    eventIdOf(now, random.subarray(index * eventIdBytes, (index + 1) * eventIdBytes))
  )
}
