/**
 * The memory store satisfies the contract.
 */
import { MemoryStore } from "@doorhook/core"
import { StoreSuite } from "@doorhook/core/testing"
import { it } from "@effect/vitest"

for (const { name, run } of StoreSuite.suite("memory", MemoryStore.layer)) it.effect(name, () => run)
