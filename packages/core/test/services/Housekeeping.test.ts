/**
 * What keeps deleting what has served its time.
 */
import { assert, describe, it } from "@effect/vitest"
import { DeliverySettings, Housekeeping, MemoryStore, TokenStore } from "@doorhook/core"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

describe("housekeeping", () => {
  it.effect("goes on each minute, also after a round that ended in a defect", () => {
    const rounds: Array<number> = []
    const broken = Layer.effect(
      TokenStore,
      Effect.map(TokenStore, (store) => ({
        ...store,
        purgeExpired: () =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            rounds.push(now)
            return rounds.length === 2 ? Effect.die(new Error("a defect")) : Effect.succeed(0)
          })
      }))
    )
    return Effect.gen(function* () {
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(
        rounds.map((at) => Math.round(at / 60_000)),
        [0, 1, 2, 3, 4]
      )
    }).pipe(
      Effect.provide(
        Housekeeping.layer.pipe(
          Layer.provide(broken),
          Layer.provide(Layer.mergeAll(MemoryStore.layer, DeliverySettings.layer()))
        )
      )
    )
  })
})
