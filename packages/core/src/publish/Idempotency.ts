/**
 * Handles the `Idempotency-Key` header. A repeated request gets the first answer; a different request with the same key
 * fails.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Crypto } from "../ports/Crypto.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import { EventId } from "../model/Ids.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { idempotencyTtl } from "../ports/IdempotencyStore.ts"

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

/** An accepted event, and its number of deliveries, including skipped ones. */
export interface Published {
  readonly id: EventId
  readonly deliveries: number
}

/** The stored form of an answer. */
const Answer = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: EventId, deliveries: Schema.Int })))
const encodeAnswer = Schema.encodeSync(Answer)

/** Reads a stored answer. An unreadable answer is a defect, because doorhook did not write it. */
export const decodeAnswer = ({ answer }: IdempotencyRecord): Effect.Effect<ReadonlyArray<Published>> =>
  Effect.orDie(Schema.decodeUnknownEffect(Answer)(answer))

/** Makes the record for a call that is carried out at `now`. */
export const makeRecord = (
  request: IdempotentRequest,
  published: ReadonlyArray<Published>,
  now: number
): IdempotencyRecord => ({
  ...request,
  answer: encodeAnswer(published),
  created_at: now,
  expires_at: now + idempotencyTtl
})

/** The calls of a batch, grouped by how they are handled. */
export interface Partitioned<Call> {
  readonly fresh: ReadonlyArray<Call>
  /** Calls that repeat an earlier request with a stored record. */
  readonly replayed: ReadonlyArray<{ readonly call: Call; readonly as: IdempotencyRecord }>
  /** Calls that repeat a fresh call of this batch. */
  readonly repeated: ReadonlyArray<{ readonly call: Call; readonly of: Call }>
  /** Calls whose key was used for a different request. */
  readonly refused: ReadonlyArray<Call>
}

/** Groups the calls of a batch, given the stored records for their keys. */
export const partitionByKey = <Call extends { readonly request: IdempotentRequest | null }>(
  calls: ReadonlyArray<Call>,
  remembered: ReadonlyArray<IdempotencyRecord>
): Partitioned<Call> => {
  const known = new Map(remembered.map((each) => [each.key, each]))
  const first = new Map<string, Call>()
  const fresh: Array<Call> = []
  const replayed: Array<{ readonly call: Call; readonly as: IdempotencyRecord }> = []
  const repeated: Array<{ readonly call: Call; readonly of: Call }> = []
  const refused: Array<Call> = []
  for (const call of calls) {
    const { request } = call
    const as = request === null ? undefined : known.get(request.key)
    const of = request === null ? undefined : first.get(request.key)
    const before = as ?? of?.request
    if (request === null || before === undefined || before === null) {
      fresh.push(call)
      if (request !== null) first.set(request.key, call)
    } else if (before.fingerprint !== request.fingerprint) refused.push(call)
    else if (as !== undefined) replayed.push({ call, as })
    else if (of !== undefined) repeated.push({ call, of })
  }
  return { fresh, replayed, repeated, refused }
}
