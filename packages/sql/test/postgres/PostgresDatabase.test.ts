/**
 * Opening a PostgreSQL database: it is made ready once, however many start at once, and what is wrong is said.
 */
import { DeliveryStore, IntegrationId, IntegrationStore } from "@doorhook/core"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"

const open = (url: string) =>
  DeliveryStore.use((store) => store.summary(0)).pipe(
    Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), maxConnections: 2 })))
  )

const refusal = (url: string) =>
  Effect.map(Effect.flip(open(url)), (error) =>
    error._tag === "DatabaseUnusable" ? error : assert.fail(String(error))
  )

await describeOnPostgres("opening a database", (server) => {
  it.live("several processes may make a new database ready at once", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const opened = yield* Effect.forEach(Array(6).fill(url), open, { concurrency: "unbounded" })
      assert.deepEqual(
        opened.map(({ events }) => events),
        [0, 0, 0, 0, 0, 0]
      )
    })
  )

  it.live("doorhook's tables are in a schema of their own", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      const schemas = yield* Effect.promise(() =>
        server.administer(
          `SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
          name
        )
      )
      assert.deepEqual(schemas, [{ schemaname: "doorhook" }])
    })
  )

  for (const [given, used] of [
    ["off", "on"],
    ["local", "local"],
    ["remote_apply", "remote_apply"]
  ] as const) {
    it.live(`where the database says synchronous_commit ${given}, commits are answered for by ${used}`, () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* Effect.promise(() => server.administer(`ALTER DATABASE ${name} SET synchronous_commit = ${given}`))
        const shown = yield* SqlClient.SqlClient.use((sql) => sql`SHOW synchronous_commit`).pipe(
          Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
        )
        assert.deepEqual(shown, [{ synchronous_commit: used }])
      })
    )
  }

  it.live("a server that is not there is named, without the password", () =>
    Effect.gen(function* () {
      const { message, why } = yield* refusal("postgres://somebody:hidden@127.0.0.1:1/doors")
      assert.strictEqual(why, "unreachable")
      assert.match(message, /^Can't use postgres:\/\/127\.0\.0\.1:1\/doors: can't connect/)
      assert.notMatch(message, /hidden|somebody/)
    })
  )

  it.live("a wrong password, a database that is not there and a text that is no URL each have their own message", () =>
    Effect.gen(function* () {
      const wrong = new URL(server.url("postgres"))
      wrong.password = "wrong"
      const password = yield* refusal(wrong.href)
      assert.strictEqual(password.why, "refused")
      assert.match(password.message, /refuses this user or password/)
      const missing = yield* refusal(server.url("no_such_database"))
      assert.strictEqual(missing.why, "unreachable")
      assert.match(missing.message, /no such database/)
      const noUrl = yield* refusal("postgres://[")
      assert.match(noUrl.message, /^Can't use the database: /)
    })
  )

  it.live("a user who may not create the schema is told so; one whose schema is there needs no right to", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const role = `${name}_user`
      yield* Effect.acquireRelease(
        Effect.promise(() => server.administer(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)),
        () => Effect.promise(() => server.administer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, name))
      )
      const url = new URL(server.url(name))
      url.username = role
      url.password = "secret"
      const { message, why } = yield* refusal(url.href)
      assert.strictEqual(why, "refused")
      assert.match(message, /permission denied.*Let it create the schema doorhook/)
      yield* Effect.promise(() => server.administer(`CREATE SCHEMA doorhook AUTHORIZATION ${role}`, name))
      assert.strictEqual((yield* open(url.href)).events, 0)
    })
  )

  it.live("tables of the first version are brought up to date, with the secrets that were rotated out", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      yield* Effect.promise(() =>
        server.administer(
          `SET search_path = doorhook;
          ALTER TABLE integrations DROP COLUMN previous_secrets;
          ALTER TABLE integrations ADD COLUMN previous_secret text, ADD COLUMN previous_secret_until bigint;
          DROP TABLE endings;
          DROP INDEX grants_by_user;
          DELETE FROM migrations WHERE migration_id > 1;
          INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user,
              created_by_client, signing_secret, previous_secret, previous_secret_until, overrides, failing_noticed, version,
              created_at, updated_at)
            VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_bmV3',
              'whsec_b2xk', 123, '{}', 0, 1, 0, 0)`,
          name
        )
      )
      const found = yield* IntegrationStore.use((store) => store.find(IntegrationId.make(1))).pipe(
        Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
      )
      const secrets = found?.previous_secrets.map(({ secret, until }) => [Redacted.value(secret), until])
      assert.deepStrictEqual(secrets, [["whsec_b2xk", 123]])
    })
  )

  it.live("tables that a newer doorhook made are left alone", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      yield* Effect.promise(() =>
        server.administer(`INSERT INTO doorhook.migrations (migration_id, name) VALUES (99, 'later')`, name)
      )
      const { message, why } = yield* refusal(server.url(name))
      assert.strictEqual(why, "newer_version")
      assert.match(message, /version 99, this doorhook knows 5/)
    })
  )
})
