/**
 * Requests that carry an `Idempotency-Key`: the same again is answered as before, another under the same key is refused.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Crypto } from "../ports/Crypto.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"

/** A request as its sender names it. */
export interface IdempotentRequest {
  /** Of the sender alone: the keys of others are other keys. */
  readonly key: string
  /** Of what is asked for: `fingerprintOf` its text. */
  readonly fingerprint: string
}

/** What is said to be a key is none. */
export class InvalidIdempotencyKey extends Schema.TaggedError<InvalidIdempotencyKey>()("InvalidIdempotencyKey", {}) {
  override get message(): string {
    return "An idempotency key must be 1 to 255 visible ASCII characters, like a UUID."
  }
}

/** Reads a key as its sender wrote it. */
export const readIdempotencyKey = (text: unknown): Result.Result<string, InvalidIdempotencyKey> =>
  Predicate.isString(text) && /^[\x21-\x7e]{1,255}$/.test(text)
    ? Result.succeed(text)
    : Result.fail(new InvalidIdempotencyKey())

/** The key was used for another request. */
export class KeyReused extends Schema.TaggedError<KeyReused>()("KeyReused", {}) {
  get said(): Sentence {
    return say("error_key_reused")
  }

  override get message(): string {
    return english(this.said)
  }
}

/** The first request with the key is being carried out at this moment. */
export class KeyInUse extends Schema.TaggedError<KeyInUse>()("KeyInUse", {}) {
  get said(): Sentence {
    return say("error_key_in_use")
  }

  override get message(): string {
    return english(this.said)
  }
}

const encoder = new TextEncoder()

/** A hash of a request's text. */
export const fingerprintOf = (crypto: Crypto["Service"], text: string): Effect.Effect<string> =>
  Effect.mapEager(crypto.sha256(encoder.encode(text)), Hex.encode)

/** A request to publish what a text says. All ways to publish share their keys: over HTTP or in the host's own process. */
export const publishRequest = (
  crypto: Crypto["Service"],
  key: string,
  text: string
): Effect.Effect<IdempotentRequest> =>
  Effect.mapEager(fingerprintOf(crypto, text), (fingerprint) => ({ key: `events ${key}`, fingerprint }))
