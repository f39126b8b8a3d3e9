/**
 * The failure state of an integration is written once per batch, and only if outcomes change it.
 */
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claim, claimOne, createIntegration, enqueue, records, retryAt, settle, settlement, start } = StoreFixtures

/** Trigger that adds a row to `settings` for each write of a failure state, so that the test can count the writes. */
const counting = `CREATE TRIGGER counting AFTER UPDATE OF failing_since ON integrations
  BEGIN INSERT INTO settings (name, value) VALUES ('failing' || random(), ''); END`

const written = (filename: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(filename)
    const count = db.prepare("SELECT count(*) AS n FROM settings WHERE name LIKE 'failing%'").get()?.["n"]
    db.close()
    return Number(count)
  })

it.effect("a failure state is written once per batch, and not for acknowledgements", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const use = Effect.gen(function* () {
      yield* enqueue(...records(1, 9, yield* createIntegration()))
      yield* tamper(filename, counting)
      const failing = yield* claim(start, { limit: 5 })
      yield* settle(start, ...failing.map((each) => retryAt(each, start + 60_000)))
      assert.strictEqual(yield* written(filename), 1)
      for (const count of [2, 2, 2]) {
        yield* settle(start, settlement(yield* claimOne(start)))
        assert.strictEqual(yield* written(filename), count)
      }
    })
    yield* onStore({ filename }, use)
  })
)
