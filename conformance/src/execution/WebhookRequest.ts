/**
 * The request that carries an attempt: exactly what doorhook sends, and what variations make of it.
 */
import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import type { MintedEvent } from "../history/Minting.ts"
import { bodyOf, escapeAll, reencode, string } from "../history/RawJson.ts"
import type { EventTemplate } from "../history/Template.ts"
import { variationOf, withinTolerance } from "../history/Variations.ts"
import type { Variation, VariationKind } from "../history/Variations.ts"

/** What an attempt says of itself. */
export interface Stamp {
  readonly webhookId: string
  readonly attempt: number
  /** When it was signed, in milliseconds since the epoch. */
  readonly signedAt: number
}

const changed = (event: EventTemplate): EventTemplate => ({
  ...event,
  data: event.data.map(([name, value]) =>
    name === "name" || name === "status" ? [name, string("Somebody Else")] : [name, value]
  )
})

const reordered = (event: EventTemplate): EventTemplate => ({ ...event, data: event.data.toReversed() })

/** The body of an event, as variations leave it. */
export const variedBody = (event: MintedEvent, how: ReadonlyArray<Variation>): string => {
  const ways = new Set(how.map((one) => variationOf(one).body))
  let filled = event.filled
  if (ways.has("changed")) filled = changed(filled)
  if (ways.has("reordered")) filled = reordered(filled)
  let body = filled === event.filled ? event.body : bodyOf(filled)
  if (ways.has("escaped")) body = escapeAll(body)
  return ways.has("reencoded") ? reencode(body) : body
}

/** The time that the next attempt is stamped with. Retries differ in their second: what is keyed by it must show. */
export const nextSignedAt = (
  last: number,
  how: ReadonlyArray<Variation>,
  now: number,
  first: boolean,
  tolerance: number
): number => {
  let stamp: VariationKind["stamp"]
  for (const one of how) {
    const own = variationOf(one).stamp
    if (own !== undefined && typeof stamp !== "object") stamp = own
  }
  if (typeof stamp === "object") {
    return now + ("off" in stamp ? stamp.off : Math.round(stamp.offInTolerance * withinTolerance * tolerance))
  }
  if (first) return now
  return stamp === "now" ? Math.max(now, Math.min(last + 1_000, now + 1_500)) : last
}

const withHeaders = (
  headers: Readonly<Record<string, string>>,
  how: ReadonlyArray<Variation>
): Readonly<Record<string, string>> => {
  const made: Record<string, string> = { ...headers }
  const name = Signature.headerNames.signature
  for (const { contentType, signature } of how.map(variationOf)) {
    if (contentType !== undefined) made["content-type"] = contentType
    const good = made[name]
    if (signature !== undefined && good !== undefined) made[name] = signature(good)
  }
  return made
}

/** Writes and, where a secret is given, signs a request. */
export const make = (
  { attempt, signedAt, webhookId }: Stamp,
  body: string,
  how: ReadonlyArray<Variation>,
  secret: Redacted.Redacted<string> | null
): Effect.Effect<HttpRequest, never, Crypto> =>
  Effect.map(
    Crypto.use((crypto) =>
      DeliveryRequest.headersOf(crypto, { id: webhookId, attempt, signedAt, body }, secret === null ? [] : [secret])
    ),
    (headers) => ({ method: "POST", headers: withHeaders(headers, how), body, encoding: "utf8" })
  )
