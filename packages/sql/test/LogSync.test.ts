/**
 * What is answered for is on disk: nothing that a power cut could take is answered before the log was synced.
 *
 * The disk is the process's own `fdatasync`, which these tests hold back and let fail.
 */
import { SqliteClient } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { fleeting } from "../src/Durability.ts"
import { temporaryFile } from "./TemporaryFile.ts"

type Done = (error: NodeJS.ErrnoException | null) => void

/** Takes the place of the disk: what is asked of it waits in the list. */
const heldDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const real = fs.fdatasync
    const asked: Array<Done> = []
    fs.fdatasync = Object.assign((_: number, done: Done) => void asked.push(done), {
      __promisify__: real.__promisify__
    })
    syncBuiltinESMExports()
    return { real, asked }
  }),
  ({ real }) =>
    Effect.sync(() => {
      fs.fdatasync = real
      syncBuiltinESMExports()
    })
)

const onNewFile = (synchronous: "FULL" | "NORMAL" = "FULL") =>
  Layer.unwrap(Effect.map(temporaryFile, (filename) => SqliteClient.layer({ filename, synchronous })))

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE t (n INTEGER) STRICT`
  return { sql, disk: yield* heldDisk }
})

const until = (condition: () => boolean) =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
      else setImmediate(look)
    }
    look()
  })

const count = (sql: SqlClient.SqlClient) => Effect.map(sql`SELECT n FROM t`, (rows) => rows.length)

/** Answers what waits, once as much does. */
const sync = Effect.fnUntraced(function* (asked: Array<Done>, error: Error | null = null) {
  yield* until(() => asked.length > 0)
  for (const done of asked.splice(0)) done(error)
})

describe("LogSync", () => {
  it.effect("answers for a transaction when it is on disk, and goes on meanwhile", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      const first = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (1)`))
      yield* until(() => disk.asked.length === 1)
      assert.strictEqual(yield* count(sql), 1, "it is committed, and reads do not wait")
      assert.isUndefined(first.pollUnsafe())
      // Both commit while the first sync is under way, which may be too early for them: they share the next.
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

  it.effect("of transactions within each other the outer one waits, and holds nobody up once it is committed", () =>
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

  it.effect("does not wait for what changes nothing, nor for what means nothing without its process", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* sql.withTransaction(count(sql))
      yield* sql`UPDATE t SET n = 1`
      yield* fleeting(sql.withTransaction(sql`INSERT INTO t VALUES (1)`))
      yield* fleeting(sql`INSERT INTO t VALUES (2)`)
      assert.strictEqual(disk.asked.length, 0)
      assert.strictEqual(yield* count(sql), 2)
    }).pipe(Effect.provide(onNewFile()))
  )

  it.effect("a disk that fails fails the answer, not the ones after it", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      const failing = yield* Effect.forkChild(Effect.result(sql.withTransaction(sql`INSERT INTO t VALUES (1)`)))
      yield* sync(disk.asked, new Error("EIO: i/o error, fdatasync"))
      const result = yield* Fiber.join(failing)
      assert.isTrue(Result.isFailure(result))
      if (Result.isFailure(result)) assert.strictEqual(result.failure.reason._tag, "ConnectionError")
      const next = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO t VALUES (2)`))
      yield* sync(disk.asked)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(next)))
    }).pipe(Effect.provide(onNewFile()))
  )

  it.effect("asks nothing of the disk when it was told not to", () =>
    Effect.gen(function* () {
      const { disk, sql } = yield* setUp
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (1)`)
      assert.strictEqual(disk.asked.length, 0)
    }).pipe(Effect.provide(onNewFile("NORMAL")))
  )
})
