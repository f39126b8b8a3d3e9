/**
 * The PostgreSQL store passes the contract suite. Cases that read or write secrets are repeated with an encryption key.
 */
import { IntegrationStoreSuite, provideEach, StoreSuite } from "@doorhook/core/testing"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { it } from "@effect/vitest"
import { Redacted } from "effect"
import { keptStore } from "./KeptStore.ts"

await describeOnPostgres("PostgreSQL store", (server) => {
  for (const { name, run } of StoreSuite.suite("PostgreSQL", keptStore(server))) it.effect(name, () => run)

  for (const { name, run } of provideEach(
    IntegrationStoreSuite.cases,
    keptStore(server, { encryptionKey: Redacted.make("a key") })
  )) {
    it.effect(`PostgreSQL with sealed secrets, IntegrationStore: ${name}`, () => run)
  }
})
