import {
  DeliverySettings,
  Dispatcher,
  IntegrationStore,
  MemoryStore,
  OperatorIntegrations,
  WakeSignal
} from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { newIntegration } from "../../src/testing/Fixtures.ts"

/** The change that another process makes between the check and the write. */
const between = { change: Effect.void }
const RacingStore = Layer.effect(
  IntegrationStore,
  Effect.gen(function* () {
    const store = yield* IntegrationStore
    return {
      ...store,
      findWithHealth: (id) =>
        Effect.tap(store.findWithHealth(id), () => {
          const { change } = between
          between.change = Effect.void
          return change
        })
    }
  })
)

const layer = OperatorIntegrations.layer.pipe(
  Layer.provide(Layer.mergeAll(Layer.orDie(DeliverySettings.layer()), Dispatcher.layerNone, WakeSignal.layerLocal)),
  Layer.provideMerge(RacingStore),
  Layer.provideMerge(MemoryStore.layer)
)

describe("a header whose hidden value is written back", () => {
  it.effect("stays removed if it was removed at the same moment", () =>
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const integrations = yield* OperatorIntegrations
      const headers = { "x-kept": Redacted.make("one"), "x-removed": Redacted.make("two") }
      const stored = yield* store.create(newIntegration({ overrides: { headers } }))
      const overrides = { headers: { "x-kept": headers["x-kept"] } }
      between.change = Effect.orDie(
        Effect.asVoid(store.update({ ...stored, overrides, version: stored.version + 1 }, stored.version))
      )
      const { integration } = yield* integrations.set(stored.id, {
        overrides: { headers: { "x-kept": "(hidden)", "x-removed": "(hidden)" } }
      })
      assert.deepStrictEqual(Object.keys(integration.overrides.headers ?? {}), ["x-kept"])
      assert.strictEqual(Redacted.value(integration.overrides.headers?.["x-kept"] ?? Redacted.make("")), "one")
    }).pipe(Effect.provide(layer))
  )
})
