/**
 * The state transitions of a stored delivery, one per store call. All stores share them and differ only in how they
 * find and store rows.
 */
import type { DeliveryReason, DeliveryState, Lane } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { Integration } from "../model/Integration.ts"
import type { NewDelivery, Settlement } from "../ports/DeliveryStore.ts"

/** The parts of a stored delivery that change. */
export interface QueueEntry {
  readonly state: DeliveryState
  readonly reason: DeliveryReason | null
  /** Number of attempts made. */
  readonly attempts: number
  /** Number of early attempts that failed. */
  readonly early: number
  readonly lane: Lane
  /**
   * Due time in milliseconds since the epoch. A leased delivery keeps the due time that it had when it was leased. Null
   * after the delivery has ended.
   */
  readonly due_at: number | null
  /**
   * The worker with the lease, or null. A delivery cancelled during its attempt keeps the worker until the attempt is
   * recorded.
   */
  readonly worker: string | null
  /** 1: the next attempt is a resend. 2: a resend was requested during the attempt and will follow it. */
  readonly resend: 0 | 1 | 2
}

/** Whether a delivery can be claimed. */
export const isDue = ({ due_at, worker }: Pick<QueueEntry, "due_at" | "worker">, now: number): boolean =>
  due_at !== null && due_at <= now && worker === null

/** States of deliveries that ended without an acknowledgement or were never sent. */
export const unacknowledgedStates = [
  "exhausted",
  "expired",
  "cancelled",
  "skipped"
] as const satisfies ReadonlyArray<DeliveryState>

const recoverable: ReadonlySet<DeliveryState> = new Set<DeliveryState>([...unacknowledgedStates, "retrying"])

/** Whether a recovery of the integration sends the delivery. True if it ended unacknowledged or waits for a retry. */
export const isRecoverable = ({ state }: Pick<QueueEntry, "state">): boolean => recoverable.has(state)

/** Returns the reason for ending the deliveries of an integration that is being disabled. */
export const reasonOfDisabled = ({ disabled_reason }: Pick<Integration, "disabled_reason">): DeliveryReason =>
  disabled_reason === "gone" ? "integration_gone" : "integration_disabled"

/**
 * Returns the reason for ending unacknowledged deliveries of an integration; null if it is enabled and they may be sent
 * again.
 */
export const reasonToEnd = (
  integration: Pick<Integration, "status" | "disabled_reason"> | undefined
): DeliveryReason | null => {
  if (integration === undefined) return "integration_deleted"
  return integration.status === "enabled" ? null : reasonOfDisabled(integration)
}

/** The parts of a delivery's integration that a transition needs; undefined if the integration was deleted. */
export type Target = Pick<Integration, "status" | "version"> | undefined

/**
 * Creates a delivery, in the requested state unless its integration was deleted, disabled or changed after the event
 * was matched, or the event is a call that has ended. If the integration was changed, the delivery waits for a claim, so
 * that the request uses the new settings.
 */
export const enqueue = (
  { initial, lane, matched_version }: NewDelivery,
  event: Event,
  integration: Target,
  hasEnded = false
): QueueEntry => {
  const inactive = { attempts: 0, early: 0, lane, due_at: null, worker: null, resend: 0 } as const
  if (integration === undefined) return { ...inactive, state: "cancelled", reason: "integration_deleted" }
  if (initial.state === "skipped") return { ...inactive, state: "skipped", reason: initial.reason }
  if (integration.status === "disabled") return { ...inactive, state: "skipped", reason: "integration_disabled" }
  if (hasEnded) return { ...inactive, state: "cancelled", reason: "call_ended" }
  const active = { ...inactive, reason: null, due_at: event.created_at }
  return initial.state === "delivering" && integration.version === matched_version
    ? { ...active, state: "delivering", worker: initial.worker }
    : { ...active, state: "pending" }
}

/** Leases a delivery to a worker that claims it. The next attempt serves all resends requested so far. */
export const claim = (standing: QueueEntry, worker: string): QueueEntry => ({
  ...standing,
  state: "delivering",
  reason: null,
  worker,
  resend: standing.resend === 0 ? 0 : 1
})

/** Whether a settlement belongs to the worker's current lease and not to an earlier one. */
export const isCurrent = (
  standing: Pick<QueueEntry, "attempts" | "worker">,
  { attempt }: Pick<Settlement, "attempt">,
  worker: string
): boolean => standing.worker === worker && (attempt === null || attempt.number === standing.attempts + 1)

/**
 * Settles a delivery under its current lease. If the delivery was ended during the attempt, it stays ended and only the
 * attempt is counted. If a resend was requested, the delivery is due immediately. A probe of a disabled integration
 * ends as cancelled unless it is acknowledged.
 */
export const settle = (
  standing: QueueEntry,
  settlement: Pick<Settlement, "attempt" | "early" | "lane" | "next_attempt_at" | "reason" | "state">,
  now: number,
  toEnd: ReturnType<typeof reasonToEnd>
): QueueEntry => {
  const { attempt, early, lane, next_attempt_at, reason, state } = settlement
  const attempts = attempt?.number ?? standing.attempts
  const made = { attempts, early, lane, worker: null }
  if (standing.state !== "delivering") return { ...standing, attempts, early, worker: null }
  if (toEnd !== null && attempt !== null && attempt.outcome !== "acknowledged")
    return { ...made, state: "cancelled", reason: toEnd, due_at: null, resend: 0 }
  if (standing.resend === 2) return { ...made, state: "pending", reason: null, due_at: now, resend: 1 }
  return { ...made, state, reason, due_at: next_attempt_at, resend: 0 }
}

/**
 * Releases a delivery without an attempt and makes it due at `dueAt`. A delivery that was ended during its lease stays
 * ended.
 */
export const release = (standing: QueueEntry, dueAt: number | null = standing.due_at): QueueEntry =>
  standing.state === "delivering"
    ? {
        ...standing,
        state: standing.attempts === 0 || standing.resend > 0 ? "pending" : "retrying",
        // A resend requested during the lease is not delayed.
        due_at: standing.resend === 2 && dueAt !== null ? Math.min(dueAt, standing.due_at ?? dueAt) : dueAt,
        worker: null,
        resend: standing.resend === 0 ? 0 : 1
      }
    : { ...standing, worker: null }

/**
 * Requests another attempt. A leased delivery may be in flight and must not be sent twice at the same time. It is
 * therefore only marked, and becomes due when its attempt is settled with any outcome, or when its lease is lost. This
 * also applies to early attempts, and to deliveries cancelled during their attempt.
 */
export const resend = (standing: QueueEntry, now: number): QueueEntry =>
  standing.worker === null
    ? { ...standing, state: "pending", reason: null, due_at: now, resend: 1 }
    : { ...standing, state: "delivering", reason: null, due_at: Math.min(standing.due_at ?? now, now), resend: 2 }

/** Ends a delivery because its integration was disabled or deleted, or its call has ended. A leased delivery keeps its worker. */
export const cancel = (standing: QueueEntry, reason: DeliveryReason): QueueEntry => ({
  ...standing,
  state: "cancelled",
  reason,
  due_at: null,
  resend: 0
})
