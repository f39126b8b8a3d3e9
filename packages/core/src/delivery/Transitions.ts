/**
 * Where a delivery stands in its queue, and where it stands after each store call: the one definition that all stores
 * share. Stores differ in how they find and keep rows.
 */
import type { DeliveryReason, DeliveryState, Lane } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { Integration } from "../model/Integration.ts"
import type { NewDelivery, Settlement } from "../ports/DeliveryStore.ts"

/** The members of a stored delivery that change. */
export interface QueueEntry {
  readonly state: DeliveryState
  readonly reason: DeliveryReason | null
  /** How many attempts were made. */
  readonly attempts: number
  /** How many of them were made early and failed. */
  readonly early: number
  readonly lane: Lane
  /** When it is due, or was when it was leased, in milliseconds since the epoch. Null once it has ended. */
  readonly due_at: number | null
  /** The worker it is leased to. A delivery that was cancelled during its attempt keeps it until the attempt is recorded. */
  readonly worker: string | null
  /** 1: the next attempt is a resend. 2: a resend was asked for during an attempt, and follows it. */
  readonly resend: 0 | 1 | 2
}

/** Whether a delivery can be claimed. */
export const isDue = ({ due_at, worker }: Pick<QueueEntry, "due_at" | "worker">, now: number): boolean =>
  due_at !== null && due_at <= now && worker === null

/** States of deliveries that ended, or never began, without an acknowledgement. */
export const unacknowledgedStates = [
  "exhausted",
  "expired",
  "cancelled",
  "skipped"
] as const satisfies ReadonlyArray<DeliveryState>

const recoverable: ReadonlySet<DeliveryState> = new Set<DeliveryState>([...unacknowledgedStates, "retrying"])

/** Whether a delivery is sent when its integration recovers what it missed: it has ended, or waits for a retry. */
export const isRecoverable = ({ state }: Pick<QueueEntry, "state">): boolean => recoverable.has(state)

/** Why the deliveries of an integration that is disabled now end. */
export const reasonOfDisabled = ({ disabled_reason }: Pick<Integration, "disabled_reason">): DeliveryReason =>
  disabled_reason === "gone" ? "integration_gone" : "integration_disabled"

/** Why deliveries end that an integration does not acknowledge; null while it is enabled and they may be sent again. */
export const reasonToEnd = (
  integration: Pick<Integration, "status" | "disabled_reason"> | undefined
): DeliveryReason | null => {
  if (integration === undefined) return "integration_deleted"
  return integration.status === "enabled" ? null : reasonOfDisabled(integration)
}

/** What a store looks at of the integration that a delivery goes to. Undefined: it was deleted. */
export type Target = Pick<Integration, "status" | "version"> | undefined

/**
 * A new delivery: as asked for, unless its integration was deleted, disabled or changed since the event was matched. One of
 * a changed integration is claimed later, so that the request goes where the integration says by then.
 */
export const enqueue = (
  { initial, lane, matched_version }: NewDelivery,
  event: Event,
  integration: Target
): QueueEntry => {
  const inactive = { attempts: 0, early: 0, lane, due_at: null, worker: null, resend: 0 } as const
  if (integration === undefined) return { ...inactive, state: "cancelled", reason: "integration_deleted" }
  if (initial.state === "skipped") return { ...inactive, state: "skipped", reason: initial.reason }
  if (integration.status === "disabled") return { ...inactive, state: "skipped", reason: "integration_disabled" }
  const active = { ...inactive, reason: null, due_at: event.created_at }
  return initial.state === "delivering" && integration.version === matched_version
    ? { ...active, state: "delivering", worker: initial.worker }
    : { ...active, state: "pending" }
}

/** Claimed by a worker: the attempt that follows answers every resend asked for until now. */
export const claim = (standing: QueueEntry, worker: string): QueueEntry => ({
  ...standing,
  state: "delivering",
  reason: null,
  worker,
  resend: standing.resend === 0 ? 0 : 1
})

/** Whether a settlement is of the lease that a worker has, and not of an earlier one. */
export const isCurrent = (
  standing: Pick<QueueEntry, "attempts" | "worker">,
  { attempt }: Pick<Settlement, "attempt">,
  worker: string
): boolean => standing.worker === worker && (attempt === null || attempt.number === standing.attempts + 1)

/**
 * Settled by the worker that has its lease. A delivery that was ended during the attempt stays so, and only its attempt
 * counts; one that is to be sent again is due at once. A probe, sent though the integration is disabled, ends as
 * cancelled unless it is acknowledged.
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

/** Given back unattempted, due at a time, by default when it was. A delivery that was ended under its lease stays so. */
export const release = (standing: QueueEntry, dueAt: number | null = standing.due_at): QueueEntry =>
  standing.state === "delivering"
    ? {
        ...standing,
        state: standing.attempts === 0 || standing.resend > 0 ? "pending" : "retrying",
        // A resend that was asked for in the meantime does not wait for anything else.
        due_at: standing.resend === 2 && dueAt !== null ? Math.min(dueAt, standing.due_at ?? dueAt) : dueAt,
        worker: null,
        resend: standing.resend === 0 ? 0 : 1
      }
    : { ...standing, worker: null }

/**
 * To be sent again. Under a lease it may be on its way at this moment and must not be sent twice at once: it is marked, and
 * due as soon as that attempt is settled, however it ends, or its lease is lost, also if it was made early or the delivery
 * was cancelled during it.
 */
export const resend = (standing: QueueEntry, now: number): QueueEntry =>
  standing.worker === null
    ? { ...standing, state: "pending", reason: null, due_at: now, resend: 1 }
    : { ...standing, state: "delivering", reason: null, due_at: Math.min(standing.due_at ?? now, now), resend: 2 }

/** Ended because its integration takes no more. A delivery under lease keeps its worker. */
export const cancel = (standing: QueueEntry, reason: DeliveryReason): QueueEntry => ({
  ...standing,
  state: "cancelled",
  reason,
  due_at: null,
  resend: 0
})
