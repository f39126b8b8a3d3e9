/**
 * The SQL client built on `node:sqlite` behaves as `effect/sql` expects.
 */
import { SqliteClient, SqliteResult } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { temporaryFile } from "./TemporaryFile.ts"

const onNewFile = Layer.unwrap(Effect.map(temporaryFile, (filename) => SqliteClient.layer({ filename })))

/** Opens another connection to a file. */
const connect = (config: SqliteClient.SqliteClientConfig) =>
  Effect.map(SqliteClient.make(config), (services) => Context.get(services, SqlClient.SqlClient))

const withTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE t (name TEXT UNIQUE, value INTEGER) STRICT`
  return sql
})

const names = (sql: SqlClient.SqlClient) =>
  Effect.map(sql<{ readonly name: string }>`SELECT name FROM t ORDER BY name`, (rows) => rows.map(({ name }) => name))

describe("SqliteClient", () => {
  it.effect("uses a write-ahead log, does not sync at each commit, and checks foreign keys", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const pragma = (name: string) => Effect.map(sql.unsafe(`PRAGMA ${name}`), ([row]) => Object.values({ ...row }))
      assert.deepEqual(yield* pragma("journal_mode"), ["wal"])
      assert.deepEqual(yield* pragma("synchronous"), [1])
      assert.deepEqual(yield* pragma("foreign_keys"), [1])
    }).pipe(Effect.provide(onNewFile))
  )

  it.effect("executes templates, inserts, values and streams", () =>
    Effect.gen(function* () {
      const sql = yield* withTable
      const rows = [
        { name: "a", value: 1 },
        { name: "b", value: null }
      ]
      const returned = yield* sql`INSERT INTO t ${sql.insert([rows[0] ?? {}, rows[1] ?? {}]).returning("*")}`
      assert.deepEqual(
        returned.map((row) => ({ ...row })),
        rows
      )
      assert.deepEqual(yield* sql`SELECT value, name FROM t WHERE ${sql.in("name", ["a", "c"])}`.values, [[1, "a"]])
      const streamed = yield* Stream.runCollect(sql<{ readonly name: string }>`SELECT name FROM t ORDER BY name`.stream)
      assert.deepEqual(
        streamed.map(({ name }) => name),
        ["a", "b"]
      )
      yield* sql.unsafe("INSERT INTO t VALUES (?, ?)", ["true", true])
      assert.deepEqual(yield* sql`SELECT value FROM t WHERE name = 'true'`.values, [[1]])
    }).pipe(Effect.provide(onNewFile))
  )

  it.effect("rolls back a failed transaction, and a failed nested one without the outer one", () =>
    Effect.gen(function* () {
      const sql = yield* withTable
      const failing = sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES ('lost', 1)`, Effect.fail("no")))
      assert.strictEqual(yield* Effect.flip(failing), "no")
      assert.deepEqual(yield* names(sql), [])
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`INSERT INTO t VALUES ('kept', 1)`
          yield* Effect.ignore(failing)
          yield* sql.withTransaction(sql`INSERT INTO t VALUES ('nested', 1)`)
        })
      )
      assert.deepEqual(yield* names(sql), ["kept", "nested"])
    }).pipe(Effect.provide(onNewFile))
  )

  it.effect("lets no other fiber into an open transaction, and rolls back an interrupted one", () =>
    Effect.gen(function* () {
      const sql = yield* withTable
      const inside = yield* Deferred.make<void>()
      const transaction = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO t VALUES ('interrupted', 1)`
            yield* Deferred.succeed(inside, undefined)
            return yield* Effect.never
          })
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(inside)
      const reader = yield* Effect.forkChild(names(sql))
      yield* Effect.yieldNow
      assert.isUndefined(reader.pollUnsafe())
      yield* Fiber.interrupt(transaction)
      assert.deepEqual(yield* Fiber.join(reader), [])
    }).pipe(Effect.provide(onNewFile))
  )

  it.effect("reports errors with SQLite's own code", () =>
    Effect.gen(function* () {
      const sql = yield* withTable
      yield* sql`INSERT INTO t VALUES ('a', 1)`
      const twice = yield* Effect.flip(sql`INSERT INTO t VALUES ('a', 2)`)
      assert.strictEqual(twice.reason._tag, "UniqueViolation")
      assert.strictEqual(SqliteResult.primaryResultCode(twice.reason.cause), 19)
      const wrongType = yield* Effect.flip(sql`INSERT INTO t VALUES ('b', 'text')`)
      assert.strictEqual(wrongType.reason._tag, "ConstraintError")
      const nonsense = yield* Effect.flip(sql.unsafe("SELEC"))
      assert.strictEqual(nonsense._tag, "SqlError")
      const unsupported = yield* Effect.flip(sql.unsafe("SELECT ?", [{}]))
      assert.include(String(unsupported.reason.cause), "SQLite can't store a value of type object")
    }).pipe(Effect.provide(onNewFile))
  )

  it.effect("begins a transaction with the write lock, so that none fails to get it later", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const first = yield* connect({ filename })
      const second = yield* connect({ filename, busyTimeout: 10 })
      const nothing = (sql: SqlClient.SqlClient) => sql.withTransaction(sql`SELECT 1`)
      const error = yield* first.withTransaction(Effect.flip(nothing(second)))
      assert.strictEqual(error.reason._tag, "LockTimeoutError")
      yield* nothing(second)
    }).pipe(Effect.provide(Reactivity.layer))
  )

  it.effect("waits while another connection is writing, and says so in the error after a timeout", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const first = yield* connect({ filename })
      const second = yield* connect({ filename, busyTimeout: 10 })
      yield* first`CREATE TABLE t (name TEXT)`
      const error = yield* first.withTransaction(
        Effect.andThen(first`INSERT INTO t VALUES ('a')`, Effect.flip(second`INSERT INTO t VALUES ('b')`))
      )
      assert.strictEqual(error.reason._tag, "LockTimeoutError")
      yield* second`INSERT INTO t VALUES ('b')`
      assert.deepEqual(yield* names(first), ["a", "b"])
    }).pipe(Effect.provide(Reactivity.layer))
  )
})
