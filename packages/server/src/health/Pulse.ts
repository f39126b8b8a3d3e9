/**
 * Whether deliveries flow: what readiness and the metrics are made from.
 */
import { DeliveryStore, Dispatcher } from "@doorhook/core"
import type { DispatcherStatus } from "@doorhook/core"
import { Clock, Effect } from "effect"

export interface Pulse extends DispatcherStatus {
  /** When this was measured, in milliseconds since the epoch. */
  readonly now: number
  /** How long the delivery that was due first has waited, in milliseconds; 0 when none is due. */
  readonly oldest_due_age_ms: number
}

/** Takes the pulse. Asks the store for one indexed value, and never for counts. */
export const takePulse = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const dispatcher = yield* Dispatcher
  const now = yield* Clock.currentTimeMillis
  const due = yield* store.nextDue
  const pulse: Pulse = {
    ...(yield* dispatcher.status),
    now,
    oldest_due_age_ms: due === null ? 0 : Math.max(0, now - due)
  }
  return pulse
})

/**
 * Whether the dispatcher stands still: something has been due for longer than `bound`, and for as long nobody has
 * looked for it. A backlog that is being worked on is no standstill, however old.
 */
export const standsStill = ({ now, oldest_due_age_ms, last_claim_at }: Pulse, bound: number): boolean =>
  oldest_due_age_ms > bound && (last_claim_at === null || now - last_claim_at > bound)
