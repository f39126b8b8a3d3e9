/**
 * Opening a PostgreSQL database migrates it once, even if many processes start at the same time, and explains errors.
 */
import { DeliveryStore } from "@doorhook/core"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Option, Queue, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"
import { PostgresMigrations } from "../../src/postgres/migrations/index.ts"
import { inspect } from "../../src/postgres/PostgresInspection.ts"
import { integrationOfVersion1, namesTheFirst } from "../OpenedStore.ts"
import { listen } from "@doorhook/testkit/ListeningServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { nextTurn } from "@doorhook/testkit/Turn"

const open = (url: string) =>
  DeliveryStore.use((store) => store.summary(0)).pipe(
    Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), maxConnections: 2 })))
  )

const refusal = (url: string) =>
  Effect.map(Effect.flip(open(url)), (error) =>
    error._tag === "DatabaseUnusable" ? error : assert.fail(String(error))
  )

await describeOnPostgres("opening a database", (server) => {
  it.live("several processes may migrate a new database at once", () =>
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
    it.live(`with synchronous_commit ${given} in the database, commits use ${used}`, () =>
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

  it.live("the server ends idle transactions after 5 s, and notices within 5 s that this machine has vanished", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const shown = yield* SqlClient.SqlClient.use((sql) =>
        sql.unsafe(`SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
          current_setting('tcp_user_timeout') AS unanswered, current_setting('tcp_keepalives_idle')::integer
            + current_setting('tcp_keepalives_interval')::integer * current_setting('tcp_keepalives_count')::integer AS silent`)
      ).pipe(
        Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
      )
      assert.deepEqual(shown, [{ idle: "5s", unanswered: "5000", silent: 5 }])
    })
  )

  it.live("an unreachable server is named, without the password", () =>
    Effect.gen(function* () {
      const { message, why } = yield* refusal("postgres://somebody:hidden@127.0.0.1:1/doors")
      assert.strictEqual(why, "unreachable")
      assert.match(message, /^Can't use postgres:\/\/127\.0\.0\.1:1\/doors: can't connect/)
      assert.notMatch(message, /hidden|somebody/)
    })
  )

  it.effect(
    "a start that waits for a read-only server also waits while it can't be reached, and names the last cause",
    () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        const setReadOnly = (value: string) =>
          Effect.promise(() => server.administer(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`))
        yield* setReadOnly("on")
        const url = new URL(server.url(name))
        const target = { host: url.hostname, port: Number(url.port) }
        const forward = (socket: Socket) => {
          const onward = connect(target)
          socket.on("error", () => undefined).pipe(onward)
          onward.on("error", () => undefined).pipe(socket)
        }
        const link = yield* Effect.promise(() => listen(createServer(forward)))
        url.hostname = "127.0.0.1"
        url.port = String(link.port)
        const lines = yield* Queue.unbounded<string>()
        const logger = Logger.layer([Logger.make(({ message }) => void Queue.offerUnsafe(lines, String(message)))])
        /** Lets the time pass until a matching line is logged. */
        const logged = (line: RegExp) =>
          Queue.take(lines).pipe(
            Effect.repeat({ until: (found) => line.test(found) }),
            Effect.raceFirst(Effect.forever(Effect.andThen(TestClock.adjust("1 second"), nextTurn)))
          )
        const start = Effect.forkChild(Effect.result(Effect.provide(open(url.href), logger)))

        const first = yield* start
        yield* Queue.take(lines)
        yield* Effect.promise(link.close)
        yield* logged(/^Still waiting\. .*ECONNREFUSED/)
        yield* setReadOnly("off")
        const again = yield* Effect.acquireRelease(
          Effect.promise(() => listen(createServer(forward), link.port)),
          ({ close }) => Effect.promise(close)
        )
        yield* TestClock.adjust("1 second")
        assert.isTrue(Result.isSuccess(yield* Fiber.join(first)))

        yield* setReadOnly("on")
        const second = yield* start
        yield* Queue.take(lines)
        yield* Effect.promise(again.close)
        yield* logged(/^Still waiting\. .*ECONNREFUSED/)
        yield* TestClock.adjust("1 minute")
        const failed = Result.getFailure(yield* Fiber.join(second))
        assert.match(String(Option.getOrUndefined(failed)), /can't connect: nothing listens .*ECONNREFUSED/)
      })
  )

  it.live("a wrong password, a missing database and an invalid URL each have their own message", () =>
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

  it.live(
    "a user without the right to create the schema gets an explanation, and needs no right if the schema exists",
    () =>
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
        assert.match(message, /permission denied.*Allow it to create the schema doorhook/)
        yield* Effect.promise(() => server.administer(`CREATE SCHEMA doorhook AUTHORIZATION ${role}`, name))
        assert.strictEqual((yield* open(url.href)).events, 0)
      })
  )

  it.live("a next version is made once, from the data of this version, which then refuses the tables", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const url = server.url(name)
      yield* open(url)
      yield* Effect.promise(() =>
        server.administer("INSERT INTO doorhook.settings (name, value) VALUES ('key', 'kept')", name)
      )
      const nextRelease = {
        ...PostgresMigrations.defaultValue(),
        "10_notes": Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql.unsafe("CREATE TABLE notes (text text NOT NULL)")
          yield* sql.unsafe("INSERT INTO notes SELECT value FROM settings WHERE name = 'key'")
        })
      }
      yield* Effect.forEach(Array(4).fill(url), open, { concurrency: "unbounded" }).pipe(
        Effect.provideService(PostgresMigrations, nextRelease)
      )
      const notes = yield* Effect.promise(() => server.administer("SELECT text FROM doorhook.notes", name))
      assert.deepStrictEqual(notes, [{ text: "kept" }])
      const { message, why } = yield* refusal(url)
      assert.strictEqual(why, "newer_version")
      assert.match(message, /version 10; this doorhook supports up to 9/)
    })
  )

  it.live("tables of version 1 keep their integrations, which then can have a name", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const { "1_tables": tables } = PostgresMigrations.defaultValue()
      assert.isDefined(tables)
      yield* Effect.provideService(open(server.url(name)), PostgresMigrations, { "1_tables": tables })
      yield* Effect.promise(() => server.administer(integrationOfVersion1("doorhook.integrations"), name))
      const inspected = yield* inspect({ url: Redacted.make(server.url(name)) })
      assert.deepInclude(inspected, { version: 1, refusal: null, unreadable: [] })
      yield* namesTheFirst.pipe(Effect.provide(PostgresStore.layer({ url: Redacted.make(server.url(name)) })))
    })
  )

  it.live("tables of an unreleased build are refused, with what to do", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      yield* Effect.promise(() => server.administer("UPDATE doorhook.migrations SET name = 'initial'", name))
      const { message, why } = yield* refusal(server.url(name))
      assert.strictEqual(why, "unreleased_version")
      assert.match(message, /DROP SCHEMA doorhook CASCADE; the next start creates new ones\.$/)
    })
  )
})
