/**
 * The wake signals within one process keep the contract.
 */
import { WakeSignal } from "@doorhook/core"
import { provideEach, WakeSignalSuite } from "@doorhook/core/testing"
import { it } from "@effect/vitest"

for (const { name, run } of provideEach(
  [...WakeSignalSuite.cases, ...WakeSignalSuite.inOneProcess],
  WakeSignal.layerLocal
)) {
  it.effect(name, () => run)
}
