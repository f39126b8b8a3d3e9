/**
 * Deletes what has served its time: old events with their settled deliveries, expired tokens, codes and idempotency keys.
 *
 * In small batches with pauses between, so that deliveries never wait for it. Several workers over one store may do so at
 * once; it is only done sooner.
 */
import { Clock, Effect, Layer } from "effect"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { lasting } from "./Lasting.ts"

/** How often it looks, in milliseconds. */
const interval = 60_000

/** How many rows one transaction deletes at most. */
const batch = 500

/** The pause between two transactions, in milliseconds. */
const pause = 50

type Stores = DeliveryStore | IdempotencyStore | TokenStore

/** Deletes batch after batch until one is not full. */
const drain = (purge: (now: number, limit: number) => Effect.Effect<number, StoreError>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => purge(now, batch)).pipe(
    Effect.delay(pause),
    Effect.repeat({ while: (purged) => purged === batch })
  )

/** One round through everything. */
export const houseKeep: Effect.Effect<void, StoreError, Stores | DeliverySettings> = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const keys = yield* IdempotencyStore
  const tokens = yield* TokenStore
  const { retention } = yield* DeliverySettings
  yield* drain(tokens.purgeExpired)
  yield* drain(keys.purgeExpired)
  if (retention === null) return
  const before = (yield* Clock.currentTimeMillis) - retention
  let after: number | null = 0
  while (after !== null) {
    const purged: { readonly next: number | null } = yield* deliveries.purge({ before, after, limit: batch })
    after = purged.next
    if (after !== null) yield* Effect.sleep(pause)
  }
})

/** Goes on for as long as the scope lives. A round that fails is made again at its next time. */
export const layer: Layer.Layer<never, never, Stores | DeliverySettings> = Layer.effectDiscard(
  houseKeep.pipe(
    Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
    Effect.andThen(Effect.sleep(interval)),
    (round) => lasting("Deleting what has served its time", round, interval),
    Effect.forkScoped
  )
)
