/**
 * Standard Webhooks 1.0 signatures over `id.timestamp.body`. HMAC-SHA-256: `v1,` and base64, with a secret shared with
 * the receiver (`whsec_`). Ed25519: `v1a,` and base64, with a private key (`whsk_`) whose public key (`whpk_`)
 * receivers have.
 *
 * With several secrets, there are several signatures, separated by spaces. During a rotation, a receiver with either
 * secret can verify the request.
 */
import { Effect, Redacted, Result } from "effect"
import { Base64 } from "effect/encoding"
import { RecentMap } from "../model/RecentMap.ts"
import { constantTimeEquals, Crypto } from "../ports/Crypto.ts"

/** Header names of Standard Webhooks, and doorhook's own. */
export const headerNames = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
  attempt: "doorhook-attempt",
  expiresAt: "doorhook-expires-at",
  replay: "doorhook-replay"
} as const

/** Largest accepted difference between a timestamp and the receiver's clock, in seconds. */
export const toleranceSeconds = 300

const secretPrefix = "whsec_"
const privateKeyPrefix = "whsk_"
const publicKeyPrefix = "whpk_"

/** Length of an Ed25519 private key in bytes (RFC 8032 section 5.1.5). */
const privateKeyBytes = 32

const encoder = new TextEncoder()

const generate = (prefix: string, length: number) =>
  Crypto.useSync(({ randomBytes }) => Redacted.make(prefix + Base64.encode(randomBytes(length))))

/** Minimum length of a secret's key, in bytes, as Standard Webhooks requires. */
export const minSecretBytes = 24

/** Whether a text is a secret with its prefix, and long enough. */
export const isSecret = (text: string): boolean =>
  text.startsWith(secretPrefix) && (keyOf(Redacted.make(text))?.length ?? 0) >= minSecretBytes

/** Generates a secret: `whsec_` and 24 random bytes in base64. */
export const generateSecret = generate(secretPrefix, 24)

/** Generates an Ed25519 private key: `whsk_` and its 32 bytes in base64. */
export const generatePrivateKey = generate(privateKeyPrefix, privateKeyBytes)

/** A signing key: the bytes of a secret or of a private key. */
interface SigningKey {
  readonly scheme: "v1" | "v1a"
  readonly bytes: Uint8Array
}

const readKey = (text: string): SigningKey | null => {
  const isPrivate = text.startsWith(privateKeyPrefix)
  const prefix = isPrivate ? privateKeyPrefix : secretPrefix
  const bytes = Result.getOrNull(Base64.decode(text.startsWith(prefix) ? text.slice(prefix.length) : text))
  if (bytes === null || bytes.length === 0) return null
  if (!isPrivate) return { scheme: "v1", bytes }
  // Some libraries append the public key to the private key.
  const isKey = bytes.length === privateKeyBytes || bytes.length === 2 * privateKeyBytes
  return isKey ? { scheme: "v1a", bytes: bytes.slice(0, privateKeyBytes) } : null
}

/** Cache of parsed keys. It returns the same object each time, so `Crypto` can cache the prepared key. */
const keys = new RecentMap<string, SigningKey | null>(10_000)

const signingKeyOf = (secret: Redacted.Redacted<string>): SigningKey | null => {
  const text = Redacted.value(secret)
  const known = keys.get(text)
  if (known !== undefined) return known
  const key = readKey(text)
  keys.set(text, key)
  return key
}

/** Returns the key bytes of a secret (with or without its prefix) or of a private key; null if the text is invalid. */
export const keyOf = (secret: Redacted.Redacted<string>): Uint8Array | null => signingKeyOf(secret)?.bytes ?? null

/** Returns the public key (`whpk_`) of a private key (`whsk_`); null if the argument is not a private key. */
export const publicKeyOf = (privateKey: Redacted.Redacted<string>): Effect.Effect<string | null, never, Crypto> =>
  Effect.gen(function* () {
    const crypto = yield* Crypto
    const key = signingKeyOf(privateKey)
    if (key?.scheme !== "v1a") return null
    return publicKeyPrefix + Base64.encode(yield* crypto.ed25519PublicKey(key.bytes))
  })

/** The signed content. `timestamp` is in whole seconds since the epoch. */
export interface SignedContent {
  readonly id: string
  readonly timestamp: number
  readonly body: string
}

/** Returns one signature: its version, a comma, and base64. */
const signWithKey = (
  crypto: Crypto["Service"],
  { bytes, scheme }: SigningKey,
  { body, id, timestamp }: SignedContent
): Effect.Effect<string> => {
  const text = `${id}.${timestamp}.${body}`
  const signing = scheme === "v1" ? crypto.hmacSha256(bytes, text) : crypto.ed25519Sign(bytes, text)
  return Effect.mapEager(signing, (signature) => `${scheme},${signature}`)
}

/**
 * Returns the value of the signature header: one signature for each valid secret or private key. With one key and
 * synchronous cryptography, as in nearly every attempt, the result is an exit, which needs no fiber.
 */
export const signWith = (
  crypto: Crypto["Service"],
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  content: SignedContent
): Effect.Effect<string> => {
  const [key, ...others] = secrets.map(signingKeyOf).filter((each) => each !== null)
  if (key === undefined) return Effect.succeed("")
  if (others.length === 0) return signWithKey(crypto, key, content)
  return Effect.map(
    Effect.forEach([key, ...others], (each) => signWithKey(crypto, each, content)),
    (signatures) => signatures.join(" ")
  )
}

/** Returns the value of the signature header: one signature for each valid secret or private key. */
export const sign = (
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  content: SignedContent
): Effect.Effect<string, never, Crypto> => Crypto.use((crypto) => signWith(crypto, secrets, content))

/** Why a message was rejected. */
export type VerificationFailure =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"

/** Verifies a message as a receiver should. Returns null if the message is genuine and recent. */
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
  const key = signingKeyOf(secret)
  if (key === null) return "no_matching_signature"
  const expected = encoder.encode(yield* signWithKey(yield* Crypto, key, { id, timestamp, body }))
  const genuine = signatures.split(" ").some((given) => constantTimeEquals(encoder.encode(given), expected))
  return genuine ? null : "no_matching_signature"
})
