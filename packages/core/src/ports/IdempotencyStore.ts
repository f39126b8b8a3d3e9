/**
 * Stores records of requests with an `Idempotency-Key`, so that a repeated request has no second effect.
 *
 * The call that carries out the request stores its record in the same transaction (`DeliveryStore.enqueue`,
 * `IntegrationStore.create`). This service finds and purges records.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { StoreError } from "./StoreError.ts"

/** How long a record is kept, in milliseconds. */
export const idempotencyTtl = 24 * 3_600_000

/** The record of a request that was carried out. */
export interface IdempotencyRecord {
  /** The sender's key, prefixed with the sender's name. */
  readonly key: string
  /** A hash of the request's text. */
  readonly fingerprint: string
  /** The answer to a repeated request, in a format chosen by the caller. */
  readonly answer: string
  readonly created_at: number
  /** When the record expires and the key is free again, in milliseconds since the epoch. */
  readonly expires_at: number
}

/** The key already has a record. The caller should find this record and return its answer. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {
  key: Schema.String,
  /**
   * Present if open transactions of other processes use these keys, so that their records are not known yet. The caller
   * should repeat the requests later, and need not delay others.
   */
  busy: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message(): string {
    return this.busy === undefined
      ? `A request with the idempotency key ${this.key} has been carried out in the meantime.`
      : `A request with the idempotency key ${this.key} is being carried out.`
  }
}

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /** Returns the records of these keys that have not expired at `now`. */
    readonly find: (
      keys: ReadonlyArray<string>,
      now: number
    ) => Effect.Effect<ReadonlyArray<IdempotencyRecord>, StoreError>
    /** Deletes at most `limit` expired records. Returns their number. */
    readonly purgeExpired: (now: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/ports/IdempotencyStore") {}
