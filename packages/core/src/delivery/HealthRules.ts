/**
 * What a batch of settlements means for one integration: whether it fails, is disabled, or acknowledges again, and which
 * notifications follow. The one definition that all stores share.
 */
import type { DisabledReason, Integration } from "../model/Integration.ts"
import type { IntegrationNotification } from "../model/Notification.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"
import type { FailureState } from "../model/FailureState.ts"
import { evaluateFailure, laterOf, leastFailedAttempts, nextWarning } from "../model/FailureState.ts"
import type { QueueEntry } from "./Transitions.ts"

/** What a store knows of an integration. */
export interface HealthSubject {
  readonly integration: Pick<Integration, "id" | "scope" | "status" | "disabled_reason">
  readonly failing: FailureState | null
}

/** A settlement that was not stale, and where its delivery stood before and stands now. */
export interface AppliedSettlement {
  readonly settlement: Pick<Settlement, "attempt" | "gone" | "retry_after">
  readonly from: QueueEntry
  readonly to: QueueEntry
}

export interface HealthChange {
  readonly failing: FailureState | null
  /** Its failing until now, if an acknowledgement has ended it; null otherwise. */
  readonly recovered: FailureState | null
  /** Disable it for this reason, and cancel what waits for it. */
  readonly disable: Extract<DisabledReason, "gone" | "failing"> | null
  readonly enable: boolean
  readonly notifications: ReadonlyArray<IntegrationNotification>
}

/**
 * Whether a batch may have consequences for an integration, as far as can be told before its deliveries are looked at: if
 * not, nothing about it need be locked. The common case: all is acknowledged by what did not fail.
 */
export const mayChangeHealth = (
  subject: HealthSubject,
  settlements: ReadonlyArray<Pick<Settlement, "attempt" | "state" | "gone">>
): boolean =>
  subject.integration.status === "disabled" ||
  subject.failing !== null ||
  settlements.some(
    ({ attempt, gone, state }) =>
      gone || state === "exhausted" || (attempt !== null && attempt.outcome !== "acknowledged")
  )

/** Whether a batch may disable the integration at a time, as far as can be told before its deliveries are looked at. */
export const mayDisable = (
  { failing, integration }: HealthSubject,
  settlements: ReadonlyArray<Pick<Settlement, "gone">>,
  now: number,
  disableAfter: number
): boolean =>
  integration.status === "enabled" &&
  (settlements.some(({ gone }) => gone) ||
    (failing !== null &&
      now - failing.since >= disableAfter &&
      failing.attempts + settlements.length >= leastFailedAttempts))

type About = Pick<IntegrationNotification, "integration_id" | "scope" | "at">

const aboutOf = ({ id, scope }: HealthSubject["integration"], at: number): About => ({ integration_id: id, scope, at })

const failingNotification = (about: About, failing_since: number, disableAfter: number): IntegrationNotification => ({
  kind: "failing",
  ...about,
  failing_since,
  disables_at: failing_since + disableAfter
})

/** What time alone leads to, for an integration that nothing need be sent to. */
export interface Warning {
  readonly failing: FailureState
  readonly notification: IntegrationNotification
}

/** The warning that is due for an integration that fails; null when none is. */
export const warningOf = (
  { failing, integration }: HealthSubject,
  now: number,
  disableAfter: number
): Warning | null => {
  const next = failing === null || integration.status === "disabled" ? null : nextWarning(failing, now, disableAfter)
  return next === null
    ? null
    : { failing: next, notification: failingNotification(aboutOf(integration, now), next.since, disableAfter) }
}

/** Judges a batch at a time. Where its store can't disable the integration now, whatever fails next decides. */
export const evaluateHealth = (
  { failing, integration }: HealthSubject,
  applied: ReadonlyArray<AppliedSettlement>,
  now: number,
  disableAfter: number,
  canDisable = true
): HealthChange => {
  const about = aboutOf(integration, now)
  if (integration.status === "disabled") {
    // Only a probe is under way for a disabled integration; what was under way before is cancelled.
    const probed = applied.some(({ from, settlement }) => from.state === "delivering" && isAcknowledged(settlement))
    return probed && integration.disabled_reason !== "manual"
      ? {
          failing: null,
          recovered: failing,
          disable: null,
          enable: true,
          notifications: [{ kind: "recovered", ...about, failing_since: failing?.since ?? null }]
        }
      : { failing, recovered: null, disable: null, enable: false, notifications: [] }
  }
  const evidence = {
    acknowledged: applied.some(({ settlement }) => isAcknowledged(settlement)),
    failed: applied.filter(({ settlement }) => settlement.attempt !== null && !isAcknowledged(settlement)).length,
    retry_after: applied.reduce<number | null>(
      (latest, { settlement }) => laterOf(latest, settlement.retry_after),
      null
    )
  }
  const judged = evaluateFailure(failing, evidence, now, disableAfter)
  const decision = judged.disable && !canDisable ? { ...judged, failing, disable: false } : judged
  const gone = canDisable && applied.some(({ from, settlement }) => settlement.gone && from.state === "delivering")
  const disable = gone ? "gone" : decision.disable ? "failing" : null
  const failing_since = decision.failing?.since ?? now
  const notifications: Array<IntegrationNotification> = []
  const deliveries = applied.filter(({ to }) => to.state === "exhausted").length
  if (deliveries > 0) notifications.push({ kind: "exhausted", ...about, deliveries })
  if (decision.recovered) notifications.push({ kind: "recovered", ...about, failing_since: failing?.since ?? null })
  if (disable !== null) notifications.push({ kind: "disabled", ...about, reason: disable })
  else if (decision.warn) notifications.push(failingNotification(about, failing_since, disableAfter))
  // The receiver may have asked for no requests beside the acknowledgement.
  const recovered =
    failing === null || decision.failing !== null || disable !== null
      ? null
      : { ...failing, retry_after: laterOf(failing.retry_after, evidence.retry_after) }
  return { failing: decision.failing, recovered, disable, enable: false, notifications }
}

const isAcknowledged = ({ attempt }: Pick<Settlement, "attempt">): boolean => attempt?.outcome === "acknowledged"
