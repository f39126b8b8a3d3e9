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

for (const mode of modes) {
  await describeOnPgbouncer("PostgreSQL store behind pgbouncer", mode, (server) => {
    for (const { name, run } of sample(StoreSuite.suite("PostgreSQL", keptStore(server)), 40))
      it.effect(name, () => run)
  })
}
