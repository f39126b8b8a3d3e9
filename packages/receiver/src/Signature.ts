/**
 * Verifies Standard Webhooks 1.0 signatures over `id.timestamp.body`, which are in base64. The prefix `v1,` means
 * HMAC-SHA-256 with the secret (`whsec_`). The prefix `v1a,` means Ed25519, verified with the sender's public key
 * (`whpk_`).
 */
import { createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto"
import { checkWhole, InvalidOption } from "./Problem.ts"

export type VerificationFailure =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"

/** Whether a signature from the header is valid for the content. */
type Check = (signature: string, content: Buffer) => boolean

const publicKeyPrefix = "whpk_"

/** Decodes base64; null if it is invalid. */
const bytesOf = (text: string): Buffer | null =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0 ? Buffer.from(text, "base64") : null

const checkOf = (secret: string): Check => {
  if (secret.startsWith(publicKeyPrefix)) return publicKeyCheckOf(secret.slice(publicKeyPrefix.length))
  const key = bytesOf(secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret)
  if (key === null) {
    throw new InvalidOption(
      "secrets",
      "a secret must be `whsec_` and base64; use the secret shown when the integration was created, or rotate it"
    )
  }
  return (signature, content) =>
    equals(signature, Buffer.from(`v1,${createHmac("sha256", key).update(content).digest("base64")}`))
}

const publicKeyCheckOf = (encoded: string): Check => {
  const bytes = bytesOf(encoded)
  if (bytes?.length !== 32) {
    throw new InvalidOption(
      "secrets",
      "a public key must be `whpk_` and 32 bytes in base64; use the key that the service lists at `GET /v4/webhook_keys`"
    )
  }
  const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") }
  const key = createPublicKey({ key: jwk, format: "jwk" })
  return (signature, content) => {
    const given = signature.startsWith("v1a,") ? bytesOf(signature.slice("v1a,".length)) : null
    return given !== null && verify(null, content, key, given)
  }
}

const equals = (given: string, expected: Buffer): boolean => {
  const bytes = Buffer.from(given)
  return bytes.length === expected.length && timingSafeEqual(bytes, expected)
}

/**
 * Makes a function that returns why a message is refused, or null if the message is genuine and recent. Any of the
 * secrets or public keys may match; during a rotation there are two. `now` is in milliseconds. Throws `InvalidOption`
 * for an invalid secret or tolerance.
 */
export const signatureVerifier = (
  secrets: ReadonlyArray<string>,
  toleranceSeconds = 300
): ((
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
  now: number
) => VerificationFailure | null) => {
  checkWhole("toleranceSeconds", toleranceSeconds, 0)
  const checks = secrets.map(checkOf)
  return (headers, body, now) => {
    const id = headers["webhook-id"]
    const timestamp = headers["webhook-timestamp"]
    const signatures = headers["webhook-signature"]
    if (!id || !timestamp || !signatures) return "missing_header"
    if (!/^\d{1,12}$/.test(timestamp)) return "invalid_timestamp"
    const age = Math.floor(now / 1_000) - Number(timestamp)
    if (age > toleranceSeconds) return "timestamp_too_old"
    if (age < -toleranceSeconds) return "timestamp_too_new"
    const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])
    const isGenuine = signatures.split(" ").some((given) => checks.some((check) => check(given, content)))
    return isGenuine ? null : "no_matching_signature"
  }
}
