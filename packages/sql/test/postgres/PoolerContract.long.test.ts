/**
 * The PostgreSQL store through pgbouncer, in each mode.
 */
import { StoreSuite } from "@doorhook/core/testing"
import type { PoolMode } from "@doorhook/testkit/postgres/Pgbouncer"
import { describeOnPgbouncer } from "@doorhook/testkit/postgres/Pgbouncer"
import { sample } from "@doorhook/testkit/Sample"
import { it } from "@effect/vitest"
import { keptStore } from "./KeptStore.ts"

const modes: ReadonlyArray<PoolMode> = ["session", "transaction"]

for (const mode of sample(modes, 1)) {
  await describeOnPgbouncer("PostgreSQL store behind pgbouncer", mode, (server) => {
    for (const { name, run } of StoreSuite.suite("PostgreSQL", keptStore(server))) it.effect(name, () => run)
  })
}
