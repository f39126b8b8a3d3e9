/**
 * A change is on disk when its call returns, so a power cut can't undo it. The tests delay the process's `fdatasync`
 * and make it fail.
 */
import { StoreHealth, StoreLost } from "@doorhook/core"
import { SqliteClient } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Result, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { eio, heldDisk, sync, turns, until } from "./HeldDisk.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const onNewFile = (synchronous: "FULL" | "NORMAL" = "FULL") =>
  Layer.unwrap(Effect.map(temporaryFile, (filename) => SqliteClient.layer({ filename, synchronous })))

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE t (n INTEGER) STRICT`
  return { sql, disk: yield* heldDisk }
})

const count = (sql: SqlClient.SqlClient) => Effect.map(sql`SELECT n FROM t`, (rows) => rows.length)

/** Opens a client and creates a table. The result includes `close`, which closes the client early. */
const opened = Effect.fnUntraced(function* (config: SqliteClient.SqliteClientConfig) {
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(SqliteClient.layer(config), scope)
  const sql = Context.get(services, SqlClient.SqlClient)
  yield* sql`CREATE TABLE t (n INTEGER) STRICT`
  return { sql, health: Context.get(services, StoreHealth), close: Scope.close(scope, Exit.void) }
})

/** Reads the rows that a file would contain after a crash. */
const afterCrash = (filename: string) => {
  const copy = `${filename}-copy`
  for (const suffix of ["", "-wal"]) fs.copyFileSync(`${filename}${suffix}`, `${copy}${suffix}`)
  const there = new DatabaseSync(copy)
  const found = there.prepare("SELECT n FROM t").all()
  there.close()
  return found.map(({ n }) => n)
}

const logged = (lines: Array<string>) => Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

describe("LogSync", () => {
  it.effect("returns from a transaction when it is on disk, and continues in the meantime", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      const first = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (1)`))
      yield* until(() => disk.asked.length === 1)
      assert.strictEqual(yield* count(sql), 1, "it is committed, and reads do not wait")
      assert.isUndefined(first.pollUnsafe())
      // Both transactions commit during the first sync, which might not cover them. They share the next sync.
      const second = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (2)`))
      const third = yield* Effect.forkChild(sql`INSERT INTO t VALUES (3)`)
      while ((yield* count(sql)) < 3) yield* Effect.yieldNow
      assert.strictEqual(disk.asked.length, 1)
      yield* sync(disk.asked)
      yield* Fiber.join(first)
      yield* until(() => disk.asked.length === 1)
      assert.isUndefined(second.pollUnsafe())
      assert.isUndefined(third.pollUnsafe())
      yield* sync(disk.asked)
      yield* Effect.andThen(Fiber.join(second), Fiber.join(third))
      assert.strictEqual(disk.asked.length, 0)
    }).pipe(Effect.provide(onNewFile()))
  )

  it.effect("only the outer of nested transactions waits, and it blocks nothing after its commit", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      const inner = sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
      const outer = yield* Effect.forkChild(sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (1)`, inner)))
      yield* until(() => disk.asked.length === 1)
      assert.strictEqual(yield* count(sql), 2)
      assert.isUndefined(outer.pollUnsafe())
      yield* sync(disk.asked)
      yield* Fiber.join(outer)
    }).pipe(Effect.provide(onNewFile()))
  )

  it.effect("does not wait for statements that change nothing", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* sql.withTransaction(count(sql))
      yield* sql`UPDATE t SET n = 1`
      assert.strictEqual(disk.asked.length, 0)
    }).pipe(Effect.provide(onNewFile()))
  )

  it.effect("a transaction that changes nothing waits for earlier commits", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      const first = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (1)`))
      yield* until(() => disk.asked.length === 1)
      // This transaction only reads what the first one changed, as a repeated request would.
      const repeated = yield* Effect.forkChild(sql.withTransaction(count(sql)))
      yield* turns
      assert.isUndefined(repeated.pollUnsafe())
      yield* sync(disk.asked)
      yield* Fiber.join(first)
      yield* turns
      assert.isUndefined(repeated.pollUnsafe(), "that sync may have begun too early for it")
      yield* sync(disk.asked)
      assert.strictEqual(yield* Fiber.join(repeated), 1)
      assert.strictEqual(yield* sql.withTransaction(count(sql)), 1)
      assert.strictEqual(disk.asked.length, 0, "all of it is on disk by now")
    }).pipe(Effect.provide(onNewFile()))
  )

  for (const [times, failures] of [
    ["once", 1],
    ["twice", 2],
    ["eight times", 8]
  ] as const) {
    it.effect(`after a failed sync ${times} no change returns before the log has been rewritten and synced`, () =>
      Effect.gen(function* () {
        const { disk, sql } = yield* setUp
        const health = yield* StoreHealth
        const failing = yield* Effect.forkChild(Effect.result(sql.withTransaction(sql`INSERT INTO t VALUES (1)`)))
        yield* until(() => disk.asked.length > 0)
        const waiting = yield* Effect.forkChild(Effect.result(sql`INSERT INTO t VALUES (2)`))
        while ((yield* count(sql)) < 2) yield* Effect.yieldNow
        yield* sync(disk.asked, eio)
        for (const fiber of [failing, waiting]) {
          const result = yield* Fiber.join(fiber)
          assert.isTrue(Result.isFailure(result))
          if (Result.isFailure(result)) assert.strictEqual(result.failure.reason._tag, "ConnectionError")
        }
        for (let failed = 1; failed <= failures; failed++) {
          yield* until(() => disk.asked.length === 1)
          assert.isAbove(disk.written.length, 0, "the log is written before it is synced")
          const operations: ReadonlyArray<Effect.Effect<unknown, SqlError.SqlError>> = [
            sql.withTransaction(sql`INSERT INTO t VALUES (3)`),
            sql.withTransaction(count(sql)),
            sql`INSERT INTO t VALUES (3)`
          ]
          for (const operation of operations) {
            const { reason } = yield* Effect.flip(operation)
            assert.strictEqual(reason._tag, "UnknownError", "nothing was changed")
            assert.include(String(reason.cause), "EIO")
          }
          assert.strictEqual(yield* count(sql), 2, "what is there can be read")
          assert.include(health.trouble(), "EIO")
          if (failed === failures) break
          disk.written.length = 0
          yield* sync(disk.asked, eio)
          yield* turns
          const pause = Math.min(1_000 * 2 ** (failed - 1), 4_000)
          yield* TestClock.adjust(pause - 1)
          yield* turns
          assert.strictEqual(disk.asked.length, 0, "each pause is twice as long as the one before, up to 4 s")
          yield* TestClock.adjust(1)
        }
        yield* sync(disk.asked)
        yield* until(() => health.trouble() === null)
        const next = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (3)`))
        yield* sync(disk.asked)
        yield* Fiber.join(next)
        assert.strictEqual(yield* count(sql), 3)
        assert.deepStrictEqual(yield* sql`PRAGMA wal_autocheckpoint`.values, [[1_000]])
      }).pipe(Effect.scoped, Effect.provide(onNewFile()))
    )
  }

  it.effect("a log that can't be read back after a failed sync is lost", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const log = `${filename}-wal`
      yield* Effect.gen(function* () {
        const { disk, sql } = yield* setUp
        yield* Effect.forkChild(Effect.ignore(sql.withTransaction(sql`INSERT INTO t VALUES (1)`)))
        yield* sync(disk.asked)
        const answered = fs.statSync(log).size
        const { lost, trouble } = yield* StoreHealth
        const failing = yield* Effect.forkChild(Effect.flip(sql.withTransaction(sql`INSERT INTO t VALUES (2)`)))
        yield* until(() => disk.asked.length > 0)
        // Simulates an operating system that drops the pages it could not write.
        const descriptor = fs.openSync(log, "r+")
        fs.writeSync(descriptor, Buffer.alloc(100, "x"), 0, 100, answered + 50)
        fs.closeSync(descriptor)
        yield* sync(disk.asked, eio)
        yield* Fiber.join(failing)
        const { message } = yield* Effect.flip(lost)
        assert.include(message, "start this process again")
        assert.strictEqual(trouble(), message)
        assert.include(String((yield* Effect.flip(count(sql))).reason.cause), message)
        assert.strictEqual(disk.asked.length, 0)
      }).pipe(Effect.scoped, Effect.provide(SqliteClient.layer({ filename })))
      assert.deepStrictEqual(afterCrash(filename), [1], "another process finds the changes that returned")
      // This process still has the file open, so SQLite does not read the log back.
      for (let attempt = 0; attempt < 2; attempt++) {
        const refused = yield* Effect.flip(Layer.build(SqliteClient.layer({ filename })))
        assert.strictEqual(refused._tag, "DatabaseUnusable")
        assert.include(refused.message, "a part that can't be read back. End this process and start it again")
      }
      assert.deepStrictEqual(afterCrash(filename), [1])
    })
  )

  it.effect("a file with an intact log can be opened again after a failed sync", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { close, sql } = yield* opened({ filename })
      const disk = yield* heldDisk
      yield* Effect.forkChild(Effect.ignore(sql`INSERT INTO t VALUES (1)`))
      yield* sync(disk.asked, eio)
      yield* sync(disk.asked, eio)
      yield* close
      const again = yield* Effect.forkScoped(Layer.build(SqliteClient.layer({ filename })))
      yield* sync(disk.asked)
      const next = Context.get(yield* Fiber.join(again), SqlClient.SqlClient)
      const inserted = yield* Effect.forkChild(next`INSERT INTO t VALUES (2)`)
      yield* sync(disk.asked)
      yield* Fiber.join(inserted)
      assert.deepStrictEqual(afterCrash(filename), [1, 2])
    })
  )

  it.effect("a transaction that was open when a sync failed may be committed, and is not reported as refused", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* Effect.forkChild(Effect.ignore(sql.withTransaction(sql`INSERT INTO t VALUES (1)`)))
      yield* until(() => disk.asked.length === 1)
      const inside = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const open = (statement: Effect.Effect<unknown, SqlError.SqlError>) =>
        sql.withTransaction(
          statement.pipe(Effect.andThen(Deferred.succeed(inside, undefined)), Effect.andThen(Deferred.await(goOn)))
        )
      const failing = yield* Effect.forkChild(Effect.flip(open(sql`INSERT INTO t VALUES (2)`)))
      yield* Deferred.await(inside)
      yield* sync(disk.asked, eio)
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* Fiber.join(failing)).reason._tag, "ConnectionError")
      assert.strictEqual(yield* count(sql), 2)
      yield* sync(disk.asked)
    }).pipe(Effect.scoped, Effect.provide(onNewFile()))
  )

  it.effect("a sync that fails while the file is closed leaves the log unchanged", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { close, sql } = yield* opened({ filename })
      const disk = yield* heldDisk
      yield* Effect.forkChild(Effect.ignore(sql`INSERT INTO t VALUES (1)`))
      yield* until(() => disk.asked.length === 1)
      const closing = yield* Effect.forkChild(close)
      yield* turns
      assert.isUndefined(closing.pollUnsafe())
      yield* sync(disk.asked, eio)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(afterCrash(filename), [1])
    })
  )

  it.effect("a log that replaces another one just before closing is left unchanged", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { close } = yield* opened({ filename })
      const log = `${filename}-wal`
      fs.copyFileSync(log, `${log}-new`)
      fs.renameSync(`${log}-new`, log)
      const before = fs.readFileSync(log)
      yield* close
      assert.deepStrictEqual(fs.readFileSync(log), before)
    })
  )

  it.effect("a log that is rewritten only partly is not synced, and rewritten again", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* Effect.forkChild(Effect.ignore(sql`INSERT INTO t VALUES (1)`))
      yield* until(() => disk.asked.length === 1)
      let isShort = true
      const { writeSync } = fs
      fs.writeSync = (...write: ReadonlyArray<unknown>) => {
        const written = Number(Reflect.apply(writeSync, fs, write))
        return isShort ? written - 1 : written
      }
      syncBuiltinESMExports()
      yield* sync(disk.asked, eio)
      yield* until(() => disk.written.length > 0)
      yield* turns
      assert.strictEqual(disk.asked.length, 0)
      isShort = false
      yield* TestClock.adjust("1 second")
      yield* sync(disk.asked)
      const { trouble } = yield* StoreHealth
      yield* until(() => trouble() === null)
    }).pipe(Effect.scoped, Effect.provide(onNewFile()))
  )

  it.effect("a file that is lost while its log is synced again is not reported as repaired", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const evict = yield* Deferred.make<never, StoreLost>()
      const { close, health, sql } = yield* opened({ filename: yield* temporaryFile, evicted: Deferred.await(evict) })
      const disk = yield* heldDisk
      yield* Effect.forkChild(Effect.ignore(sql`INSERT INTO t VALUES (1)`))
      yield* sync(disk.asked, eio)
      yield* until(() => disk.asked.length === 1)
      yield* Deferred.fail(evict, new StoreLost({ message: "gone" }))
      yield* Effect.flip(health.lost)
      yield* sync(disk.asked)
      yield* turns
      assert.include(lines.join("\n"), "gone")
      assert.notInclude(lines.join("\n"), "on disk again")
      yield* close
    }).pipe(Effect.provide(logged(lines)))
  })

  it.effect("a file is not closed while its log is synced again", () =>
    Effect.gen(function* () {
      const { close, sql } = yield* opened({ filename: yield* temporaryFile })
      const disk = yield* heldDisk
      yield* Effect.forkChild(Effect.ignore(sql`INSERT INTO t VALUES (1)`))
      yield* sync(disk.asked, eio)
      yield* until(() => disk.asked.length === 1)
      const closing = yield* Effect.forkChild(close)
      yield* turns
      assert.isUndefined(closing.pollUnsafe())
      yield* sync(disk.asked)
      yield* Fiber.join(closing)
    })
  )

  it.effect("files that can't be checked are reported once per reason", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { close } = yield* opened({ filename })
      const { statSync } = fs
      const look = (why: string) =>
        Effect.gen(function* () {
          Object.assign(fs, {
            statSync: () => {
              throw new Error(why)
            }
          })
          syncBuiltinESMExports()
          for (let second = 0; second < 3; second++) yield* TestClock.adjust("1 second")
          yield* turns
        })
      yield* Effect.acquireRelease(Effect.void, () =>
        Effect.sync(() => {
          Object.assign(fs, { statSync })
          syncBuiltinESMExports()
        })
      )
      yield* look("EACCES")
      assert.strictEqual(lines.length, 1, lines.join("\n"))
      yield* look("EIO")
      assert.strictEqual(lines.length, 2, lines.join("\n"))
      yield* close
    }).pipe(Effect.scoped, Effect.provide(logged(lines)))
  })

  it.effect("a file opened by a URI is watched by its path", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { close, health } = yield* opened({ filename: `file:${filename}` })
      yield* TestClock.adjust("3 seconds")
      yield* turns
      assert.isNull(health.trouble())
      yield* close
    })
  )

  it.effect("changes that another process may have left unsynced are rewritten and synced before a file is used", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const left = `${filename}-left`
      const other = new DatabaseSync(filename)
      other.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER) STRICT; INSERT INTO t VALUES (1)")
      // Copies the file in the state that a killed process would leave.
      for (const suffix of ["", "-wal"]) fs.copyFileSync(`${filename}${suffix}`, `${left}${suffix}`)
      other.close()
      const disk = yield* heldDisk
      const opened = yield* Effect.forkScoped(Layer.build(SqliteClient.layer({ filename: left })))
      yield* until(() => disk.asked.length === 1)
      assert.strictEqual(
        disk.written.reduce((sum, size) => sum + size, 0),
        fs.statSync(`${left}-wal`).size
      )
      assert.isUndefined(opened.pollUnsafe())
      yield* sync(disk.asked)
      const sql = Context.get(yield* Fiber.join(opened), SqlClient.SqlClient)
      assert.strictEqual(yield* count(sql), 1)
    })
  )

  it.effect("the name of a new log is on disk before a commit returns", () =>
    Effect.gen(function* () {
      const disk = yield* heldDisk
      const filename = yield* temporaryFile
      const opened = yield* Effect.forkScoped(Layer.build(SqliteClient.layer({ filename })))
      yield* until(() => disk.asked.length === 1)
      assert.deepStrictEqual(disk.folders, [dirname(fs.realpathSync(filename))])
      yield* sync(disk.asked)
      yield* Fiber.join(opened)
    })
  )

  it.effect("does not sync if synchronous is NORMAL", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (1)`)
      assert.strictEqual(disk.asked.length, 0)
    }).pipe(Effect.provide(onNewFile("NORMAL")))
  )
})
