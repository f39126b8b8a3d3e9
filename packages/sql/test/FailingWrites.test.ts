/**
 * How an integration fails is written when it changes, and not with each attempt that fails.
 */
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claimOne, createIntegration, enqueue, records, retryAt, settle, start } = StoreFixtures

/** Counts what is written of failing in `settings`. */
const counting = `CREATE TRIGGER counting AFTER UPDATE OF failing_since ON integrations
  BEGIN INSERT INTO settings (name, value) VALUES ('failing' || random(), ''); END`

const written = (filename: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(filename)
    const count = db.prepare("SELECT count(*) AS n FROM settings WHERE name LIKE 'failing%'").get()?.["n"]
    db.close()
    return Number(count)
  })

it.effect("an integration that goes on failing is not written anew each time", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const use = Effect.gen(function* () {
      const ids = yield* enqueue(...records(1, 5, yield* createIntegration()))
      yield* tamper(filename, counting)
      for (const [at] of ids.entries()) yield* settle(start + at, retryAt(yield* claimOne(start), start + 60_000))
      assert.strictEqual(yield* written(filename), 1)
      // Half of the time it may fail is over: that was noticed.
      const late = yield* claimOne(start + 60_000, { lease: { token: "late", until: start + 80_000 } })
      yield* settle(start + StoreFixtures.disableAfter / 2, retryAt(late, start + 90_000))
      assert.strictEqual(yield* written(filename), 2)
    })
    yield* onStore({ filename }, use)
  })
)
