/**
 * Publishing to a building that has an integration with a damaged row. All ways to publish must behave the same on all
 * databases.
 */
import type { IntegrationStore } from "@doorhook/core"
import { Crypto, DeliverySettings, DeliveryStore, Dispatcher, Publisher } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect, Layer } from "effect"

const { claim, createIntegration } = StoreFixtures

/** Columns and the values that damage them. */
export const damages = [
  ["signing_secret", "'sealed:v1:AAAA'"],
  ["overrides", "'odd'"],
  ["status", "'odd'"],
  ["bindings", "'odd'"],
  ["bindings", "'{}'"],
  ["bindings", `'[{"resource_type":"Odd","actions":["create"]}]'`],
  ["bindings", `'[{"resource_type":"call"}]'`]
] as const

/** A publisher without a dispatcher. */
export const publisher = Layer.fresh(
  Publisher.layer.pipe(Layer.provide([Dispatcher.layerNone, DeliverySettings.layer(), Crypto.layerWebCrypto]))
)

/** Publishes an event and returns its number of deliveries. */
type Publish<E, R> = Effect.Effect<number, E, R>

/**
 * Checks that an event is stored for a sound and a damaged integration, and that the sound one gets it. The delivery to
 * the damaged one is cancelled, and can be sent once the row is repaired.
 */
export const storesForBoth = Effect.fnUntraced(function* <E, R>(
  tamper: (statement: string) => Effect.Effect<unknown>,
  publish: Publish<E, R>,
  [column, value]: (typeof damages)[number]
): Effect.fn.Return<void, unknown, R | DeliveryStore | IntegrationStore | Scope.Scope> {
  const damaged = yield* createIntegration()
  const sound = yield* createIntegration()
  yield* tamper(`UPDATE integrations SET ${column} = ${value} WHERE id = ${damaged.id}`)
  assert.strictEqual(yield* publish, 2)

  const store = yield* DeliveryStore
  const leasedTo = (now: number) =>
    Effect.map(claim(now), (claimed) => claimed.map(({ integration }) => integration.id))
  assert.deepEqual(yield* leasedTo(2 ** 50), [sound.id])
  const [failed, sent] = yield* store.list({ limit: 9 })
  assert.deepInclude(failed, { integration_id: damaged.id, state: "cancelled", reason: "row_unreadable" })
  assert.deepInclude(sent, { integration_id: sound.id, state: "delivering" })

  yield* tamper(
    `UPDATE integrations SET ${column} = (SELECT s.${column} FROM integrations AS s WHERE s.id = ${sound.id}) WHERE id = ${damaged.id}`
  )
  const redelivered = yield* store.redeliver({ type: "integration", id: damaged.id, since: 0 }, 2 ** 51)
  assert.deepInclude(redelivered, { _tag: "Redelivered", count: 1 })
  assert.deepEqual(yield* leasedTo(2 ** 51), [damaged.id])
})
