import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Option, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { parseNetwork } from "../../src/model/AddressPolicy.ts"
import {
  BuildingId,
  ClientId,
  Crypto,
  DeliveryPolicy,
  DeliverySettings,
  Directory,
  Dispatcher,
  IntegrationId,
  Integrations,
  IntegrationStore,
  MemoryStore,
  NameResolver,
  UserId
} from "../../src/index.ts"
import type { DeliverySettingsOverrides, Scope } from "../../src/index.ts"

const actor = { user_id: UserId.make("admin"), client_id: ClientId.make("client") }
const building: Scope = { type: "building", id: BuildingId.make(1) }

const directory = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => Effect.succeed(true),
  administers: (user, id) => Effect.succeed(user === "admin" && id === 1),
  isTenant: () => Effect.succeed(false),
  buildings: () => Effect.succeed([]),
  tenants: () => Effect.succeed([])
})

const forgotten: Array<IntegrationId> = []

const dispatcher = Layer.effect(
  Dispatcher,
  Effect.map(Effect.provide(Dispatcher, Dispatcher.layerNone), (none) => ({
    ...none,
    forget: (id) => Effect.sync(() => forgotten.push(id))
  }))
)

/** Makes the service over a memory store. `options` can replace parts of the store and the name resolver. */
const integrations = (
  options: {
    readonly store?: (store: IntegrationStore["Service"]) => Partial<IntegrationStore["Service"]>
    readonly addresses?: (host: string) => Effect.Effect<ReadonlyArray<string>>
    readonly allow?: string
    readonly settings?: DeliverySettingsOverrides
  } = {}
) => {
  const allow = options.allow === undefined ? [] : Option.toArray(parseNetwork(options.allow))
  const store = Layer.effect(
    IntegrationStore,
    Effect.map(IntegrationStore, (stored) => ({ ...stored, ...options.store?.(stored) }))
  )
  return Integrations.layer.pipe(
    Layer.provideMerge(store),
    Layer.provide([
      directory,
      dispatcher,
      Crypto.layerWebCrypto,
      Layer.orDie(DeliverySettings.layer({ allow, ...options.settings })),
      Layer.succeed(NameResolver, { addresses: options.addresses ?? (() => Effect.succeed([])) })
    ]),
    Layer.provide(MemoryStore.layer),
    Layer.fresh
  )
}

const document = (url = "https://receiver.example/", types: ReadonlyArray<string> = ["call"]) => ({
  data: {
    type: "integrations",
    attributes: {
      integrator: "webhook",
      configuration: { url, method: "post" },
      bindings: types.map((resource_type) => ({ resource_type, actions: ["create"] }))
    }
  }
})

const patchOf = (attributes: object) => ({ data: { type: "integrations", attributes } })

const create = Effect.fnUntraced(function* (by = actor, url?: string) {
  return (yield* (yield* Integrations).create(by, building, document(url), null)).integration
})

/** Lets other fibers run between reading and writing. */
const slowly = integrations({
  store: (store) => ({ update: (next, expected) => Effect.andThen(Effect.yieldNow, store.update(next, expected)) })
})

describe("the URL of an integration", () => {
  const createAt = (url: string) => create(actor, url)

  it.effect("may have a name that does not resolve yet, but not one that resolves to a refused address", () =>
    Effect.gen(function* () {
      yield* createAt("https://unknown.example/")
      const error = yield* Effect.flip(createAt("https://inside.example./"))
      assert.strictEqual(error._tag, "InvalidInput")
      if (error._tag === "InvalidInput") assert.strictEqual(error.problems[0]?.code, "refused_address")
    }).pipe(
      Effect.provide(
        integrations({
          addresses: (host) => Effect.succeed(host === "inside.example" ? ["93.184.216.34", "192.168.1.1"] : [])
        })
      )
    )
  )

  it.effect("may resolve to addresses on the allow-list", () =>
    Effect.gen(function* () {
      yield* createAt("https://192.168.7.1/")
      yield* createAt("https://inside.example/")
      assert.strictEqual((yield* Effect.flip(createAt("https://192.168.8.1/")))._tag, "InvalidInput")
    }).pipe(Effect.provide(integrations({ allow: "192.168.7.0/24", addresses: () => Effect.succeed(["192.168.7.2"]) })))
  )

  it.effect("is accepted if its name takes too long to resolve", () =>
    Effect.gen(function* () {
      const creating = yield* Effect.forkChild(createAt("https://slow.example/"))
      while (creating.pollUnsafe() === undefined) {
        yield* TestClock.adjust(1_000)
        yield* Effect.yieldNow
      }
      assert.strictEqual((yield* Fiber.join(creating)).configuration.url, "https://slow.example/")
    }).pipe(Effect.provide(integrations({ addresses: () => Effect.never })))
  )

  it.effect("is not resolved for requests that don't change it", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const { id } = yield* createAt("https://receiver.example/")
      yield* service.patch(actor, building, id, patchOf({ status: "disabled" }), null)
    }).pipe(
      Effect.provide(
        integrations({
          addresses: (() => {
            let asked = 0
            return () => (asked++ === 0 ? Effect.succeed([]) : Effect.die("asked again"))
          })()
        })
      )
    )
  )
})

describe("reading an integration", () => {
  it.effect("needs no fiber if the directory and the store answer synchronously", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const integration = yield* create()
      const found = service.get(actor, building, integration.id)
      const missing = service.get(actor, building, IntegrationId.make(99))
      const elsewhere = service.get(actor, { type: "building", id: BuildingId.make(2) }, integration.id)
      assert.deepStrictEqual([found, missing, elsewhere].map(Exit.isExit), [true, true, true])
      assert.deepStrictEqual(yield* found, integration)
      assert.strictEqual((yield* Effect.flip(missing))._tag, "IntegrationNotFound")
      assert.strictEqual((yield* Effect.flip(elsewhere))._tag, "ScopeNotFound")
    }).pipe(Effect.provide(integrations()))
  )
})

describe("concurrent changes", () => {
  it.effect("are all made", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const { id } = yield* create()
      yield* Effect.all(
        [
          service.patch(actor, building, id, patchOf({ status: "disabled" }), null),
          service.patch(actor, building, id, patchOf({ configuration: { url: "https://new.example/" } }), null),
          service.patch(
            actor,
            building,
            id,
            patchOf({ bindings: document("", ["access_log"]).data.attributes.bindings }),
            null
          )
        ],
        { concurrency: "unbounded" }
      )
      const changed = yield* service.get(actor, building, id)
      assert.strictEqual(changed.status, "disabled")
      assert.strictEqual(changed.configuration.url, "https://new.example/")
      assert.strictEqual(changed.bindings[0]?.resource_type, "access_log")
      assert.strictEqual(changed.version, 4)
    }).pipe(Effect.provide(slowly))
  )

  it.effect("are refused if they require an older version", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const { id, version } = yield* create()
      const change = (url: string) =>
        service.patch(actor, building, id, patchOf({ configuration: { url } }), [version]).pipe(Effect.exit)
      const results = yield* Effect.all([change("https://a.example/"), change("https://b.example/")], {
        concurrency: "unbounded"
      })
      assert.strictEqual(results.filter((exit) => exit._tag === "Success").length, 1)
      const error = yield* Effect.flip(service.remove(actor, building, id, [version]))
      assert.strictEqual(error._tag, "VersionConflict")
      assert.strictEqual((yield* service.get(actor, building, id)).version, version + 1)
    }).pipe(Effect.provide(slowly))
  )

  it.effect("delete nothing that changed since the caller read it, unless the caller requires no version", () => {
    const patch = (status: string) => patchOf({ status })
    let change: Effect.Effect<unknown, unknown> = Effect.void
    return Effect.gen(function* () {
      const service = yield* Integrations
      const { id, version } = yield* create()
      change = service.patch(actor, building, id, patch("disabled"), null)
      const conflict = yield* Effect.flip(service.remove(actor, building, id, [version]))
      assert.strictEqual(conflict._tag, "VersionConflict")
      assert.strictEqual((yield* service.get(actor, building, id)).version, version + 1)
      change = service.patch(actor, building, id, patch("enabled"), null)
      yield* service.remove(actor, building, id, null)
      const gone = yield* Effect.flip(service.get(actor, building, id))
      assert.strictEqual(gone._tag, "IntegrationNotFound")
    }).pipe(
      // Makes another change between the caller's read and the deletion.
      Effect.provide(
        integrations({
          store: (store) => ({
            remove: (found) =>
              Effect.suspend(() => {
                const before = change
                change = Effect.void
                return Effect.andThen(Effect.orDie(before), store.remove(found))
              })
          })
        })
      )
    )
  })

  it.effect("increase updated_at even within one millisecond", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const created = yield* create()
      const changed = yield* service.patch(actor, building, created.id, patchOf({ status: "disabled" }), null)
      assert.isAbove(changed.updated_at, created.updated_at)
      assert.strictEqual(changed.created_at, created.created_at)
    }).pipe(Effect.provide(integrations()))
  )
})

describe("a change that is stored", () => {
  it.effect("reaches the dispatcher even if the caller is interrupted", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const { id } = yield* create()
      forgotten.length = 0
      const removing = yield* Effect.forkChild(service.remove(actor, building, id, null))
      while ((yield* (yield* IntegrationStore).find(id)) !== null) yield* Effect.yieldNow
      yield* Fiber.interrupt(removing)
      assert.deepStrictEqual(forgotten, [id])
    }).pipe(
      // The store removes the integration immediately but answers late. The caller is interrupted in between.
      Effect.provide(
        integrations({
          store: (store) => ({
            remove: (found) => Effect.tap(store.remove(found), () => Effect.repeat(Effect.yieldNow, { times: 10 }))
          })
        })
      )
    )
  )
})

describe("an idempotency key", () => {
  it.effect("returns the created integration for the same request, and refuses a different one", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const first = yield* service.create(actor, building, document(), "k1")
      const again = yield* service.create(actor, building, document(), "k1")
      assert.deepStrictEqual([first.replayed, again.replayed], [false, true])
      assert.strictEqual(again.integration.id, first.integration.id)
      const other = yield* Effect.flip(service.create(actor, building, document("https://other.example/"), "k1"))
      assert.strictEqual(other._tag, "KeyReused")
      const { total } = yield* service.list(actor, building, { offset: 0, limit: 10 })
      assert.strictEqual(total, 1)
      yield* TestClock.adjust("24 hours")
      const later = yield* service.create(actor, building, document(), "k1")
      assert.isFalse(later.replayed, "a day later the key is free")
    }).pipe(Effect.provide(integrations()))
  )

  it.effect("carries out one of twenty concurrent requests; the others get its result or must wait", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const exits = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.result(service.create(actor, building, document(), "k1")),
        { concurrency: "unbounded" }
      )
      const made = exits.filter((result) => Result.isSuccess(result) && !result.success.replayed)
      assert.strictEqual(made.length, 1)
      for (const result of exits) if (Result.isFailure(result)) assert.strictEqual(result.failure._tag, "KeyInUse")
      const { total } = yield* service.list(actor, building, { offset: 0, limit: 50 })
      assert.strictEqual(total, 1)
    }).pipe(
      Effect.provide(
        integrations({
          store: (store) => ({ create: (...fields) => Effect.andThen(Effect.yieldNow, store.create(...fields)) })
        })
      )
    )
  )
})

describe("a rotated secret", () => {
  it.effect("is new and used immediately, and the previous secret signs for another day", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const integration = yield* create()
      yield* TestClock.adjust("1 hour")
      forgotten.length = 0
      const rotated = yield* service.rotateSecret(actor, building, integration.id, null)
      assert.notStrictEqual(Redacted.value(rotated.signing_secret), Redacted.value(integration.signing_secret))
      assert.deepStrictEqual(forgotten, [integration.id])
      const now = yield* Clock.currentTimeMillis
      const secretsAt = (time: number) => DeliveryPolicy.secretsOf(rotated, time).map((each) => Redacted.value(each))
      const [fresh, old] = [Redacted.value(rotated.signing_secret), Redacted.value(integration.signing_secret)]
      assert.deepStrictEqual(secretsAt(now), [fresh, old])
      assert.deepStrictEqual(secretsAt(now + 86_399_999), [fresh, old])
      assert.deepStrictEqual(secretsAt(now + 86_400_000), [fresh])
      const error = yield* Effect.flip(service.rotateSecret(actor, building, integration.id, [integration.version]))
      assert.strictEqual(error._tag, "VersionConflict")
    }).pipe(Effect.provide(integrations()))
  )

  it.effect("leaves each earlier secret signing until its own day is over, at most five", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const integration = yield* create()
      const secrets = [Redacted.value(integration.signing_secret)]
      let rotated = integration
      const rotate = Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        rotated = yield* service.rotateSecret(actor, building, integration.id, null)
        secrets.unshift(Redacted.value(rotated.signing_secret))
      })
      const signers = Effect.map(Clock.currentTimeMillis, (now) =>
        DeliveryPolicy.secretsOf(rotated, now).map((each) => Redacted.value(each))
      )
      yield* rotate
      yield* rotate
      assert.deepStrictEqual(yield* signers, secrets)
      yield* TestClock.adjust("23 hours")
      assert.deepStrictEqual(yield* signers, secrets.slice(0, 2), "the oldest one's day ended first")
      for (let count = 0; count < 7; count++) yield* rotate
      assert.deepStrictEqual(yield* signers, secrets.slice(0, 1 + DeliveryPolicy.maxPreviousSecrets))
    }).pipe(Effect.provide(integrations()))
  )
})

describe("an integration that another client created", () => {
  const rival = { ...actor, client_id: ClientId.make("rival") }
  const page = { offset: 0, limit: 10 }

  it.effect(
    "can be read and changed by any client of a user with the right, but only its creator can rotate its secret",
    () =>
      Effect.gen(function* () {
        const service = yield* Integrations
        const integration = yield* create()
        const { id, version } = integration
        assert.deepStrictEqual(yield* service.get(rival, building, id), integration)
        assert.strictEqual((yield* service.list(rival, building, page)).total, 1)
        for (const expected of [null, [version], [version + 1]]) {
          const refused = yield* Effect.flip(service.rotateSecret(rival, building, id, expected))
          assert.strictEqual(refused._tag, "NotYourIntegration")
        }
        assert.deepStrictEqual(yield* service.get(actor, building, id), integration)
        // Any user with the right may rotate the secret through the client that created the integration.
        yield* service.rotateSecret({ ...actor, user_id: UserId.make("admin") }, building, id, null)
        assert.strictEqual(
          (yield* service.patch(rival, building, id, patchOf({ status: "disabled" }), null)).version,
          3
        )
        yield* service.replace(rival, building, id, document("https://other.example/"), null)
        yield* service.remove(rival, building, id, null)
        assert.strictEqual((yield* service.list(actor, building, page)).total, 0)
      }).pipe(Effect.provide(integrations()))
  )

  it.effect("does not exist for other clients if clients are isolated, but counts for the limit", () =>
    Effect.gen(function* () {
      const service = yield* Integrations
      const integration = yield* create()
      const { id } = integration
      const own = yield* create(rival)
      const refusals: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        service.get(rival, building, id),
        service.replace(rival, building, id, document(), null),
        service.patch(rival, building, id, patchOf({ status: "disabled" }), null),
        service.rotateSecret(rival, building, id, null),
        service.remove(rival, building, id, null)
      ]
      for (const refused of refusals) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "IntegrationNotFound")
      }
      assert.deepStrictEqual(yield* service.list(rival, building, page), { items: [own], total: 1 })
      assert.deepStrictEqual(yield* service.list(actor, building, page), { items: [integration], total: 1 })
      assert.deepStrictEqual(yield* service.get(actor, building, id), integration)
      const full = yield* Effect.flip(service.create(rival, building, document(), null))
      assert.strictEqual(full._tag, "LimitReached")
    }).pipe(Effect.provide(integrations({ settings: { clientIsolation: true, integrationsPerScope: 2 } })))
  )
})
