/**
 * doorhook disables an integration when it must, and at no other time.
 */
import type { Check } from "./Check.ts"
import { leastFailedAttempts } from "../rules/Failures.ts"
import type { Step } from "./Steps.ts"
import { stepsOf } from "./Steps.ts"
import type { Trace } from "./Trace.ts"

/** What is wrong with what became of an integration by a batch; null when nothing is. */
const problemOf = (
  { settings }: Trace,
  { acknowledged, after, batch, before, entry, failed, failures, since }: Step
) => {
  if (before.integration.status === "disabled") return null
  const failedFor = since === null ? 0 : entry.now - since
  const isLong = failedFor >= settings.disableAfter && failures >= leastFailedAttempts
  const must = failed && !acknowledged && since !== null && isLong
  const reason = after?.integration.disabled_reason ?? null
  if (reason === "gone")
    return batch.some(({ settlement }) => settlement.gone) ? null : "was disabled as gone, and no receiver said so"
  if (reason === "failing" && !must)
    return `was disabled as failing after ${failedFor} ms and ${failures} failed attempts`
  if (reason === null && must)
    return `was not disabled, though it has failed for ${failedFor} ms and ${failures} attempts`
  return null
}

export const disabling: Check = {
  name: "disabling",
  rule: "An integration is disabled as failing at its first failed attempt, the tenth or a later one, after disableAfter without any acknowledgement since its first failure, and not before.",
  violations: (trace) =>
    stepsOf(trace).flatMap((step) => {
      const problem = problemOf(trace, step)
      if (problem === null) return []
      return [{ what: `integration ${step.integration_id} ${problem}`, entries: [step.before.index, step.entry.index] }]
    })
}
