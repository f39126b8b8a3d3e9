/**
 * Damage to the write-ahead log. A file opens with all transactions, or its start is refused; it never opens with fewer
 * transactions in silence, except for damage that looks like a torn write at the end.
 */
import type { SqliteClient } from "@doorhook/sql"
import { SqliteDatabase } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Random, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { temporaryFile } from "./TemporaryFile.ts"

const frame = 24 + 4_096
const startOf = (index: number): number => 32 + index * frame

/** Makes a file and its log as after a crash: the log has an earlier cycle's frames behind its end. */
const crashed = Effect.gen(function* () {
  const filename = yield* temporaryFile
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(SqliteDatabase.layer({ filename }), scope)
  const sql = Context.get(services, SqlClient.SqlClient)
  yield* sql`CREATE TABLE t (n INTEGER, filler BLOB)`
  for (let n = 0; n < 30; n++) yield* sql`INSERT INTO t VALUES (0, zeroblob(9000))`
  yield* sql`DELETE FROM t`
  yield* sql`PRAGMA wal_checkpoint`
  for (let n = 1; n <= 20; n++) yield* sql`INSERT INTO t VALUES (${n}, zeroblob(5000))`
  const copy = `${filename}.crashed`
  for (const end of ["", "-wal"]) copyFileSync(filename + end, copy + end)
  yield* Scope.close(scope, Exit.void)
  const log = readFileSync(`${copy}-wal`)
  const salt = log.subarray(16, 24)
  let frames = 0
  while (startOf(frames + 1) <= log.length && log.subarray(startOf(frames) + 8, startOf(frames) + 16).equals(salt))
    frames++
  assert.isAbove(log.length, startOf(frames), "an earlier cycle's frames follow")
  return { copy, log, frames }
})

/** Opens a file as doorhook does. Returns the number of rows, or the refusal. */
const opened = (config: SqliteClient.SqliteClientConfig) =>
  Effect.gen(function* () {
    const sql = Context.get(yield* Layer.build(Layer.fresh(SqliteDatabase.layer(config))), SqlClient.SqlClient)
    return (yield* sql`SELECT n FROM t`).length
  }).pipe(
    Effect.scoped,
    Effect.catchTag("DatabaseUnusable", ({ explanation }) => Effect.succeed(explanation))
  )

describe("a damaged log", () => {
  it.effect("is refused wherever the damage is, or nothing is lost", () =>
    Effect.gen(function* () {
      const { copy, frames, log } = yield* crashed
      const file = readFileSync(copy)
      for (let round = 0; round < 300; round++) {
        const at = startOf(yield* Random.nextIntBetween(0, frames - 2)) + (yield* Random.nextIntBetween(0, frame - 1))
        const length = Math.min(yield* Random.nextIntBetween(1, 3 * frame), startOf(frames - 1) - at)
        const filler = yield* Random.nextIntBetween(0, 255)
        const damaged = Buffer.from(log).fill(filler, at, at + length)
        writeFileSync(copy, file)
        writeFileSync(`${copy}-wal`, damaged)
        const found = yield* opened({ filename: copy })
        if (found === 20) assert.isTrue(damaged.equals(log), "only equal bytes were written")
        else assert.match(String(found), /its last \d+ frames can't be read/, `${filler} at ${at}, ${length} bytes`)
      }
    })
  )

  it.effect("opens with the exact number of lost frames, keeps a copy, and opens without it afterwards", () =>
    Effect.gen(function* () {
      const { copy, frames, log } = yield* crashed
      writeFileSync(`${copy}-wal`, Buffer.from(log).fill(0xa5, startOf(30) + 500, startOf(30) + 700))
      const refusal = String(yield* opened({ filename: copy }))
      const lost = Number(/its last (\d+) frames/.exec(refusal)?.[1])
      assert.isAtLeast(lost, frames - 31)
      assert.include(refusal, `--accept-lost-frames ${lost}`)
      for (const acceptLostFrames of [lost - 1, lost + 1])
        assert.include(String(yield* opened({ filename: copy, acceptLostFrames })), `not ${acceptLostFrames}`)
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const accepting = opened({ filename: copy, acceptLostFrames: lost }).pipe(Effect.provide(logger))
      const found = yield* accepting
      assert.deepEqual(lines, [])
      assert.isTrue(typeof found === "number" && found > 0 && found < 20)
      assert.lengthOf(readFileSync(`${copy}-wal.damaged`), log.length)
      assert.strictEqual(yield* opened({ filename: copy }), found)
      assert.strictEqual(yield* accepting, found)
      assert.match(lines.join(), /^--accept-lost-frames \d+ .* has no effect/)
    })
  )

  it.effect("is no reason to refuse if it was torn at its end, as by a power cut", () =>
    Effect.gen(function* () {
      const { copy, frames, log } = yield* crashed
      const file = readFileSync(copy)
      for (let round = 0; round < 60; round++) {
        const at = yield* Random.nextIntBetween(32, startOf(frames))
        writeFileSync(copy, file)
        writeFileSync(`${copy}-wal`, round % 2 === 0 ? log.subarray(0, at) : Buffer.from(log).fill(0, at))
        assert.isNumber(yield* opened({ filename: copy }), `torn at ${at}`)
      }
    })
  )

  it.effect("shrinks after a reader that let it grow has left", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const services = yield* Layer.build(SqliteDatabase.layer({ filename }))
      const sql = Context.get(services, SqlClient.SqlClient)
      yield* sql`CREATE TABLE t (n INTEGER, filler BLOB)`
      const reader = new DatabaseSync(filename)
      reader.exec("BEGIN; SELECT * FROM t")
      for (let n = 0; n < 20; n++) yield* sql`INSERT INTO t VALUES (${n}, zeroblob(1000000))`
      assert.isAbove(statSync(`${filename}-wal`).size, 20_000_000)
      reader.close()
      yield* sql`PRAGMA wal_checkpoint`
      yield* sql`INSERT INTO t VALUES (0, zeroblob(10))`
      assert.isAtMost(statSync(`${filename}-wal`).size, 8 * 1_024 * 1_024)
    })
  )
})
