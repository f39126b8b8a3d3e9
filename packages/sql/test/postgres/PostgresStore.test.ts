/**
 * The PostgreSQL store keeps the contract; with an encryption key too, where secrets are read or written.
 */
import { IntegrationStoreSuite, provideEach, StoreSuite } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { it } from "@effect/vitest"
import { Redacted } from "effect"
import { describeOnPostgres, onNewDatabase } from "@doorhook/testkit/postgres/TestServer"

await describeOnPostgres("PostgreSQL store", (server) => {
  const store = (encryptionKey?: Redacted.Redacted<string>) =>
    onNewDatabase(server, (url) => PostgresStore.layer({ url: Redacted.make(url), encryptionKey }))

  for (const { name, run } of StoreSuite.suite("PostgreSQL", store())) it.effect(name, () => run)

  for (const { name, run } of provideEach(IntegrationStoreSuite.cases, store(Redacted.make("a key")))) {
    it.effect(`PostgreSQL with sealed secrets, IntegrationStore: ${name}`, () => run)
  }
})
