/**
 * The wake signals within one process keep the contract.
 */
import { Wake } from "@doorhook/core"
import { provideEach, WakeSuite } from "@doorhook/core/testing"
import { it } from "@effect/vitest"

for (const { name, run } of provideEach([...WakeSuite.cases, ...WakeSuite.inOneProcess], Wake.layerLocal)) {
  it.effect(name, () => run)
}
