/**
 * The health rules shared by all stores. For a batch of settlements, they decide whether an integration begins to fail,
 * is disabled or recovers, and which notifications follow. The result is a list of changes that the store applies.
 */
import type { DeliveryReason } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { DisabledReason, Integration } from "../model/Integration.ts"
import type { IntegrationNotification } from "../model/Notification.ts"
import type { Recovery, Settlement } from "../ports/DeliveryStore.ts"
import type { FailureState } from "../model/FailureState.ts"
import { evaluateFailure, laterOf, leastFailedAttempts, nextWarning } from "../model/FailureState.ts"
import type { QueueEntry } from "./Transitions.ts"
import { reasonOfDisabled } from "./Transitions.ts"

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

/** A change of an integration that follows from its outcomes or from time. A store applies changes in their order. */
export type HealthChange = { readonly integration_id: IntegrationId } & (
  | { readonly type: "set"; readonly failing: FailureState | null }
  | { readonly type: "disable"; readonly reason: Extract<DisabledReason, "gone" | "failing"> }
  /** Cancels the integration's active deliveries. */
  | { readonly type: "cancel"; readonly reason: DeliveryReason }
  | { readonly type: "enable" }
  | { readonly type: "recovered"; readonly recovery: Recovery }
  | { readonly type: "notify"; readonly notification: IntegrationNotification }
)

/** What the callers of a store learn from changes. */
export interface HealthReport {
  /** Integrations that were disabled or enabled. */
  readonly changed: ReadonlyArray<IntegrationId>
  readonly recovered: ReadonlyArray<Recovery>
  readonly notifications: ReadonlyArray<IntegrationNotification>
}

export const reportOf = (changes: ReadonlyArray<HealthChange>): HealthReport => ({
  changed: changes.flatMap(({ integration_id, type }) =>
    type === "disable" || type === "enable" ? integration_id : []
  ),
  recovered: changes.flatMap((change) => (change.type === "recovered" ? change.recovery : [])),
  notifications: changes.flatMap((change) => (change.type === "notify" ? change.notification : []))
})

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

/** Returns the changes of a failing integration that are due without another outcome: the next warning, at its time. */
export const evaluateTime = (
  { failing, integration }: HealthSubject,
  now: number,
  disableAfter: number
): ReadonlyArray<HealthChange> => {
  const next = failing === null || integration.status === "disabled" ? null : nextWarning(failing, now, disableAfter)
  if (next === null) return []
  const notification = failingNotification(aboutOf(integration, now), next.since, disableAfter)
  return [
    { type: "set", integration_id: integration.id, failing: next },
    { type: "notify", integration_id: integration.id, notification }
  ]
}

/** Returns the changes of a disabled integration: it is enabled by an acknowledged probe, unless it was disabled by hand. */
const evaluateProbes = (
  { failing, integration }: HealthSubject,
  applied: ReadonlyArray<AppliedSettlement>,
  about: About
): ReadonlyArray<HealthChange> => {
  const { disabled_reason, id: integration_id } = integration
  // Only a probe can be in flight to a disabled integration, because earlier deliveries are cancelled.
  const probed = applied.some(({ from, settlement }) => from.state === "delivering" && isAcknowledged(settlement))
  if (!probed || disabled_reason === "manual") return []
  const failing_since = failing?.since ?? null
  return [
    ...setFrom(integration_id, failing, null),
    { type: "enable", integration_id },
    ...recoveredFrom(integration_id, failing, failing?.retry_after ?? null),
    { type: "notify", integration_id, notification: { kind: "recovered", ...about, failing_since } }
  ]
}

const setFrom = (
  integration_id: IntegrationId,
  before: FailureState | null,
  failing: FailureState | null
): ReadonlyArray<HealthChange> =>
  before?.since === failing?.since &&
  before?.warnings === failing?.warnings &&
  before?.attempts === failing?.attempts &&
  before?.retry_after === failing?.retry_after
    ? []
    : [{ type: "set", integration_id, failing }]

const recoveredFrom = (
  integration_id: IntegrationId,
  failing: FailureState | null,
  retry_after: number | null
): ReadonlyArray<HealthChange> =>
  failing === null
    ? []
    : [
        {
          type: "recovered",
          integration_id,
          recovery: { integration_id, failing_since: failing.since, retry_after }
        }
      ]

/**
 * Evaluates the batch of one integration at `now`. If `canDisable` is false, the integration stays enabled, and its next
 * failure may disable it.
 */
const evaluateHealth = (
  subject: HealthSubject,
  applied: ReadonlyArray<AppliedSettlement>,
  now: number,
  disableAfter: number,
  canDisable = true
): ReadonlyArray<HealthChange> => {
  const { failing, integration } = subject
  const { id: integration_id } = integration
  const about = aboutOf(integration, now)
  if (integration.status === "disabled") return evaluateProbes(subject, applied, about)
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
  const changes = [...setFrom(integration_id, failing, decision.failing)]
  if (disable !== null) {
    const reason = reasonOfDisabled({ disabled_reason: disable })
    changes.push({ type: "disable", integration_id, reason: disable }, { type: "cancel", integration_id, reason })
  } else if (decision.failing === null) {
    // Another attempt in the batch may have received a Retry-After.
    const retry_after = laterOf(failing?.retry_after ?? null, evidence.retry_after)
    changes.push(...recoveredFrom(integration_id, failing, retry_after))
  }
  const notify = (notification: IntegrationNotification): void =>
    void changes.push({ type: "notify", integration_id, notification })
  const deliveries = applied.filter(({ to }) => to.state === "exhausted").length
  if (deliveries > 0) notify({ kind: "exhausted", ...about, deliveries })
  if (decision.recovered) notify({ kind: "recovered", ...about, failing_since: failing?.since ?? null })
  if (disable !== null) notify({ kind: "disabled", ...about, reason: disable })
  else if (decision.warn) notify(failingNotification(about, decision.failing?.since ?? now, disableAfter))
  return changes
}

/**
 * Evaluates a batch of several integrations at `now`, in order of their ids. Stores apply the changes after the
 * settlements, so that disabling an integration does not cancel deliveries that the same batch acknowledges.
 * Integrations without a subject, because they were deleted or can't be read, do not change. `busy`: integrations that
 * can't be disabled now.
 */
export const evaluateBatch = (
  subjects: ReadonlyMap<IntegrationId, HealthSubject>,
  applied: ReadonlyMap<IntegrationId, ReadonlyArray<AppliedSettlement>>,
  now: number,
  disableAfter: number,
  busy?: ReadonlySet<IntegrationId>
): ReadonlyArray<HealthChange> =>
  [...subjects]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([id, subject]) =>
      evaluateHealth(subject, applied.get(id) ?? [], now, disableAfter, busy?.has(id) !== true)
    )

const isAcknowledged = ({ attempt }: Pick<Settlement, "attempt">): boolean => attempt?.outcome === "acknowledged"
