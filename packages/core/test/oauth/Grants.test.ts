import { assert, describe, it } from "@effect/vitest"
import { AuthorizationServer, ClientId, Directory, DirectoryError, Grants, unboundOnly, UserId } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { authorizeC1, bodyOf, exchangeOf, obtainCode, obtainPublicTokens, obtainTokens, testLayer } from "./fixtures.ts"

const admin = UserId.make("admin@example.com")
const nobody = UserId.make("nobody")

const layer = Grants.layer.pipe(Layer.provideMerge(testLayer()), Layer.fresh)

describe("grants of a user", () => {
  it.effect("are listed with the names of their clients, oldest first", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const grants = yield* Grants
      yield* obtainPublicTokens
      yield* TestClock.adjust(1)
      yield* obtainTokens
      // The code of this login is never redeemed, so the grant is not listed.
      yield* obtainCode(authorizeC1)
      const named = (yield* grants.list(admin)).map(({ client_name, grant }) => [
        client_name,
        grant.client_id,
        grant.created_at
      ])
      assert.deepStrictEqual(named, [
        ["Pocket app", "p1", 1_000_000],
        ["Acme", "c1", 1_000_001]
      ])
      assert.deepStrictEqual(yield* grants.list(nobody), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("have no client name if the client is unknown, which is looked up once", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const forgetful = Layer.mock(Directory, {
        client: (id) => Effect.sync(() => (asked.push(id), null))
      })
      yield* obtainTokens
      yield* obtainTokens
      const { list } = yield* Grants.pipe(Effect.provide(Layer.fresh(Grants.layer).pipe(Layer.provide(forgetful))))
      assert.deepStrictEqual(
        (yield* list(admin)).map(({ client_name }) => client_name),
        [null, null]
      )
      assert.deepStrictEqual(asked, ["c1"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("have no client name if the directory returns another client", () =>
    Effect.gen(function* () {
      const { client } = yield* Directory
      const careless = Layer.mock(Directory, {
        client: () => Effect.map(client("c1"), (found) => found && { ...found, id: ClientId.make("C1") })
      })
      yield* obtainTokens
      const { list } = yield* Grants.pipe(Effect.provide(Layer.fresh(Grants.layer).pipe(Layer.provide(careless))))
      assert.deepStrictEqual(
        (yield* list(admin)).map(({ client_name }) => client_name),
        [null]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not listed while the directory fails, but can be revoked", () =>
    Effect.gen(function* () {
      const silent = Layer.mock(Directory, {
        client: () => new DirectoryError({ operation: "client", cause: new Error("gone") })
      })
      yield* obtainTokens
      const grants = yield* Grants.pipe(Effect.provide(Layer.fresh(Grants.layer).pipe(Layer.provide(silent))))
      assert.strictEqual((yield* Effect.flip(grants.list(admin)))._tag, "DirectoryError")
      assert.strictEqual(yield* grants.revoke(admin, null), 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are revoked with their tokens and codes, all or only those to one client", () =>
    Effect.gen(function* () {
      const { authenticate, token } = yield* AuthorizationServer
      const grants = yield* Grants
      const app = yield* obtainPublicTokens
      const first = yield* obtainTokens
      const second = yield* obtainTokens
      const code = yield* obtainCode(authorizeC1)
      assert.strictEqual(yield* grants.revoke(admin, ClientId.make("c1")), 2)
      for (const { access_token } of [first, second]) assert.isNull(yield* authenticate(access_token, unboundOnly))
      const late = yield* Effect.flip(token(bodyOf(exchangeOf(code))))
      assert.include(late.message, "invalid_grant")
      assert.isNotNull(yield* authenticate(app.access_token, unboundOnly))
      assert.strictEqual(yield* grants.revoke(nobody, null), 0)
      assert.strictEqual(yield* grants.revoke(admin, null), 1)
      assert.isNull(yield* authenticate(app.access_token, unboundOnly))
      assert.deepStrictEqual(yield* grants.list(admin), [])
    }).pipe(Effect.provide(layer))
  )
})
