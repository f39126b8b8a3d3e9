import { assert, describe, it } from "@effect/vitest"
import type { KnownClient } from "@doorhook/core"
import {
  ClientId,
  Clients,
  ClientStore,
  Crypto,
  Directory,
  DocumentDirectory,
  isConfidential,
  MemoryStore
} from "@doorhook/core"
import { Clock, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as ClientAuthentication from "../../src/oauth/ClientAuthentication.ts"
import { makeFindClient } from "../../src/ports/KnownClients.ts"
import { makeSecrets } from "../../src/oauth/Secrets.ts"

const findClient = Effect.fnUntraced(function* (id: string) {
  return yield* makeFindClient(yield* Directory, yield* ClientStore)(id)
})

const isSecretOf = Effect.fnUntraced(function* (client: KnownClient, secret: string) {
  const now = yield* Clock.currentTimeMillis
  return yield* ClientAuthentication.isSecretOf(makeSecrets(yield* Crypto), client, secret, now)
})

const directory = DocumentDirectory.layer({
  clients: [{ id: ClientId.make("own"), name: "Own", redirect_uris: [] }],
  users: [],
  buildings: [],
  tenants: []
})

const clientsWith = (directory: Layer.Layer<Directory, never, Crypto>) =>
  Clients.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(directory, MemoryStore.layer)),
    Layer.provideMerge(Crypto.layerWebCrypto),
    Layer.fresh
  )

const layer = clientsWith(directory)

const wanted = { name: "Acme", redirect_uris: ["https://client.example/cb"], confidential: true }

describe("a registered client", () => {
  it.effect("authenticates with its secret, of which only a hash is stored", () =>
    Effect.gen(function* () {
      const { client, secret } = yield* (yield* Clients).add({ ...wanted, id: "acme" })
      const found: KnownClient | null = yield* findClient("acme")
      assert.deepStrictEqual(found, client)
      if (found === null || secret === null) return assert.fail("no client or no secret")
      assert.isTrue(isConfidential(found))
      assert.isTrue(yield* isSecretOf(found, Redacted.value(secret)))
      assert.isFalse(yield* isSecretOf(found, `${Redacted.value(secret)}x`))
      assert.notInclude(JSON.stringify(yield* (yield* ClientStore).list), Redacted.value(secret))
    }).pipe(Effect.provide(layer))
  )

  it.effect("has two valid secrets during a rotation, and one afterwards", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const first = yield* clients.add({ ...wanted, id: "acme" })
      const second = yield* clients.rotate("acme", 60_000)
      const good = Effect.gen(function* () {
        const found = yield* findClient("acme")
        if (found === null || first.secret === null || second.secret === null) return []
        return [
          yield* isSecretOf(found, Redacted.value(first.secret)),
          yield* isSecretOf(found, Redacted.value(second.secret))
        ]
      })
      assert.deepStrictEqual(yield* good, [true, true])
      yield* TestClock.adjust(59_999)
      assert.deepStrictEqual(yield* good, [true, true])
      // A later rotation with a longer overlap does not extend the life of the first secret.
      yield* clients.rotate("acme", 600_000)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* good, [false, true])
      yield* TestClock.adjust(600_000)
      assert.deepStrictEqual(yield* good, [false, false])
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps every secret that concurrent rotations returned", () =>
    Effect.gen(function* () {
      const store = yield* ClientStore
      // Every rotation reads the same secrets before the first rotation replaces them.
      const slow = { ...store, find: (id: ClientId) => Effect.tap(store.find(id), Effect.yieldNow) }
      const clients = yield* Clients.pipe(
        Effect.provide(Layer.fresh(Clients.layer).pipe(Layer.provide(Layer.succeed(ClientStore, slow))))
      )
      yield* clients.add({ ...wanted, id: "acme" })
      const rotated = yield* Effect.all(
        Array.from({ length: 5 }, () => clients.rotate("acme", 60_000)),
        { concurrency: "unbounded" }
      )
      const found = yield* findClient("acme")
      if (found === null) return assert.fail("no client")
      for (const { secret } of rotated)
        assert.isTrue(secret !== null && (yield* isSecretOf(found, Redacted.value(secret))))
    }).pipe(Effect.provide(layer))
  )

  it.effect("is refused with all reasons", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const error = yield* Effect.flip(
        clients.add({
          id: "a b",
          name: " ",
          redirect_uris: ["http://evil.example/", "https://ok.example/", "https://ok.example/cb?state=1"],
          confidential: true
        })
      )
      assert.strictEqual(error._tag, "InvalidInput")
      if (error._tag !== "InvalidInput") return
      assert.deepStrictEqual(
        error.problems.map(({ pointer }) => pointer),
        ["/id", "/name", "/redirect_uris/0", "/redirect_uris/2"]
      )
      const hidden = yield* Effect.flip(clients.add({ ...wanted, name: "Ac\u0000me" }))
      assert.strictEqual(hidden.message, "/name: must have no control characters")
      yield* clients.add({ ...wanted, id: "acme" })
      assert.strictEqual((yield* Effect.flip(clients.add({ ...wanted, id: "acme" })))._tag, "ClientExists")
      assert.strictEqual((yield* Effect.flip(clients.rotate("unknown", 0)))._tag, "UnknownClient")
      yield* clients.add({ ...wanted, id: "app", confidential: false })
      assert.strictEqual((yield* Effect.flip(clients.rotate("app", 0)))._tag, "ClientIsPublic")
    }).pipe(Effect.provide(layer))
  )

  it.effect("can't have the id of one of the directory's clients", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Clients).add({ ...wanted, id: "own" }))
      assert.strictEqual(error._tag, "ClientExists")
      assert.strictEqual((yield* Effect.flip((yield* Clients).remove("own")))._tag, "UnknownClient")
    }).pipe(Effect.provide(layer))
  )

  it.effect("may have an id that the directory has in another spelling", () => {
    const careless = Layer.mock(Directory, {
      client: () => Effect.succeed({ id: ClientId.make("Acme"), name: "Own", redirect_uris: [] })
    })
    return Effect.gen(function* () {
      const { client } = yield* (yield* Clients).add({ ...wanted, id: "acme" })
      assert.deepStrictEqual(yield* findClient("acme"), client)
      assert.strictEqual((yield* Effect.flip((yield* Clients).add({ ...wanted, id: "Acme" })))._tag, "ClientExists")
    }).pipe(Effect.provide(clientsWith(careless)))
  })
})
