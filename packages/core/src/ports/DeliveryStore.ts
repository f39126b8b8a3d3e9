/**
 * Where events, deliveries and attempts are kept.
 *
 * Batch first: one call, one transaction, one sync to disk for as many rows as wait. `now` comes in as a parameter
 * wherever time matters, so that a test clock drives real databases. Every call is all or nothing.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type {
  Attempt,
  Delivery,
  DeliveryReason,
  DeliveryState,
  Lane,
  Lease,
  LeasedDelivery
} from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import type { DeliveryId, EventId, IntegrationId } from "../domain/Ids.ts"
import type { DisabledReason } from "../domain/Integration.ts"
import type { StoreError } from "./StoreError.ts"

/** A delivery to be stored with its event. */
export interface NewDelivery {
  readonly integration_id: IntegrationId
  readonly lane: Lane
  /** `delivering` is leased from the start and handed over in memory; `skipped` is kept for a later resend. */
  readonly initial:
    | { readonly state: "pending" }
    | { readonly state: "delivering"; readonly lease: Lease }
    | { readonly state: "skipped"; readonly reason: DeliveryReason }
}

/** An event with one delivery for each integration it matches. */
export interface NewEventRecord {
  readonly event: Event
  readonly deliveries: ReadonlyArray<NewDelivery>
}

/** How a delivery was stored. Only one that is `delivering` is leased as it was asked to be. */
export interface Enqueued {
  readonly id: DeliveryId
  readonly state: DeliveryState
}

/** What to claim. */
export interface ClaimRequest {
  readonly now: number
  readonly lease: Lease
  /** The most deliveries to take. */
  readonly limit: number
  /** The most to take of one integration. */
  readonly limitPerIntegration: number
  /** Other limits for some integrations; 0 takes nothing of one. */
  readonly limits: ReadonlyMap<IntegrationId, number>
}

/** How an attempt, or the decision to make none, ends. */
export interface Settlement {
  readonly delivery_id: DeliveryId
  /** The token it was leased under. */
  readonly token: string
  /** The attempt that was made; null when the delivery ended without one. */
  readonly attempt: Attempt | null
  readonly state: Exclude<DeliveryState, "pending" | "delivering" | "skipped">
  readonly reason: DeliveryReason | null
  /** When the next attempt is due; null unless `retrying`. */
  readonly next_attempt_at: number | null
  /** The lane the delivery waits in next. */
  readonly lane: Lane
  /** Disable the delivery's integration, for this reason, and cancel what else waits for it. */
  readonly disable: Extract<DisabledReason, "gone" | "failing"> | null
}

/** Which deliveries to list. Absent members do not filter. */
export interface DeliveryFilter {
  readonly state?: DeliveryState
  readonly integration_id?: IntegrationId
  readonly event_id?: EventId
  /** Only deliveries after this one, in the order of their ids. */
  readonly after?: DeliveryId
  readonly limit: number
}

/** Numbers that say whether deliveries flow. */
export interface DeliverySummary {
  readonly events: number
  /** How many deliveries are in each state. */
  readonly states: Readonly<Record<DeliveryState, number>>
  /** When the delivery that has waited longest became due, in milliseconds since the epoch; null when none is due. */
  readonly oldest_due_at: number | null
}

/** What became of a request to send a delivery again. */
export type ResendResult = "resent" | "not_found" | "integration_disabled" | "integration_deleted"

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /**
     * Stores events with their deliveries. Answers how the deliveries of each event are stored, in the order given: what
     * was matched before its integration was deleted as cancelled, and before it was disabled as skipped.
     */
    readonly enqueue: (
      records: ReadonlyArray<NewEventRecord>
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<Enqueued>>, StoreError>

    /**
     * Leases due deliveries: those that wait and are due, and those whose lease has run out. Within an integration the
     * most urgent lane goes first, then the earliest due.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<LeasedDelivery>, StoreError>

    /**
     * Records attempts and what follows from them. A settlement whose token is not the delivery's current one changes
     * nothing; one of a delivery cancelled meanwhile records the attempt only. Answers the ids that were not stale.
     */
    readonly settle: (
      settlements: ReadonlyArray<Settlement>,
      now: number
    ) => Effect.Effect<ReadonlySet<DeliveryId>, StoreError>

    /** Gives leased deliveries back unattempted, for whoever claims next, due at `dueAt`. Stale tokens change nothing. */
    readonly release: (
      leases: ReadonlyArray<{ readonly delivery_id: DeliveryId; readonly token: string }>,
      dueAt: number
    ) => Effect.Effect<void, StoreError>

    /** When the next delivery will be due (in the past when one is), or null when none waits. */
    readonly nextDue: Effect.Effect<number | null, StoreError>

    readonly find: (id: DeliveryId) => Effect.Effect<Delivery | null, StoreError>
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
    readonly attempts: (id: DeliveryId) => Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    readonly findEvent: (id: EventId) => Effect.Effect<Event | null, StoreError>

    /**
     * Makes a delivery due now, whatever its state; its waiting retry, if any, is replaced. One under a live lease is due
     * as soon as its attempt is settled, however it ends: it is never sent twice at once.
     */
    readonly resend: (id: DeliveryId, now: number) => Effect.Effect<ResendResult, StoreError>

    /**
     * Makes every unacknowledged, settled delivery of an integration created since a time due now; says how many. None
     * when the integration is disabled or gone.
     */
    readonly recover: (integration: IntegrationId, since: number, now: number) => Effect.Effect<number, StoreError>

    readonly summary: (now: number) => Effect.Effect<DeliverySummary, StoreError>
  }
>()("@doorhook/core/ports/DeliveryStore") {}
