/**
 * Requests that arrive together read their rows by one statement.
 */
import { IntegrationId, IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { keptStore } from "./KeptStore.ts"

await describeOnPostgres("reads over PostgreSQL", (server) => {
  const store = keptStore(server)

  /** Replaces how the client runs statements until the scope ends. */
  const replaceUnsafe = Effect.fnUntraced(function* (
    make: (unsafe: SqlClient.SqlClient["unsafe"]) => SqlClient.SqlClient["unsafe"]
  ) {
    const sql = yield* SqlClient.SqlClient
    const { unsafe } = sql
    yield* Effect.acquireRelease(
      Effect.sync(() => Object.assign(sql, { unsafe: make(unsafe) })),
      () => Effect.sync(() => Object.assign(sql, { unsafe }))
    )
  })

  it.effect("that begin together are one statement, and each gets its own row or none", () =>
    Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const made = [
        yield* StoreFixtures.createIntegration(),
        yield* StoreFixtures.createIntegration(),
        yield* StoreFixtures.createIntegration()
      ].map(({ id }) => id)
      const statements: Array<string> = []
      yield* replaceUnsafe((unsafe) => (statement, ...rest) => {
        statements.push(statement)
        return unsafe(statement, ...rest)
      })
      const unknown = IntegrationId.make(999_999)
      const asked = [...made, unknown, ...made.toReversed()]
      const found = yield* Effect.forEach(asked, (id) => integrations.find(id), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        found.map((one) => one?.id ?? unknown),
        asked
      )
      assert.lengthOf(statements, 1)
      assert.strictEqual((yield* integrations.find(made[0] ?? unknown))?.id, made[0])
      assert.lengthOf(statements, 2)
    }).pipe(Effect.scoped, Effect.provide(store))
  )

  it.effect("all fail if their statement fails, and work again afterwards", () =>
    Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const { id } = yield* StoreFixtures.createIntegration()
      const failing = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* replaceUnsafe((unsafe) => () => unsafe("SELECT 1 / 0"))
        const results = yield* Effect.forEach([1, 2], () => Effect.result(integrations.find(id)), {
          concurrency: "unbounded"
        })
        assert.isTrue(results.every(Result.isFailure))
        const refused = yield* Effect.flip(sql.unsafe("SELECT 1"))
        assert.isTrue(SqlError.isSqlError(refused))
      })
      yield* Effect.scoped(failing)
      assert.strictEqual((yield* integrations.find(id))?.id, id)
    }).pipe(Effect.provide(store))
  )
})
