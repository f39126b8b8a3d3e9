/**
 * Where a delivery stands after each store call: the transitions, as plain functions.
 */
import type { LeasedDelivery } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import type { Integration } from "../domain/Integration.ts"
import type { NewDelivery, Settlement } from "../ports/DeliveryStore.ts"
import type { Standing, StoredDelivery } from "./DeliveryTable.ts"

/** Whether a delivery can be claimed. */
export const isDue = ({ due_at }: StoredDelivery, now: number): boolean => due_at !== null && due_at <= now

/** Whether a delivery ended without being acknowledged, or was never begun. */
export const isRecoverable = ({ due_at, state }: StoredDelivery): boolean => due_at === null && state !== "delivered"

/** A new delivery: as asked for, unless its integration was disabled or deleted since the event was matched. */
export const begun = ({ initial, lane }: NewDelivery, event: Event, integration: Integration | undefined): Standing => {
  const lease_token = initial.state === "delivering" ? initial.lease.token : null
  const inactive = { lane, attempts: 0, due_at: null, lease_token, resend: 0 } as const
  if (integration === undefined) return { ...inactive, state: "cancelled", reason: "integration_deleted" }
  if (initial.state === "skipped") return { ...inactive, state: "skipped", reason: initial.reason }
  if (integration.status === "disabled") return { ...inactive, state: "skipped", reason: "integration_disabled" }
  const due_at = initial.state === "delivering" ? initial.lease.until : event.created_at
  return { ...inactive, state: initial.state, reason: null, due_at }
}

/** Claimed: whatever was asked for before is answered by the attempt that follows. */
export const claimed = ({ resend }: StoredDelivery, lease: LeasedDelivery["lease"]): Partial<Standing> => ({
  state: "delivering",
  due_at: lease.until,
  lease_token: lease.token,
  resend: resend === 0 ? 0 : 1
})

/** Settled: as the settlement says, unless it was ended meanwhile, or a resend was asked for during the attempt. */
export const settled = (delivery: StoredDelivery, settlement: Settlement, now: number): Partial<Standing> => {
  const { attempt, lane, next_attempt_at, reason, state } = settlement
  const attempted = { attempts: attempt?.number ?? delivery.attempts, lease_token: null }
  if (delivery.state !== "delivering") return attempted
  if (delivery.resend === 2) return { ...attempted, lane, state: "pending", reason: null, due_at: now, resend: 1 }
  return { ...attempted, lane, state, reason, due_at: next_attempt_at, resend: 0 }
}

/** Given back unattempted. */
export const released = ({ attempts, resend }: StoredDelivery, dueAt: number): Partial<Standing> => ({
  state: attempts === 0 || resend > 0 ? "pending" : "retrying",
  due_at: dueAt,
  lease_token: null,
  resend: resend === 0 ? 0 : 1
})

/**
 * To be sent again. Under a live lease it may be on its way at this moment and must not be sent twice at once: it is
 * marked, and due as soon as that attempt is settled, however it ends.
 */
export const resent = (delivery: StoredDelivery, now: number): Partial<Standing> =>
  delivery.state === "delivering" && !isDue(delivery, now)
    ? { resend: 2 }
    : { state: "pending", reason: null, due_at: now, lease_token: null, resend: 1 }
