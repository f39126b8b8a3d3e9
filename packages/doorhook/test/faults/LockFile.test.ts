/**
 * The lock file of a SQLite database is removed and can't be recreated.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, mkdirSync, rmSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { FileOwner, layer } from "../../src/service/FileOwner.ts"

describe("a lock file that is removed while its database is in use", () => {
  it.effect("is reported once for each kind of failure to create it, and once when it is created", () =>
    Effect.gen(function* () {
      const database = join(yield* temporaryFolder, "doors.db")
      const lock = `${database}-lock`
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped((yield* FileOwner).evicted)
        for (const round of [1, 2]) {
          unlinkSync(lock)
          mkdirSync(lock)
          yield* TestClock.adjust("10 seconds")
          assert.strictEqual(lines.length, 2 * round - 1, lines.join("\n"))
          assert.match(lines.at(-1) ?? "", /doors\.db/)
          rmSync(lock, { recursive: true })
          yield* TestClock.adjust("10 seconds")
          assert.isTrue(existsSync(lock))
          assert.strictEqual(lines.length, 2 * round, lines.join("\n"))
          assert.match(lines.at(-1) ?? "", /was removed or replaced while .* was in use/)
        }
      }).pipe(Effect.provide(Layer.mergeAll(layer({ database }), Logger.layer([logger]))))
    })
  )
})
