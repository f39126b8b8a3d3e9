/**
 * On SQLite, a request for a single integration runs synchronously, without a fiber.
 */
import {
  Crypto,
  DeliverySettings,
  Directory,
  Dispatcher,
  Integrations,
  NameResolver,
  UserId,
  ClientId
} from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"

const directory = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => Effect.succeed(true),
  administers: (user) => Effect.succeed(user === "admin"),
  isTenant: () => Effect.succeed(false),
  buildings: () => Effect.succeed([]),
  tenants: () => Effect.succeed([])
})

const layer = Integrations.layer.pipe(
  Layer.provideMerge(SqliteStore.layer({ filename: ":memory:" })),
  Layer.provide([
    directory,
    Dispatcher.layerNone,
    Crypto.layerWebCrypto,
    Layer.orDie(DeliverySettings.layer()),
    Layer.succeed(NameResolver, { addresses: () => Effect.succeed([]) })
  ])
)

it.effect("an integration is found, or the request is refused, synchronously", () =>
  Effect.gen(function* () {
    const { get } = yield* Integrations
    const scope = StoreFixtures.building(1)
    const integration = yield* StoreFixtures.createIntegration({ scope })
    const as = (user: string) => ({ user_id: UserId.make(user), client_id: ClientId.make("client") })
    const found = get(as("admin"), scope, integration.id)
    const refused = get(as("nobody"), scope, integration.id)
    assert.deepStrictEqual([found, refused].map(Exit.isExit), [true, true])
    assert.deepStrictEqual(yield* found, integration)
    assert.strictEqual((yield* Effect.flip(refused))._tag, "ScopeNotFound")
  }).pipe(Effect.provide(layer))
)
