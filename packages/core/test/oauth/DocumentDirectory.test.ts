import { BuildingId, Crypto, Directory, DocumentDirectory, TenantId, UserId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { directoryValue, readDirectory } from "./fixtures.ts"

const document = readDirectory(directoryValue)
const layer = DocumentDirectory.layer(document).pipe(Layer.provide(Crypto.layerWebCrypto))

const admin = UserId.make("admin@example.com")
const tenant = UserId.make("tenant@example.com")
const [north, other] = [BuildingId.make(1), BuildingId.make(2)]
const [flat, otherFlat] = [TenantId.make(101), TenantId.make(102)]

describe("DocumentDirectory", () => {
  it.effect("authenticates users by exact login and password", () =>
    Effect.gen(function* () {
      const directory = yield* Directory
      const authenticate = (login: string, password: string) => directory.authenticate(login, Redacted.make(password))
      assert.deepStrictEqual(yield* authenticate("admin@example.com", "correct horse"), { id: admin })
      assert.isNull(yield* authenticate("admin@example.com", "Correct horse"))
      assert.isNull(yield* authenticate("admin@example.com", ""))
      assert.isNull(yield* authenticate("Admin@example.com", "correct horse"))
      assert.isNull(yield* authenticate("tenant@example.com", "correct horse"))
      assert.isNull(yield* authenticate("nobody@example.com", "correct horse"))
    }).pipe(Effect.provide(layer))
  )

  it.effect("does the same work for an unknown login as for a wrong password", () =>
    Effect.gen(function* () {
      const crypto = yield* Crypto
      let hashed = 0
      const counting = Layer.succeed(Crypto, {
        ...crypto,
        sha256: (bytes) =>
          Effect.andThen(
            Effect.sync(() => hashed++),
            crypto.sha256(bytes)
          )
      })
      yield* Effect.gen(function* () {
        const directory = yield* Directory
        yield* directory.authenticate("admin@example.com", Redacted.make("wrong"))
        const wrongPassword = hashed
        yield* directory.authenticate("nobody@example.com", Redacted.make("wrong"))
        assert.strictEqual(hashed, 2 * wrongPassword)
      }).pipe(Effect.provide(DocumentDirectory.layer(document).pipe(Layer.provide(counting))))
    }).pipe(Effect.provide(Crypto.layerWebCrypto))
  )

  it.effect("denies all buildings and tenants that are not the user's", () =>
    Effect.gen(function* () {
      const directory = yield* Directory
      assert.isTrue(yield* directory.administers(admin, north))
      assert.isFalse(yield* directory.administers(admin, other))
      assert.isFalse(yield* directory.administers(tenant, north))
      assert.isTrue(yield* directory.isTenant(tenant, flat))
      assert.isFalse(yield* directory.isTenant(tenant, otherFlat))
      assert.isFalse(yield* directory.isTenant(admin, flat))
      assert.deepStrictEqual(
        (yield* directory.buildings(admin)).map(({ id }) => id),
        [north]
      )
      assert.deepStrictEqual(yield* directory.buildings(tenant), [])
      assert.deepStrictEqual(
        (yield* directory.tenants(tenant)).map(({ id }) => id),
        [flat]
      )
      assert.deepStrictEqual(yield* directory.tenants(admin), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("answers from a new document immediately", () =>
    Effect.gen(function* () {
      const directory = yield* Directory
      const [, remaining] = document.users
      if (remaining === undefined) return assert.fail("the fixture has two users")
      yield* (yield* DocumentDirectory).replace({ ...document, clients: [], users: [remaining] })
      assert.isFalse(yield* directory.isActive(admin))
      assert.isTrue(yield* directory.isActive(tenant))
      assert.isFalse(yield* directory.administers(admin, north))
      assert.isNull(yield* directory.authenticate("admin@example.com", Redacted.make("correct horse")))
      assert.isNull(yield* directory.client("c1"))
    }).pipe(Effect.provide(layer))
  )
})
