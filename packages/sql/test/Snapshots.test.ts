/**
 * Reads on a second connection show exactly what the writing connection has committed, however reads and writes
 * interleave.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { openSnapshots } from "../src/sqlite/Snapshots.ts"

const nextTurn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

type Step =
  | { readonly do: "write"; readonly key: number; readonly value: number }
  | { readonly do: "foreign"; readonly key: number; readonly value: number }
  | { readonly do: "delete" | "read"; readonly key: number }
  | { readonly do: "begin" | "commit" | "rollback" | "turn" }

const key = fc.nat(2)
const value = fc.nat(9)

const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("read" as const), key }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("write" as const), key, value }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("foreign" as const), key, value }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("begin" as const, "commit", "rollback", "turn") }) }
  ),
  { maxLength: 60 }
)

const open = () => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-snapshots-"))
  const file = join(folder, "test.db")
  const writer = new DatabaseSync(file)
  writer.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (key INTEGER PRIMARY KEY, value INTEGER)"
  )
  const foreign = new DatabaseSync(file)
  const snapshots = openSnapshots<number>(writer, file, 100)
  const select = snapshots.db.prepare("SELECT value FROM t WHERE key = ?")
  const read = (at: number): number | undefined =>
    snapshots.rows("select", [at], () => select.all(at).map((row) => Number(row["value"])))[0]
  return {
    writer,
    reader: snapshots.db,
    foreign,
    read,
    close: () => {
      snapshots.close()
      foreign.close()
      writer.close()
      rmSync(folder, { recursive: true })
    }
  }
}

const put = "INSERT INTO t VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"

describe("a read", () => {
  it("shows what is committed, whatever was read before or is being written", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { close, foreign, read, writer } = open()
        try {
          const set = writer.prepare(put)
          const remove = writer.prepare("DELETE FROM t WHERE key = ?")
          const committed = new Map<number, number>()
          let pending: Map<number, number> | null = null
          for (const step of all) {
            const target: Map<number, number> = pending ?? committed
            switch (step.do) {
              case "write":
                set.run(step.key, step.value)
                target.set(step.key, step.value)
                break
              case "delete":
                remove.run(step.key)
                target.delete(step.key)
                break
              case "begin":
                if (pending === null) writer.exec("BEGIN IMMEDIATE")
                pending ??= new Map(committed)
                break
              case "commit":
              case "rollback":
                if (pending === null) break
                writer.exec(step.do.toUpperCase())
                if (step.do === "commit") {
                  committed.clear()
                  for (const [at, to] of pending) committed.set(at, to)
                }
                pending = null
                break
              case "foreign":
                if (pending !== null) break
                foreign.prepare(put).run(step.key, step.value)
                committed.set(step.key, step.value)
                await nextTurn()
                break
              case "turn":
                await nextTurn()
                break
              case "read":
                assert.strictEqual(read(step.key), committed.get(step.key))
            }
          }
          if (pending !== null) writer.exec("ROLLBACK")
        } finally {
          close()
        }
      }),
      { numRuns: 150 }
    )
  })

  it("does not use a snapshot that failed to start", () => {
    const { close, read, reader, writer } = open()
    try {
      // A failed first read would leave the reader like this: in a transaction that has no snapshot yet.
      reader.exec("BEGIN")
      writer.prepare(put).run(1, 1)
      assert.strictEqual(read(1), 1)
    } finally {
      close()
    }
  })

  it("shows commits of this process immediately, and those of another in the next turn", async () => {
    const { close, foreign, read, writer } = open()
    try {
      writer.prepare(put).run(1, 1)
      assert.strictEqual(read(1), 1)
      foreign.prepare(put).run(1, 2)
      assert.strictEqual(read(1), 1)
      await nextTurn()
      assert.strictEqual(read(1), 2)
      writer.prepare(put).run(1, 3)
      assert.strictEqual(read(1), 3)
    } finally {
      close()
    }
  })
})
