/**
 * Standard Webhooks 1.0 signatures: HMAC-SHA-256 over `id.timestamp.body`, base64, after `v1,`.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { InvalidOption } from "./Problem.ts"

export type VerificationFailure =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"

const keyOf = (secret: string): Buffer => {
  const encoded = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0
  if (isBase64) return Buffer.from(encoded, "base64")
  throw new InvalidOption(
    "secrets",
    "a secret is `whsec_` and base64; take the one that was shown when the integration was created, or rotate it"
  )
}

const equals = (given: string, expected: Buffer): boolean => {
  const bytes = Buffer.from(given)
  return bytes.length === expected.length && timingSafeEqual(bytes, expected)
}

/**
 * Verifies messages with any of the secrets: two while one is rotated. Null if the message is genuine and fresh.
 * `now` is in milliseconds. Throws `InvalidOption` for a secret that can't be used.
 */
export const signatureVerifier = (
  secrets: ReadonlyArray<string>,
  toleranceSeconds = 300
): ((
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
  now: number
) => VerificationFailure | null) => {
  const keys = secrets.map(keyOf)
  return (headers, body, now) => {
    const id = headers["webhook-id"]
    const timestamp = headers["webhook-timestamp"]
    const signatures = headers["webhook-signature"]
    if (!id || !timestamp || !signatures) return "missing_header"
    if (!/^\d{1,12}$/.test(timestamp)) return "invalid_timestamp"
    const age = Math.floor(now / 1_000) - Number(timestamp)
    if (age > toleranceSeconds) return "timestamp_too_old"
    if (age < -toleranceSeconds) return "timestamp_too_new"
    const expected = keys.map((key) =>
      Buffer.from(`v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`)
    )
    const isGenuine = signatures.split(" ").some((given) => expected.some((one) => equals(given, one)))
    return isGenuine ? null : "no_matching_signature"
  }
}
