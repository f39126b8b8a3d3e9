/**
 * Standard Webhooks 1.0 signatures: HMAC-SHA-256 over `id.timestamp.body`, base64, after `v1,`.
 *
 * Several secrets give several signatures, separated by spaces, so that a receiver accepts either while a secret is
 * rotated.
 */
import { Effect, Redacted, Result } from "effect"
import { Base64 } from "effect/encoding"
import { constantTimeEquals, Crypto } from "../ports/Crypto.ts"

/** Header names of Standard Webhooks, and ours for the attempt's number. */
export const headerNames = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
  attempt: "doorhook-attempt"
} as const

/** How far a timestamp may be from the receiver's clock, in seconds. */
export const toleranceSeconds = 300

const secretPrefix = "whsec_"
const encoder = new TextEncoder()

/** A new secret: `whsec_` and 24 random bytes in base64. */
export const generateSecret = Effect.gen(function* () {
  const crypto = yield* Crypto
  return Redacted.make(secretPrefix + Base64.encode(yield* crypto.randomBytes(24)))
})

/** The key bytes of a secret, with or without its prefix; null when it is not base64. */
export const keyOf = (secret: Redacted.Redacted<string>): Uint8Array | null => {
  const text = Redacted.value(secret)
  const encoded = text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : text
  const key = Result.getOrNull(Base64.decode(encoded))
  return key === null || key.length === 0 ? null : key
}

/** What is signed. `timestamp` is in whole seconds since the epoch. */
export interface SignedContent {
  readonly id: string
  readonly timestamp: number
  readonly body: string
}

const contentBytes = (content: SignedContent): Uint8Array =>
  encoder.encode(`${content.id}.${content.timestamp}.${content.body}`)

/** One signature, `v1,` and base64. */
export const signWithKey = Effect.fnUntraced(function* (key: Uint8Array, content: SignedContent) {
  const crypto = yield* Crypto
  return `v1,${Base64.encode(yield* crypto.hmacSha256(key, contentBytes(content)))}`
})

/** The value of the signature header: one signature for each secret whose key can be read. */
export const sign = Effect.fnUntraced(function* (
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  content: SignedContent
) {
  const signatures: Array<string> = []
  for (const secret of secrets) {
    const key = keyOf(secret)
    if (key !== null) signatures.push(yield* signWithKey(key, content))
  }
  return signatures.join(" ")
})

/** Why a message was not accepted. */
export type VerificationFailure =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"

/** Checks a received message as a receiver should. Null when it is genuine and fresh. */
export const verify = Effect.fnUntraced(function* (
  secret: Redacted.Redacted<string>,
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  now: number
): Effect.fn.Return<VerificationFailure | null, never, Crypto> {
  const id = headers[headerNames.id]
  const timestampText = headers[headerNames.timestamp]
  const signatures = headers[headerNames.signature]
  if (!id || !timestampText || !signatures) return "missing_header"
  if (!/^\d{1,12}$/.test(timestampText)) return "invalid_timestamp"
  const timestamp = Number(timestampText)
  const seconds = Math.floor(now / 1_000)
  if (timestamp < seconds - toleranceSeconds) return "timestamp_too_old"
  if (timestamp > seconds + toleranceSeconds) return "timestamp_too_new"
  const key = keyOf(secret)
  if (key === null) return "no_matching_signature"
  const expected = encoder.encode(yield* signWithKey(key, { id, timestamp, body }))
  const genuine = signatures.split(" ").some((given) => constantTimeEquals(encoder.encode(given), expected))
  return genuine ? null : "no_matching_signature"
})
