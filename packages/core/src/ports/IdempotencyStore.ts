/**
 * What is remembered of requests that came with an `Idempotency-Key`, so that a lost answer doubles nothing.
 *
 * Keys are stored by the call that carries the request out, in its transaction (`DeliveryStore.enqueue`,
 * `IntegrationStore.create`); here they are looked up and purged.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { StoreError } from "./StoreError.ts"

/** How long a key is remembered, in milliseconds. */
export const idempotencyTtl = 24 * 3_600_000

/** A request that was carried out. */
export interface IdempotencyRecord {
  /** What the sender called it, behind the name of whoever sent it. */
  readonly key: string
  /** A hash of what was asked for. */
  readonly fingerprint: string
  /** What to answer when it comes again: text that the caller understands. */
  readonly answer: string
  readonly created_at: number
  /** From then on the key is free, in milliseconds since the epoch. */
  readonly expires_at: number
}

/** The key of a request is remembered already: look it up, and answer from it. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {
  key: Schema.String
}) {
  override get message(): string {
    return `A request with the idempotency key ${this.key} was carried out meanwhile.`
  }
}

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /** Those of some keys that are remembered at a time. */
    readonly find: (
      keys: ReadonlyArray<string>,
      now: number
    ) => Effect.Effect<ReadonlyArray<IdempotencyRecord>, StoreError>
    /** Deletes at most `limit` expired keys; says how many. */
    readonly purgeExpired: (now: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/ports/IdempotencyStore") {}
