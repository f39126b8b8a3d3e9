/**
 * A probe that succeeds enables; nothing else that is sent does.
 */
import type { Check } from "./Check.ts"
import type { Settled, Step } from "./Steps.ts"
import { stepsOf } from "./Steps.ts"

/** Whether a settlement is of an attempt that was made as a probe, since its integration was disabled. */
const isProbe = ({ delivery, grant }: Settled, { before }: Step): boolean =>
  delivery.probed.some((index) => index > before.index && index < grant.index)

export const probes: Check = {
  name: "probes",
  rule: "An integration that doorhook disabled is enabled when a probe of it is acknowledged, and by no other delivery.",
  violations: (trace) =>
    stepsOf(trace).flatMap((step) => {
      const { after, batch, before, entry, integration_id } = step
      if (before.integration.status === "enabled") return []
      const succeeded =
        before.integration.disabled_reason !== "manual" &&
        batch.some((settled) => settled.settlement.attempt?.outcome === "acknowledged" && isProbe(settled, step))
      const enabled = after?.integration.status === "enabled"
      if (enabled === succeeded) return []
      const what = enabled ? "was enabled without a probe" : "was probed with success and stays disabled"
      return [{ what: `integration ${integration_id} ${what}`, entries: [before.index, entry.index] }]
    })
}
