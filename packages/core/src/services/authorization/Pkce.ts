/**
 * Proof Key for Code Exchange (RFC 7636), method S256 alone: `plain` would put the secret into the URL it protects.
 */
import { Effect } from "effect"
import { equals, hashOf } from "./Secrets.ts"

const challengePattern = /^[A-Za-z0-9_-]{43}$/
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/

/** Whether a text can be a challenge: SHA-256 in base64url. */
export const isChallenge = (text: string): boolean => challengePattern.test(text)

/** Whether a verifier is the one behind a challenge. */
export const verifies = Effect.fnUntraced(function* (verifier: string, challenge: string) {
  return verifierPattern.test(verifier) && (yield* equals(yield* hashOf(verifier), challenge))
})
