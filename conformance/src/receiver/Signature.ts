/**
 * Standard Webhooks 1.0 for receivers: HMAC-SHA-256 over `id.timestamp.body`, on node:crypto alone.
 *
 * Core has the same rule on Effect; a test holds the two together. This one is here so that a receiver needs neither.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** How far a timestamp may be from this machine's clock, in seconds. */
export const toleranceSeconds = 300

/** Why a message was not accepted. */
export type VerificationFailure =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"

/** A secret that can't be used. */
export class InvalidSecret extends Error {
  override readonly name = "InvalidSecret"
}

/** The key bytes of a `whsec_` secret. Throws `InvalidSecret`, which never quotes the secret. */
const keyOf = (secret: string): Buffer => {
  const encoded = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret
  const key = Buffer.from(encoded, "base64")
  const wellFormed = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0
  if (wellFormed && key.length > 0) return key
  throw new InvalidSecret(
    "a signing secret is `whsec_` and base64; take the one that was shown when the integration was created, or rotate it"
  )
}

/** Checks messages against secrets. Several while one is rotated: a message is genuine by any of them. */
export interface Verifier {
  readonly verify: (
    headers: Readonly<Record<string, string | undefined>>,
    body: Uint8Array,
    /** Milliseconds since the epoch. */
    now: number
  ) => VerificationFailure | null
}

const isSame = (given: string, expected: Buffer): boolean => {
  const bytes = Buffer.from(given)
  return bytes.length === expected.length && timingSafeEqual(bytes, expected)
}

/** Reads the secrets once. Throws `InvalidSecret`. */
export const makeVerifier = (secrets: ReadonlyArray<string>): Verifier => {
  const keys = secrets.map(keyOf)
  return {
    verify: (headers, body, now) => {
      const id = headers["webhook-id"]
      const timestampText = headers["webhook-timestamp"]
      const signatures = headers["webhook-signature"]
      if (!id || !timestampText || !signatures) return "missing_header"
      if (!/^\d{1,12}$/.test(timestampText)) return "invalid_timestamp"
      const timestamp = Number(timestampText)
      const seconds = Math.floor(now / 1_000)
      if (timestamp < seconds - toleranceSeconds) return "timestamp_too_old"
      if (timestamp > seconds + toleranceSeconds) return "timestamp_too_new"
      const expected = keys.map((key) =>
        Buffer.from(`v1,${createHmac("sha256", key).update(`${id}.${timestampText}.`).update(body).digest("base64")}`)
      )
      const genuine = signatures.split(" ").some((given) => expected.some((one) => isSame(given, one)))
      return genuine ? null : "no_matching_signature"
    }
  }
}
