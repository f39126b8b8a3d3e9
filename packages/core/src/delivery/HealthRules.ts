/**
 * The health rules shared by all stores. For a batch of settlements, they decide whether an integration begins to fail,
 * is disabled or recovers, and which notifications follow.
 */
import type { DisabledReason, Integration } from "../model/Integration.ts"
import type { IntegrationNotification } from "../model/Notification.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"
import type { FailureState } from "../model/FailureState.ts"
import { evaluateFailure, laterOf, leastFailedAttempts, nextWarning } from "../model/FailureState.ts"
import type { QueueEntry } from "./Transitions.ts"

/** The stored state of an integration that the rules need. */
export interface HealthSubject {
  readonly integration: Pick<Integration, "id" | "scope" | "status" | "disabled_reason">
  readonly failing: FailureState | null
}

/** A settlement under a valid lease, with the delivery's state before and after it. */
export interface AppliedSettlement {
  readonly settlement: Pick<Settlement, "attempt" | "gone" | "retry_after">
  readonly from: QueueEntry
  readonly to: QueueEntry
}

export interface HealthChange {
  readonly failing: FailureState | null
  /** The failure state that an acknowledgement has ended; null otherwise. */
  readonly recovered: FailureState | null
  /** Reason to disable the integration and cancel its waiting deliveries; null for none. */
  readonly disable: Extract<DisabledReason, "gone" | "failing"> | null
  readonly enable: boolean
  readonly notifications: ReadonlyArray<IntegrationNotification>
}

/**
 * Whether a batch could affect the health of an integration, judged before the batch's deliveries are read. If false,
 * the store needs no lock on the integration. The result is usually false, because most integrations acknowledge
 * everything.
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

/** Whether a batch could disable the integration at `now`, judged before the batch's deliveries are read. */
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

/** A warning that is due because time has passed, not because of a new attempt. */
export interface Warning {
  readonly failing: FailureState
  readonly notification: IntegrationNotification
}

/** Returns the warning that is due for a failing integration; null if none is. */
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

/**
 * Evaluates a batch at `now`. If `canDisable` is false, the integration stays enabled, and its next failure may disable
 * it.
 */
export const evaluateHealth = (
  { failing, integration }: HealthSubject,
  applied: ReadonlyArray<AppliedSettlement>,
  now: number,
  disableAfter: number,
  canDisable = true
): HealthChange => {
  const about = aboutOf(integration, now)
  if (integration.status === "disabled") {
    // Only a probe can be in flight to a disabled integration, because earlier deliveries are cancelled.
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
  // Another attempt in the batch may have received a Retry-After.
  const recovered =
    failing === null || decision.failing !== null || disable !== null
      ? null
      : { ...failing, retry_after: laterOf(failing.retry_after, evidence.retry_after) }
  return { failing: decision.failing, recovered, disable, enable: false, notifications }
}

const isAcknowledged = ({ attempt }: Pick<Settlement, "attempt">): boolean => attempt?.outcome === "acknowledged"
