/**
 * The request that carries an attempt: exactly what doorhook sends, and what variations make of it.
 */
import { Crypto } from "@doorhook/core"
import { DeliveryRequest, Signature } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { EventTemplate, Variation } from "../history/History.ts"
import { bodyOf, escapeAll, reencode, string } from "../history/RawJson.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import type { MintedEvent } from "./Minting.ts"

/** What an attempt says of itself. */
export interface Stamp {
  readonly webhook_id: string
  readonly attempt: number
  /** When it was signed, in milliseconds since the epoch. */
  readonly signed_at: number
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
  let filled = event.filled
  if (how.includes("changed")) filled = changed(filled)
  if (how.includes("reordered")) filled = reordered(filled)
  let body = filled === event.filled ? event.body : bodyOf(filled)
  if (how.includes("escaped")) body = escapeAll(body)
  return how.includes("reencoded") ? reencode(body) : body
}

const wrong = "v1,MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="

const signatures = (good: string, how: ReadonlyArray<Variation>): string => {
  if (how.includes("signature_last")) return `${wrong} ${good}`
  if (how.includes("signature_first")) return `${good} ${wrong}`
  if (how.includes("signature_among_unknown")) return `v2,${wrong.slice(3)} v1a,${wrong.slice(3)} ${good} v9,eA==`
  return good
}

const withHeaders = (
  headers: Readonly<Record<string, string>>,
  how: ReadonlyArray<Variation>
): Readonly<Record<string, string>> => {
  const good = headers[Signature.headerNames.signature]
  return {
    ...headers,
    ...(how.includes("content_type_charset") ? { "content-type": "application/json; charset=utf-8" } : {}),
    ...(how.includes("content_type_case") ? { "content-type": "Application/JSON;charset=UTF-8" } : {}),
    ...(good === undefined ? {} : { [Signature.headerNames.signature]: signatures(good, how) })
  }
}

/** Writes and, where a secret is given, signs a request. */
export const make = (
  { attempt, signed_at, webhook_id }: Stamp,
  body: string,
  how: ReadonlyArray<Variation>,
  secret: Redacted.Redacted<string> | null
): Effect.Effect<HttpRequest, never, Crypto> =>
  Effect.map(
    Crypto.use((crypto) =>
      DeliveryRequest.headersOf(
        crypto,
        { id: webhook_id, attempt, signedAt: signed_at, body },
        secret === null ? [] : [secret]
      )
    ),
    (headers) => ({ method: "POST", headers: withHeaders(headers, how), body, encoding: "utf8" })
  )
