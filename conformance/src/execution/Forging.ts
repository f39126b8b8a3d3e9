/**
 * Requests whose signature is not good: each kind is an attack, or a mistake of a verifier that it finds out.
 */
import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import type { Forgery } from "../history/Forgeries.ts"
import type { MintedEvent } from "../history/Minting.ts"
import type { Stamp } from "./WebhookRequest.ts"
import { variedBody } from "./WebhookRequest.ts"

const names = Signature.headerNames
/** How far off a timestamp is, in tolerances. Just beyond is more than clocks may differ. */
const farBeyond = 2
const justBeyond = 1.1
/** HMAC fills keys up with zeros: this is the empty one, in a form that every implementation takes (RFC 2104, section 2). */
const emptyKey = Uint8Array.of(0)
const stranger = Redacted.make("whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgbm90IHlvdXJz")
const random = "v1,q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="

/** Another base64 character, so that the bytes differ. */
const flip = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "Q" : "A") + text.slice(at + 1)

type Headers = Readonly<Record<string, string>>

const without = (headers: Headers, ...removed: ReadonlyArray<string>): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !removed.includes(name)))

/** A signature is `v1,` and 44 characters; the last before `=` holds bits that decoders ignore, the one before it not. */
const lastFullCharacter = 3 + 41

/** A request about an event under a signature that is not good. */
export const forge = Effect.fnUntraced(function* (
  event: MintedEvent,
  { attempt, signedAt, webhookId }: Stamp,
  kind: Forgery,
  tolerance: number,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<HttpRequest, never, Crypto> {
  const { body } = event
  const crypto = yield* Crypto
  const secrets = secret === null ? [] : [secret]
  const signed = (over: {
    readonly id?: string
    readonly at?: number
    readonly body?: string
    readonly by?: Redacted.Redacted<string>
  }) =>
    DeliveryRequest.headersOf(
      crypto,
      { id: over.id ?? webhookId, attempt, signedAt: over.at ?? signedAt, body: over.body ?? body },
      over.by === undefined ? secrets : [over.by]
    )
  const good = yield* signed({})
  const signature = good[names.signature] ?? ""
  const mac = signature.slice(3)
  const request = (headers: Headers, sent = body): HttpRequest => ({
    method: "POST",
    headers,
    body: sent,
    encoding: "utf8"
  })
  const under = (value: string): HttpRequest => request({ ...good, [names.signature]: value })
  const signatureOf = (headers: Headers): string => headers[names.signature] ?? ""
  switch (kind) {
    case "missing":
      return request(without(good, names.signature))
    case "no_timestamp":
      return request(without(good, names.timestamp))
    case "empty_timestamp":
      return request({ ...good, [names.timestamp]: "" })
    case "no_id":
      return request(without(good, names.id))
    case "empty_id":
      return request({ ...good, [names.id]: "" })
    case "bare":
      return request(without(good, names.id, names.timestamp, names.signature))
    case "empty":
      return under("")
    case "random":
      return under(random)
    case "other_secret":
      return request(yield* signed({ by: stranger }))
    case "empty_secret":
      return under(
        yield* Signature.signWithKey(crypto, emptyKey, {
          id: webhookId,
          timestamp: Math.floor(signedAt / 1_000),
          body
        })
      )
    case "truncated":
      return under(signature.slice(0, 3 + 22))
    case "lengthened":
      return under(`${signature}AAAA`)
    case "first_byte":
      return under(flip(signature, 3))
    case "last_byte":
      return under(flip(signature, lastFullCharacter))
    case "other_case":
      return under(`v1,${mac.replaceAll(/[a-z]/gi, (one) => (one < "a" ? one.toLowerCase() : one.toUpperCase()))}`)
    case "version_0":
      return under(`v0,${mac}`)
    case "version_1a":
      return under(`v1a,${mac}`)
    case "version_none":
      return under(mac)
    case "version_word":
      return under("none")
    case "other_id":
      return under(
        signatureOf(yield* signed({ id: `${webhookId.slice(0, -1)}${webhookId.endsWith("0") ? "1" : "0"}` }))
      )
    case "other_timestamp":
      return under(signatureOf(yield* signed({ at: signedAt - 30_000 })))
    case "other_body":
      return under(signatureOf(yield* signed({ body: body.replace('"create"', '"delete"') })))
    case "changed_body":
      return request(good, variedBody(event, ["changed"]))
    case "added_space":
      return request(good, `${body} `)
    case "two_wrong":
      return under(`${flip(signature, 5)} ${random}`)
    case "past":
      return request(yield* signed({ at: signedAt - farBeyond * tolerance }))
    case "future":
      return request(yield* signed({ at: signedAt + farBeyond * tolerance }))
    case "past_soon":
      return request(yield* signed({ at: signedAt - justBeyond * tolerance }))
    case "future_soon":
      return request(yield* signed({ at: signedAt + justBeyond * tolerance }))
    case "no_number":
      return request({ ...good, [names.timestamp]: "now" })
  }
})
