/**
 * Where events, deliveries and attempts are kept.
 *
 * Batch first: one call stores as many rows as the caller has. `now` is a parameter wherever time matters, so that a test
 * clock drives real databases. Each call is all or nothing, except `redeliver` of an
 * integration and `settle`, which may commit in parts.
 *
 * A delivery is sent by one worker at a time. A worker is a member for as long as its heartbeats say; what it has claimed,
 * or published and kept, is leased to it until it settles or releases it, or its membership ends. On SQLite, whose file has
 * one owner, leases live in that process's memory: after a crash what was leased is due again, and a retry that waits keeps its time.
 */
import type { Array, Effect } from "effect"
import { Context, Schema } from "effect"
import type { Attempt, Delivery, DeliveryReason, DeliveryState, Lane, LeasedDelivery } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { DeliveryId, EventId, IntegrationId, NotificationId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import type { IntegrationNotification, NewNotification, Notification } from "../model/Notification.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "./IdempotencyStore.ts"
import type { StoreError } from "./StoreError.ts"

/** A delivery to be stored with its event. */
export interface NewDelivery {
  readonly integration_id: IntegrationId
  readonly lane: Lane
  /** The integration's version when the event was matched: a delivery of one that has changed since is not leased. */
  readonly matched_version: number
  /** `delivering`: leased to the publishing worker from the start. `skipped`: kept for a later resend. */
  readonly initial:
    | { readonly state: "pending" }
    | { readonly state: "delivering"; readonly worker: string }
    | { readonly state: "skipped"; readonly reason: DeliveryReason }
}

/** An event with one delivery for each integration it matches. */
export interface NewEventRecord {
  readonly event: Event
  readonly deliveries: ReadonlyArray<NewDelivery>
}

/** How a delivery was stored. Only one that is `delivering` is leased. */
export interface Enqueued {
  readonly id: DeliveryId
  readonly state: DeliveryState
}

/** An integration that events were matched with, whether they match it or not. */
export type MatchCandidate = Pick<Integration, "id" | "version">

/** The integrations of the scope have changed since the events were matched. Nothing was stored. */
export class StaleMatch extends Schema.TaggedError<StaleMatch>()("StaleMatch", {}) {
  override get message(): string {
    return "Integrations have changed since the events were matched with them: match them again with a fresh read."
  }
}

/** Stores events with their deliveries. */
export interface Enqueue {
  /** With the candidates of a match: `IntegrationStore.findByScopes` may have been read before the call. */
  (
    records: ReadonlyArray<NewEventRecord>,
    keys: ReadonlyArray<IdempotencyRecord>,
    candidates: ReadonlyArray<MatchCandidate>
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<Enqueued>>, StoreError | IdempotencyConflict | StaleMatch>
  (
    records: ReadonlyArray<NewEventRecord>,
    keys?: ReadonlyArray<IdempotencyRecord>
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<Enqueued>>, StoreError | IdempotencyConflict>
}

/** What to claim. */
export interface ClaimRequest {
  readonly worker: string
  readonly now: number
  /** The most deliveries to take; 0 only asks when the next one is due. */
  readonly limit: number
  /** The most to take of one integration. */
  readonly limitPerIntegration: number
  /** Other limits for some integrations; 0 takes nothing of one. */
  readonly limits: ReadonlyMap<IntegrationId, number>
  /** Takes only retries of this integration that are not due yet, the oldest delivery first. */
  readonly early?: IntegrationId
}

/** What was claimed. */
export interface Claimed {
  readonly deliveries: ReadonlyArray<LeasedDelivery>
  /** When the first delivery that is not leased is due, in milliseconds since the epoch; null when none waits. */
  readonly next_due: number | null
}

/** The outcome of a lease: what an attempt, or the decision to make none, makes of its delivery. */
export interface Settlement {
  readonly delivery_id: DeliveryId
  readonly integration_id: IntegrationId
  /** The attempt that was made; null when the delivery ended without one. */
  readonly attempt: Attempt | null
  readonly state: Exclude<DeliveryState, "pending" | "delivering" | "skipped">
  readonly reason: DeliveryReason | null
  /** When the next attempt is due; null unless `retrying`. */
  readonly next_attempt_at: number | null
  /** The lane the delivery waits in next. */
  readonly lane: Lane
  /** How many of its failed attempts were made early and do not count in its schedule, this one included. */
  readonly early: number
  /** Until when the receiver asked for no request (`Retry-After`), in milliseconds since the epoch; null when it did not. */
  readonly retry_after: number | null
  /**
   * The receiver is gone for good: disable the integration and cancel what else waits for it. A store that would have to
   * wait for others before it can, sends the delivery again instead (`Settlements.retryAfterGone`).
   */
  readonly gone: boolean
}

/** A leased delivery that is given back unattempted. */
export interface Release {
  readonly delivery_id: DeliveryId
  /** When it is due, in milliseconds since the epoch. */
  readonly due_at: number
}

/** The end of some leases of one worker. */
export interface Outcomes {
  readonly worker: string
  readonly settlements: ReadonlyArray<Settlement>
  readonly releases: ReadonlyArray<Release>
}

/** An integration that acknowledges again after failed attempts. */
export interface Recovery {
  readonly integration_id: IntegrationId
  /** Since when it had failed, in milliseconds since the epoch. */
  readonly failing_since: number
  /** Until when its receiver asked for no retries, in milliseconds since the epoch; null when it did not. */
  readonly retry_after: number | null
}

/** What outcomes led to. */
export interface Settled {
  /** The deliveries whose settlements were not stale. */
  readonly applied: ReadonlySet<DeliveryId>
  /** Integrations that this disabled or enabled: deliveries of them that are held are void. */
  readonly changed: ReadonlyArray<IntegrationId>
  /** Integrations whose failing ended with an acknowledgement. */
  readonly recovered: ReadonlyArray<Recovery>
  /** Notifications for operators, as stored. */
  readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
  /** Whether deliveries are due now though their settlements do not say so, because they were resent during the attempt. */
  readonly hasDueDeliveries: boolean
}

/** A sign of life of a worker. */
export interface Heartbeat {
  readonly worker: string
  readonly now: number
  /** When the membership ends without a further heartbeat, in milliseconds since the epoch; null ends it now. */
  readonly until: number | null
  /**
   * After a lost answer: the deliveries that the worker holds. Its other leases, of deliveries created before `before`, are
   * released.
   */
  readonly holds?: { readonly ids: ReadonlyArray<DeliveryId>; readonly before: number }
}

/** The workers that live over one store. */
export interface Membership {
  /** How many workers there are, the asking one included. */
  readonly workers: number
  /** How many of them come before the asking one, in the order of their names. */
  readonly rank: number
  /** Whether the worker was a member until this heartbeat. If not, it holds no leases. */
  readonly continued: boolean
}

/** What an integration should have received, as its catching-up feed shows it. */
export interface FeedItem {
  readonly delivery: Delivery
  readonly event: Event
}

/** Which old events to purge. */
export interface PurgeRequest {
  /** Only events that were published before, in milliseconds since the epoch. */
  readonly before: number
  /** Begins after this place, as the last answer's `next` says; 0 at first. */
  readonly after: number
  /** The most events to look at in one transaction. */
  readonly limit: number
}

/** What was purged. */
export interface Purged {
  readonly events: number
  readonly deliveries: number
  /**
   * Where to go on; null when there is no more, or nothing that was looked at is old enough. So events that a clock which ran
   * ahead has dated too late hold up none behind them, as long as they are fewer than `limit` in a row.
   */
  readonly next: number | null
}

/** The order of a list; `oldest` first by default. */
export type ListOrder = "oldest" | "newest"

/** Which deliveries to list. Absent members do not filter. */
export interface DeliveryFilter {
  /** In one of these states, each named once. */
  readonly states?: Array.NonEmptyReadonlyArray<DeliveryState>
  readonly integration_id?: IntegrationId
  readonly event_id?: EventId
  /** By growing ids, or by falling ones. */
  readonly order?: ListOrder
  /** Only deliveries that come after this one in that order. */
  readonly after?: DeliveryId
  readonly limit: number
}

/** The last attempt of a delivery, without the answer's body. */
export type LastAttempt = Omit<Attempt, "response_excerpt">

/** A delivery in a list, with its last attempt; null before the first. */
export interface ListedDelivery extends Delivery {
  /** Of its event; null when its row can't be found. */
  readonly resource_type: ResourceType | null
  readonly last_attempt: LastAttempt | null
}

/** A delivery with its event and all its attempts, the first one first. */
export interface FoundDelivery {
  readonly delivery: Delivery
  /** Null when its row can't be found, because something else than doorhook deleted it. */
  readonly event: Event | null
  readonly attempts: ReadonlyArray<Attempt>
}

/** Numbers that say whether deliveries flow. */
export interface DeliverySummary {
  readonly events: number
  /** How many deliveries are in each state. */
  readonly states: Readonly<Record<DeliveryState, number>>
  /** When the delivery that has waited longest became due, in milliseconds since the epoch; null when none is due. */
  readonly oldest_due_at: number | null
}

/** Which events of a building or a tenant to list: the latest published first, of the same millisecond the last stored. */
export interface EventFilter {
  readonly scope: Scope
  readonly resource_type: ResourceType
  /** Only events published at this time or later, in milliseconds since the epoch. */
  readonly since?: number
  /** Only events published before this time, in milliseconds since the epoch. */
  readonly until?: number
  /** How many events to skip; less than `countUpTo`. */
  readonly offset: number
  readonly limit: number
  /** Count no more events than this: it bounds what a list costs, however many there are. */
  readonly countUpTo: number
}

/** A page of events. */
export interface EventPage {
  readonly items: ReadonlyArray<Event>
  /** How many events the filter selects, `countUpTo` at most. */
  readonly total: number
  /** Whether there are more than `countUpTo`. */
  readonly isCapped: boolean
}

/** Which notifications to list. */
export interface NotificationFilter {
  readonly integration_id?: IntegrationId
  readonly order?: ListOrder
  /** Only notifications that come after this one in that order. */
  readonly after?: NotificationId
  readonly limit: number
}

/** What to send again. */
export type RedeliverRequest =
  /** One delivery, in any state; its waiting retry, if any, is replaced. */
  | { readonly type: "delivery"; readonly id: DeliveryId }
  /** Every delivery of an integration created since a time that ended unacknowledged or waits for a retry. */
  | { readonly type: "integration"; readonly id: IntegrationId; readonly since: number }
  /**
   * The newest unacknowledged, ended delivery of an integration that doorhook disabled. Acknowledged, it enables the
   * integration; otherwise it ends as cancelled, with the reason that the integration is disabled for. Deliveries that a worker may still be sending are passed over.
   */
  | { readonly type: "probe"; readonly id: IntegrationId }

/** What was made due. */
export type RedeliverResult =
  | { readonly _tag: "Redelivered"; readonly count: number; readonly delivery_id: DeliveryId | null }
  | {
      readonly _tag: "Refused"
      readonly why: "not_found" | "integration_deleted" | "integration_disabled" | "not_disabled" | "nothing_to_send"
    }

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /**
     * Stores events with their deliveries, and the idempotency keys of the requests that published them. Answers how the
     * deliveries of each event were stored, in the order given: what was matched before its integration was deleted as
     * cancelled, before it was disabled as skipped, and before it was changed in another way as pending. Fails, with
     * nothing stored, when one of the keys is taken; given the candidates that the events were matched with, also when
     * these are not all integrations of the events' scopes any more, in the same versions. Wakes the workers of other
     * processes for what is due.
     */
    readonly enqueue: Enqueue

    /**
     * Leases due deliveries to a worker. Within an integration the most urgent lane goes first, then the earliest due. A
     * delivery that can't be read holds up nothing else: the store puts it off and logs it.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<Claimed, StoreError>

    /**
     * Records outcomes of a worker's leases and what follows from them. Those of deliveries that are not leased to it, or
     * whose attempt is not the next one, are stale and change nothing; a delivery that was cancelled during its attempt
     * only gets the attempt recorded. What the attempts show of their integrations is judged by `delivery/HealthRules`: one
     * that failed for `disableAfter` milliseconds, and often enough, is disabled. A disabled one whose probe is
     * acknowledged is enabled.
     */
    readonly settle: (outcomes: Outcomes, now: number, disableAfter: number) => Effect.Effect<Settled, StoreError>

    /**
     * Begins, continues or ends the membership of a worker. Ends memberships that have lapsed; what their workers had
     * leased is released, due when it was.
     */
    readonly heartbeat: (heartbeat: Heartbeat) => Effect.Effect<Membership, StoreError>

    /**
     * Makes deliveries due now. One under lease is due as soon as its attempt is settled, unless that failed and the
     * integration is disabled or deleted by then: it is never sent twice at once. Many of an integration are made due in parts: a call that fails in the middle, or finds the
     * integration disabled, keeps what it has done, and calling it again does the rest.
     */
    readonly redeliver: (request: RedeliverRequest, now: number) => Effect.Effect<RedeliverResult, StoreError>

    /**
     * Stores a notification for each enabled integration whose failing has crossed a warning threshold, `limit` of them at
     * most, each once.
     */
    readonly warn: (
      now: number,
      disableAfter: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Notification<IntegrationNotification>>, StoreError>

    /** Stores a notification that concerns no integration. */
    readonly addNotification: (notification: NewNotification) => Effect.Effect<Notification, StoreError>

    readonly find: (id: DeliveryId) => Effect.Effect<FoundDelivery | null, StoreError>
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<ListedDelivery>, StoreError>

    /**
     * What was stored for an integration after a delivery (0: from the beginning), in the order of ids, skipped and
     * cancelled deliveries included. Complete: it ends before the first id that a transaction still open may add.
     */
    readonly feed: (of: {
      readonly integration_id: IntegrationId
      readonly after: DeliveryId | 0
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<FeedItem>, StoreError>

    /**
     * A page of the events that a building or a tenant may see and that are still kept. Reads at most `countUpTo` entries
     * of an index, and the events of the page.
     */
    readonly events: (filter: EventFilter) => Effect.Effect<EventPage, StoreError>

    readonly notifications: (filter: NotificationFilter) => Effect.Effect<ReadonlyArray<Notification>, StoreError>

    /**
     * Deletes old events whose deliveries have all ended, with these and their attempts, and notifications of the same age.
     * What has not ended stays, whatever its age.
     */
    readonly purge: (request: PurgeRequest) => Effect.Effect<Purged, StoreError>

    readonly summary: (now: number) => Effect.Effect<DeliverySummary, StoreError>
  }
>()("@doorhook/core/ports/DeliveryStore") {}
