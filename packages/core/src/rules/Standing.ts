/**
 * Where a delivery stands in its queue, and where it stands after each store call: the one definition that all stores
 * share. What stores differ in is how they find and keep rows.
 */
import type { DeliveryReason, DeliveryState, Lane, Lease } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import type { Integration } from "../domain/Integration.ts"
import type { NewDelivery, Settlement } from "../ports/DeliveryStore.ts"

/** The members of a stored delivery that change. */
export interface Standing {
  readonly state: DeliveryState
  readonly reason: DeliveryReason | null
  /** How many attempts were made. */
  readonly attempts: number
  readonly lane: Lane
  /** When it can be claimed; of a delivery under lease, when the lease ends. Null unless it is active. */
  readonly due_at: number | null
  /** The lease it is attempted under. One that was ended meanwhile keeps it, so that its attempt is recorded all the same. */
  readonly lease_token: string | null
  /** 1: the next attempt was asked for. 2: it was asked for during an attempt, so that one more follows. */
  readonly resend: 0 | 1 | 2
}

/** Whether a delivery can be claimed. */
export const isDue = ({ due_at }: Pick<Standing, "due_at">, now: number): boolean => due_at !== null && due_at <= now

/** States of deliveries that ended, or never began, without an acknowledgement. */
export const unacknowledgedStates = [
  "exhausted",
  "expired",
  "cancelled",
  "skipped"
] as const satisfies ReadonlyArray<DeliveryState>

const recoverable: ReadonlySet<DeliveryState> = new Set<DeliveryState>([...unacknowledgedStates, "retrying"])

/** Whether a delivery is sent when its integration recovers what it missed: it has ended, or waits for a retry. */
export const isRecoverable = ({ state }: Pick<Standing, "state">): boolean => recoverable.has(state)

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
 * A new delivery: as asked for, unless its integration was deleted, disabled or changed since the event was matched. A
 * changed one is claimed anew, so that the request goes where the integration says by then.
 */
export const begun = ({ initial, lane, matched_version }: NewDelivery, event: Event, integration: Target): Standing => {
  // One that is not leased as it was asked to be is not sent: nobody holds a lease of it.
  const inactive = { attempts: 0, lane, due_at: null, lease_token: null, resend: 0 } as const
  if (integration === undefined) return { ...inactive, state: "cancelled", reason: "integration_deleted" }
  if (initial.state === "skipped") return { ...inactive, state: "skipped", reason: initial.reason }
  if (integration.status === "disabled") return { ...inactive, state: "skipped", reason: "integration_disabled" }
  if (initial.state === "pending" || integration.version !== matched_version)
    return { ...inactive, state: "pending", reason: null, due_at: event.created_at }
  const { token, until } = initial.lease
  return { ...inactive, state: "delivering", reason: null, due_at: until, lease_token: token }
}

/** Claimed: whatever was asked for until now is answered by the attempt that follows. */
export const claimed = ({ attempts, lane, resend }: Standing, lease: Lease): Standing => ({
  state: "delivering",
  reason: null,
  attempts,
  lane,
  due_at: lease.until,
  lease_token: lease.token,
  resend: resend === 0 ? 0 : 1
})

/**
 * Settled under its current token: as the settlement says. One that was ended meanwhile stays so, and only its attempt
 * counts; one that was to be sent again is due at once. A probe, sent though the integration is disabled, ends as it was if it
 * is not acknowledged, whatever would follow for others.
 */
export const settled = (
  standing: Standing,
  settlement: Settlement,
  now: number,
  toEnd: ReturnType<typeof reasonToEnd>
): Standing => {
  const { attempt, lane, next_attempt_at, reason, state } = settlement
  const attempts = attempt?.number ?? standing.attempts
  if (standing.state !== "delivering") return { ...standing, attempts, lease_token: null }
  if (toEnd !== null && attempt !== null && attempt.outcome !== "acknowledged")
    return { ...cancelled({ ...standing, lane }, toEnd), attempts, lease_token: null }
  if (standing.resend === 2)
    return { state: "pending", reason: null, attempts, lane, due_at: now, lease_token: null, resend: 1 }
  return { state, reason, attempts, lane, due_at: next_attempt_at, lease_token: null, resend: 0 }
}

/** Given back unattempted. */
export const released = (standing: Standing, dueAt: number): Standing => ({
  ...standing,
  state: standing.attempts === 0 || standing.resend > 0 ? "pending" : "retrying",
  due_at: dueAt,
  lease_token: null,
  resend: standing.resend === 0 ? 0 : 1
})

/**
 * To be sent again. Under a live lease it may be on its way at this moment and must not be sent twice at once: it is
 * marked, and due as soon as that attempt is settled, however it ends.
 */
export const resent = (standing: Standing, now: number): Standing =>
  standing.state === "delivering" && !isDue(standing, now)
    ? { ...standing, resend: 2 }
    : { ...standing, state: "pending", reason: null, due_at: now, lease_token: null, resend: 1 }

/** Ended because its integration takes no more. One under lease keeps its token. */
export const cancelled = (standing: Standing, reason: DeliveryReason): Standing => ({
  ...standing,
  state: "cancelled",
  reason,
  due_at: null,
  resend: 0
})
