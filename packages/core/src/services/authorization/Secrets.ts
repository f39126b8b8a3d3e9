/**
 * Codes, tokens and clients' secrets: how they are made, and the form in which they are kept and compared.
 *
 * Each has 256 random bits behind a prefix that says what it is, so that secret scanners find one that has leaked. Only
 * SHA-256 of it is stored: with so much randomness in it a slow hash would add nothing but load.
 */
import { Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { TokenHash } from "../../domain/Token.ts"
import { constantTimeEquals, Crypto } from "../../ports/Crypto.ts"

export const prefixes = { access: "dh_at_", refresh: "dh_rt_", code: "dh_ac_", client: "dh_cs_" } as const

const randomLength = 32
const encoder = new TextEncoder()

/** The form in which a code, token or secret is kept. */
export const hashOf = Effect.fnUntraced(function* (secret: string) {
  const crypto = yield* Crypto
  return TokenHash.make(yield* crypto.sha256Text(secret))
})

/** A new code, token or secret, and its hash. */
export const generate = Effect.fnUntraced(function* (kind: keyof typeof prefixes) {
  const crypto = yield* Crypto
  const value = prefixes[kind] + Base64Url.encode(yield* crypto.randomBytes(randomLength))
  return { value, hash: yield* hashOf(value) }
})

/** A new id that nobody can guess. */
export const generateId = Effect.fnUntraced(function* (prefix: string) {
  const crypto = yield* Crypto
  return prefix + Base64Url.encode(yield* crypto.randomBytes(16))
})

/** Whether two hashes are the same, in a time that says nothing about either. */
export const sameHash = (a: TokenHash, b: TokenHash): boolean =>
  constantTimeEquals(encoder.encode(a), encoder.encode(b))

/** Whether two secrets are the same, in a time that says nothing about either. */
export const equals = Effect.fnUntraced(function* (a: string, b: string) {
  const crypto = yield* Crypto
  return constantTimeEquals(yield* crypto.sha256(encoder.encode(a)), yield* crypto.sha256(encoder.encode(b)))
})
