/**
 * The PostgreSQL store without NOTIFY, advisory locks and SKIP LOCKED, as for an engine that lacks them.
 */
import { StoreSuite } from "@doorhook/core/testing"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { it } from "@effect/vitest"
import { keptStore } from "./KeptStore.ts"

await describeOnPostgres("PostgreSQL store with all switches", (server) => {
  const store = keptStore(server, { parameters: "?notify=off&locks=rows&claim=update" })
  for (const { name, run } of StoreSuite.suite("PostgreSQL", store)) it.effect(name, () => run)
})
