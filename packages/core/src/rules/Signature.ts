/**
 * Standard Webhooks 1.0 signatures: HMAC-SHA-256 over `id.timestamp.body`, base64, after `v1,`.
 *
 * Several secrets give several signatures, separated by spaces, so that a receiver accepts either while a secret is
 * rotated.
 */
import { Effect, Redacted, Result } from "effect"
import { Base64 } from "effect/encoding"
import { RecentMap } from "../domain/RecentMap.ts"
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
  return Redacted.make(secretPrefix + Base64.encode(crypto.randomBytes(24)))
})

const readKey = (text: string): Uint8Array | null => {
  const encoded = text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : text
  const key = Result.getOrNull(Base64.decode(encoded))
  return key === null || key.length === 0 ? null : key
}

/** Keys that were read before. Asked for again, a key is the same object, so that `Crypto` can keep it prepared. */
const keys = new RecentMap<string, Uint8Array | null>(10_000)

/** The key bytes of a secret, with or without its prefix; null when it is not base64. */
export const keyOf = (secret: Redacted.Redacted<string>): Uint8Array | null => {
  const text = Redacted.value(secret)
  const known = keys.get(text)
  if (known !== undefined) return known
  const key = readKey(text)
  keys.set(text, key)
  return key
}

/** What is signed. `timestamp` is in whole seconds since the epoch. */
export interface SignedContent {
  readonly id: string
  readonly timestamp: number
  readonly body: string
}

/** One signature, `v1,` and base64. */
export const signWithKey = (crypto: Crypto["Service"], key: Uint8Array, { body, id, timestamp }: SignedContent) =>
  Effect.mapEager(crypto.hmacSha256(key, `${id}.${timestamp}.${body}`), (signature) => `v1,${signature}`)

/**
 * The value of the signature header: one signature for each secret whose key can be read. An exit, without a fiber, if
 * there is one secret and the cryptography is synchronous: nearly every attempt.
 */
export const signWith = (
  crypto: Crypto["Service"],
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  content: SignedContent
): Effect.Effect<string> => {
  const [key, ...others] = secrets.map(keyOf).filter((each) => each !== null)
  if (key === undefined) return Effect.succeed("")
  if (others.length === 0) return signWithKey(crypto, key, content)
  return Effect.map(
    Effect.forEach([key, ...others], (each) => signWithKey(crypto, each, content)),
    (signatures) => signatures.join(" ")
  )
}

/** The value of the signature header: one signature for each secret whose key can be read. */
export const sign = (
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  content: SignedContent
): Effect.Effect<string, never, Crypto> => Crypto.use((crypto) => signWith(crypto, secrets, content))

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
  const expected = encoder.encode(yield* signWithKey(yield* Crypto, key, { id, timestamp, body }))
  const genuine = signatures.split(" ").some((given) => constantTimeEquals(encoder.encode(given), expected))
  return genuine ? null : "no_matching_signature"
})
