/**
 * Handles the `Idempotency-Key` header. A repeated request gets the first answer; a different request with the same key
 * fails.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Crypto } from "../ports/Crypto.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"

/** Idempotency key and content hash of a request. */
export interface IdempotentRequest {
  /** Key chosen by the sender, prefixed with the sender's name: equal keys of different senders don't collide. */
  readonly key: string
  /** The hash of the request's text, from `fingerprintOf`. */
  readonly fingerprint: string
}

/** The text is not a valid idempotency key. */
export class InvalidIdempotencyKey extends Schema.TaggedError<InvalidIdempotencyKey>()("InvalidIdempotencyKey", {}) {
  override get message(): string {
    return "An idempotency key must be 1 to 255 visible ASCII characters, like a UUID."
  }
}

/** Reads the key of a request. */
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

/** The first request with the key is still in progress. */
export class KeyInUse extends Schema.TaggedError<KeyInUse>()("KeyInUse", {}) {
  get said(): Sentence {
    return say("error_key_in_use")
  }

  override get message(): string {
    return english(this.said)
  }
}

const encoder = new TextEncoder()

/** Returns a hash of a request's text. */
export const fingerprintOf = (crypto: Crypto["Service"], text: string): Effect.Effect<string> =>
  Effect.mapEager(crypto.sha256(encoder.encode(text)), Hex.encode)

/**
 * Returns the idempotency key and content hash of a publish request. HTTP and in-process publishing share one set of
 * keys.
 */
export const publishRequest = (
  crypto: Crypto["Service"],
  key: string,
  text: string
): Effect.Effect<IdempotentRequest> =>
  Effect.mapEager(fingerprintOf(crypto, text), (fingerprint) => ({ key: `events ${key}`, fingerprint }))
