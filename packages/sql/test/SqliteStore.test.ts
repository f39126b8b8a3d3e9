/**
 * The SQLite store passes the contract suite. Cases that read or write secrets are repeated with an encryption key.
 */
import { IntegrationStoreSuite, provideEach, StoreSuite } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { open } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** File with empty tables. Each case gets a copy, because creating tables takes longer than most cases. */
const made = await Effect.runPromise(
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    yield* open({ filename })
    return readFileSync(filename)
  }).pipe(Effect.scoped)
)

const onNewFile = (encryptionKey?: Redacted.Redacted<string>) =>
  Layer.unwrap(
    Effect.map(temporaryFile, (filename) => {
      writeFileSync(filename, made)
      return SqliteStore.layer({ filename, encryptionKey })
    })
  )

for (const { name, run } of StoreSuite.suite("SQLite", onNewFile())) it.effect(name, () => run)

for (const { name, run } of provideEach(IntegrationStoreSuite.cases, onNewFile(Redacted.make("a key")))) {
  it.effect(`SQLite with sealed secrets, IntegrationStore: ${name}`, () => run)
}
