/**
 * Generates, hashes and compares codes, tokens and client secrets.
 *
 * Each value has 256 random bits after a prefix for its kind, so that secret scanners can detect leaks. Only its
 * SHA-256 is stored. With this much randomness, a slow hash would not be more secure.
 */
import { Brand, Effect, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import type { PresentedAccessToken, TokenHash } from "../model/Token.ts"
import type { Crypto } from "../ports/Crypto.ts"
import { constantTimeEqualTexts } from "../ports/Crypto.ts"

export const prefixes = { refresh: "dh_rt_", code: "dh_ac_", client: "dh_cs_" } as const
const accessPrefix = "dh_at_"

const randomLength = 32
const tokenHash = Brand.nominal<TokenHash>()

/** Returns the text of an access token: a number to find the token, and a random part that proves possession. */
export const accessTokenText = (seq: number, random: string): string => `${accessPrefix}${seq}.${random}`

/** The random part has 256 bits in base64url. */
const accessTokenPattern = /^dh_at_([1-9][0-9]{0,15})\.([A-Za-z0-9_-]{43})$/

/** A new code, token or secret, with its hash for storage. */
interface Generated {
  readonly value: string
  readonly hash: TokenHash
}

export interface Secrets {
  /** Returns the stored form of a code, token or secret. */
  readonly hashOf: (secret: string) => Effect.Effect<TokenHash>
  readonly generate: (kind: keyof typeof prefixes) => Effect.Effect<Generated>
  /** Generates the random part of a new access token. */
  readonly generateAccess: () => Effect.Effect<Generated>
  /** Parses the text of an access token; null if it is invalid. */
  readonly readAccessToken: (text: string) => Effect.Effect<PresentedAccessToken | null>
  /** Generates an id that can't be guessed. */
  readonly generateId: (prefix: string) => string
  /** Compares two texts in constant time. */
  readonly equals: (a: string, b: string) => Effect.Effect<boolean>
  /** Compares a text with a secret of the directory. The secret's hash is cached per secret object. */
  readonly isValueOf: (secret: Redacted.Redacted<string>, given: string) => Effect.Effect<boolean>
}

/** Compares two hashes in constant time. */
export const sameHash = (a: TokenHash, b: TokenHash): boolean => constantTimeEqualTexts(a, b)

export const makeSecrets = (crypto: Crypto["Service"]): Secrets => {
  const hashes = new WeakMap<Redacted.Redacted<string>, TokenHash>()

  const hashOf = (secret: string): Effect.Effect<TokenHash> => Effect.mapEager(crypto.sha256Text(secret), tokenHash)

  const hashOfSecret = (secret: Redacted.Redacted<string>): Effect.Effect<TokenHash> => {
    const known = hashes.get(secret)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.mapEager(hashOf(Redacted.value(secret)), (hash) => {
      hashes.set(secret, hash)
      return hash
    })
  }

  /** Compares hashes, so that the time reveals nothing about the texts. */
  const compare = (expected: Effect.Effect<TokenHash>, given: string): Effect.Effect<boolean> =>
    Effect.flatMapEager(expected, (hash) => Effect.mapEager(hashOf(given), (other) => sameHash(hash, other)))

  const generate = (prefix: string): Effect.Effect<Generated> => {
    const value = prefix + Base64Url.encode(crypto.randomBytes(randomLength))
    return Effect.mapEager(hashOf(value), (hash) => ({ value, hash }))
  }

  return {
    hashOf,
    generate: (kind) => generate(prefixes[kind]),
    generateAccess: () => generate(""),
    readAccessToken: (text) => {
      const [, digits, random] = accessTokenPattern.exec(text) ?? []
      const seq = Number(digits)
      if (random === undefined || !Number.isSafeInteger(seq)) return Effect.succeed(null)
      return Effect.mapEager(hashOf(random), (hash) => ({ seq, hash }))
    },
    generateId: (prefix) => prefix + Base64Url.encode(crypto.randomBytes(16)),
    equals: (a, b) => compare(hashOf(a), b),
    isValueOf: (secret, given) => compare(hashOfSecret(secret), given)
  }
}
