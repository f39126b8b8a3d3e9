/**
 * The SQLite store keeps the contract; with an encryption key too, where secrets are read or written.
 */
import { IntegrationStoreSuite, provideEach, StoreSuite } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { temporaryFile } from "./TemporaryFile.ts"

const onNewFile = (encryptionKey?: Redacted.Redacted<string>) =>
  Layer.unwrap(Effect.map(temporaryFile, (filename) => SqliteStore.layer({ filename, encryptionKey })))

for (const { name, run } of StoreSuite.suite("SQLite", onNewFile())) it.effect(name, () => run)

for (const { name, run } of provideEach(IntegrationStoreSuite.cases, onNewFile(Redacted.make("a key")))) {
  it.effect(`SQLite with sealed secrets, IntegrationStore: ${name}`, () => run)
}
