/**
 * Idempotency keys in memory.
 */
import { Effect, Layer } from "effect"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import { MemoryState } from "./MemoryState.ts"

const make = Effect.gen(function* () {
  const { keys } = yield* MemoryState
  return IdempotencyStore.of({
    find: (wanted, now) =>
      Effect.sync(() =>
        wanted.flatMap((key) => {
          const found = keys.get(key)
          return found !== undefined && found.expires_at > now ? [found] : []
        })
      ),
    purgeExpired: (now, limit) =>
      Effect.sync(() => {
        const expired = [...keys.values()].filter(({ expires_at }) => expires_at <= now).slice(0, limit)
        for (const { key } of expired) keys.delete(key)
        return expired.length
      })
  })
})

/** Requires the state shared by the memory stores. */
export const layer: Layer.Layer<IdempotencyStore, never, MemoryState> = Layer.effect(IdempotencyStore, make)
