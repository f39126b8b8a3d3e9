/**
 * Stores events, deliveries and attempts.
 *
 * Calls accept batches of any size. `now` is a parameter wherever time matters, so that tests can use their own clock
 * with real databases. Each call is atomic, except `settle` and the `redeliver` of an integration, which may commit in
 * parts.
 *
 * Only one worker sends a delivery at a time. Heartbeats extend a worker's membership. Deliveries that a worker has
 * claimed, or kept when publishing, are leased to it until it settles or releases them, or its membership ends. A
 * SQLite file is used by one process, which holds the leases in memory. After a crash, leased deliveries are due again,
 * and waiting retries keep their due times.
 */
import type { Array, Effect } from "effect"
import { Context, Schema } from "effect"
import type { AgreedSettings, Disagreement } from "../model/AgreedSettings.ts"
import type { CallMark } from "../model/CallMark.ts"
import type { Attempt, Delivery, DeliveryReason, DeliveryState, Lane, LeasedDelivery } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { DeliveryId, IntegrationId, NotificationId } from "../model/Ids.ts"
import { EventId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import type { IntegrationNotification, NewNotification, Notification } from "../model/Notification.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "./IdempotencyStore.ts"
import type { StoreError } from "./StoreError.ts"

/** A delivery to store with its event. */
export interface NewDelivery {
  readonly integration_id: IntegrationId
  readonly lane: Lane
  /**
   * The integration's version when the event was matched. If the version has changed since, the delivery is not leased.
   */
  readonly matched_version: number
  /** `delivering` is leased to the publishing worker. `skipped` is stored for a later resend. */
  readonly initial:
    | { readonly state: "pending" }
    | { readonly state: "delivering"; readonly worker: string }
    | { readonly state: "skipped"; readonly reason: DeliveryReason }
}

/** An event with one delivery for each matching integration. */
export interface NewEventRecord {
  readonly event: Event
  readonly deliveries: ReadonlyArray<NewDelivery>
  /** The call that the event begins or ends; absent for other events, and unless calls have ends (`callEnd`). */
  readonly call?: CallMark
}

/** How a delivery was stored. The delivery is leased only if its state is `delivering`. */
export interface Enqueued {
  readonly id: DeliveryId
  readonly state: DeliveryState
}

/** An integration considered when matching events, whether or not it matched. */
export type MatchCandidate = Pick<Integration, "id" | "version">

/** The integrations of the scopes have changed since the events were matched. Nothing was stored. */
export class StaleMatch extends Schema.TaggedError<StaleMatch>()("StaleMatch", {}) {
  override get message(): string {
    return "Integrations have changed since the events were matched. Match the events again with a fresh read."
  }
}

/** Stores events with their deliveries. */
export interface Enqueue {
  /**
   * `candidates` are the integrations considered in the match, possibly from a cached read of
   * `IntegrationStore.findByScopes`.
   */
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

/** Limits of a claim. */
export interface ClaimLimits {
  /** Maximum number of deliveries to claim. */
  readonly limit: number
  /** Maximum number of deliveries per integration. */
  readonly limitPerIntegration: number
  /** Limits for particular integrations, instead of `limitPerIntegration`; 0 claims none. */
  readonly limits: ReadonlyMap<IntegrationId, number>
}

/** A request for due deliveries. If no limit allows any, only `next_due` is determined. */
export interface ClaimRequest extends ClaimLimits {
  readonly worker: string
  readonly now: number
  /** Higher limits for urgent deliveries, which count in the other limits too but may exceed them. */
  readonly urgent?: ClaimLimits
  /**
   * Claims only retries of this integration that are not yet due, the oldest delivery first. `urgent` does not apply to
   * them.
   */
  readonly earlyOf?: IntegrationId
}

/** The result of a claim. */
export interface Claimed {
  readonly deliveries: ReadonlyArray<LeasedDelivery>
  /** Earliest due time of a delivery without a lease, in milliseconds since the epoch; null if none waits. */
  readonly next_due: number | null
}

/** The result of a lease: the delivery's next state, with its attempt if one was made. */
export interface Settlement {
  readonly delivery_id: DeliveryId
  readonly integration_id: IntegrationId
  /** The attempt; null if the delivery ended without one. */
  readonly attempt: Attempt | null
  readonly state: Exclude<DeliveryState, "pending" | "delivering" | "skipped">
  readonly reason: DeliveryReason | null
  /** When the next attempt is due; null unless `retrying`. */
  readonly next_attempt_at: number | null
  /** The delivery's next lane. */
  readonly lane: Lane
  /** Number of failed early attempts, including this one. They don't count in the schedule. */
  readonly early: number
  /** The receiver's `Retry-After` time, in milliseconds since the epoch; null without one. */
  readonly retry_after: number | null
  /**
   * Whether the receiver is permanently gone. If so, the integration is disabled and its waiting deliveries are
   * cancelled. If the store would have to wait for a lock, it schedules a retry instead (`Settlements.retryAfterGone`).
   */
  readonly gone: boolean
}

/** A leased delivery that is released without an attempt. */
export interface Release {
  readonly delivery_id: DeliveryId
  /** New due time, in milliseconds since the epoch. */
  readonly due_at: number
}

/** Results of a worker's leases. */
export interface Outcomes {
  readonly worker: string
  readonly settlements: ReadonlyArray<Settlement>
  readonly releases: ReadonlyArray<Release>
}

/** An integration that acknowledges again after failed attempts. */
export interface Recovery {
  readonly integration_id: IntegrationId
  /** Start of the failure, in milliseconds since the epoch. */
  readonly failing_since: number
  /** The receiver's `Retry-After` time, in milliseconds since the epoch; null without one. */
  readonly retry_after: number | null
}

/** The effects of settlements. */
export interface Settled {
  /** Deliveries whose settlements were not stale. */
  readonly applied: ReadonlySet<DeliveryId>
  /**
   * Integrations that were disabled or enabled. Workers must release the deliveries of these integrations that they
   * hold.
   */
  readonly changed: ReadonlyArray<IntegrationId>
  /** Integrations whose failure ended with an acknowledgement. */
  readonly recovered: ReadonlyArray<Recovery>
  /** The stored notifications for operators. */
  readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
  /**
   * Whether deliveries are due now because a resend was requested during their attempt. Their settlements don't show
   * this.
   */
  readonly hasDueDeliveries: boolean
  /**
   * Deliveries whose settlements and releases were not recorded, because another transaction holds the delivery or its
   * integration. The store does not wait for that transaction. The caller repeats them; their leases continue.
   */
  readonly postponed: ReadonlySet<DeliveryId>
}

/** A heartbeat of a worker. */
export interface Heartbeat {
  readonly worker: string
  readonly now: number
  /** End of the membership unless another heartbeat follows, in milliseconds since the epoch; null ends it now. */
  readonly until: number | null
  /**
   * Set after a lost answer: the deliveries that the worker holds. The store releases the worker's other leases, except
   * for deliveries created at `before` or later.
   */
  readonly holds?: { readonly ids: ReadonlyArray<DeliveryId>; readonly before: number }
  /** Ends no expired membership, because the store's clock has jumped and the memberships' ends may be wrong. */
  readonly spares?: boolean
  /**
   * The worker's settings that must equal those of other workers. Only a store that several processes share compares
   * them. If they differ, a worker that was a member remains one, to record its attempts, and no other becomes one.
   */
  readonly settings?: AgreedSettings
}

/** A worker's position among the members. */
export interface Membership {
  /** Number of workers, including this one. */
  readonly workers: number
  /** Number of workers before this one, in order of name. */
  readonly rank: number
  /** Whether the worker was still a member at this heartbeat. If not, the worker's leases have ended. */
  readonly continued: boolean
  /** Set if the worker's settings are not the stored ones. */
  readonly disagreement?: Disagreement
}

/**
 * The source of a feed: an integration, whose feed contains its deliveries in order of id, or a building or tenant, whose
 * feed contains the events that it may see in storage order.
 */
export type FeedSource = Scope | { readonly type: "integration"; readonly id: IntegrationId }

/** An item of an integration's feed. */
export interface FeedItem {
  readonly delivery: Delivery
  readonly event: Event
}

/** An item of the feed of a building or tenant. */
export interface FeedEvent {
  /** Sequence number of the event in storage order. */
  readonly seq: number
  readonly event: Event
}

/** Which part of a feed to read. */
export interface FeedRequest {
  /** The position after which the part begins: a delivery's id or an event's sequence number; 0 for the beginning. */
  readonly after: number
  readonly limit: number
  /** Ends the part with the event whose data reaches this many bytes. Default: no limit. */
  readonly maxBytes?: number
  /** Only events of these types. The part then ends after `feedScan` items of any type. Default: all types. */
  readonly types?: ReadonlyArray<ResourceType>
}

/** Maximum number of items that one part examines for events of the requested types. */
export const feedScan = 1_000

/** Part of a feed. */
export interface FeedPart<Item = FeedItem> {
  readonly items: ReadonlyArray<Item>
  /** The position of the last examined item; `after` if there was none. The next part begins after it. */
  readonly upTo: number
  /** Whether further items were not examined. */
  readonly more: boolean
}

/** The ends of the feeds of all integrations (`deliveries`), and of all buildings and tenants (`events`). */
export interface FeedEnds {
  readonly deliveries: FeedEnd
  readonly events: FeedEnd
}

export interface FeedEnd {
  /** All items up to this position are stored and can be read. */
  readonly complete: number
  /** The last position that was assigned, perhaps by a transaction that is still open. */
  readonly assigned: number
}

/** The position of an item in its feed. */
export interface FeedPlace {
  readonly position: number
  readonly created_at: number
}

/** The buildings and tenants of new events. */
export interface NewScopes {
  readonly scopes: ReadonlyArray<Scope>
  /** Sequence number of the last examined event; `after` if there was none. */
  readonly upTo: number
  readonly more: boolean
}

/** Which old events to delete. */
export interface PurgeRequest {
  /** Only events published before this time, in milliseconds since the epoch. */
  readonly before: number
  /** The current time, in milliseconds since the epoch. Events with a later time were dated by a wrong clock. */
  readonly now: number
  /** Where to begin: 0, or `next` of the previous result. */
  readonly after: number
  /** Maximum number of events to examine in one transaction. */
  readonly limit: number
}

/** The result of a purge. */
export interface Purged {
  readonly events: number
  readonly deliveries: number
  /**
   * Where to continue; null at the end, or if no examined event is old enough and at least one is recent. Events that
   * a wrong clock dated in the future don't end the purge, however many follow each other.
   */
  readonly next: number | null
}

/** The order of a list. The default is `oldest` first. */
export type ListOrder = "oldest" | "newest"

/** Filter for a list of deliveries. Absent members don't filter. */
export interface DeliveryFilter {
  /** Only deliveries in one of these states. The list must have no duplicates. */
  readonly states?: Array.NonEmptyReadonlyArray<DeliveryState>
  readonly integration_id?: IntegrationId
  readonly event_id?: EventId
  /** Order by ascending or descending id. */
  readonly order?: ListOrder
  /** Only deliveries after this one in that order. */
  readonly after?: DeliveryId
  readonly limit: number
}

/** The last attempt of a delivery, without the body of the answer. */
export type LastAttempt = Omit<Attempt, "response_excerpt">

/** A delivery in a list, with its last attempt, which is null before the first. */
export interface ListedDelivery extends Delivery {
  /** The event's resource type; null if the event's row is missing. */
  readonly resource_type: ResourceType | null
  readonly last_attempt: LastAttempt | null
}

/** Maximum length of the beginning of an event's data, in characters. */
export const excerptChars = 8_192

/** An event in a list of deliveries, with the beginning of its data. */
export const EventExcerpt = Schema.Struct({
  id: EventId,
  action: Schema.String,
  created_at: Schema.Int,
  /** At most `excerptChars` characters. */
  data: Schema.String
})
export type EventExcerpt = typeof EventExcerpt.Type

/** Which deliveries to count: those of an integration or all, with ids from `from` on and below `before`. */
export interface FigureFilter {
  readonly integration_id?: IntegrationId
  readonly from: DeliveryId
  readonly before: DeliveryId
  /** Length of a step, in milliseconds. Steps begin at its multiples. */
  readonly step: number
}

/** Upper bounds of the latency classes, in milliseconds. Slower attempts are in the last class. */
export const latencyBounds = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const

/** A number of deliveries that were created in the same step and are alike. */
export const FigureRow = Schema.Struct({
  /** Start of the step, in milliseconds since the epoch. */
  at: Schema.Int,
  /** `pending` includes deliveries under lease. */
  state: Schema.Literals(["pending", "retrying", "delivered", "exhausted", "expired", "cancelled", "skipped"]),
  /** Index of the latency class of an acknowledged attempt; -1 for other deliveries. */
  latency: Schema.Int,
  count: Schema.Int
})
export type FigureRow = typeof FigureRow.Type

/** Returns the index of an acknowledged attempt's latency class. */
export const latencyClassOf = (millis: number): number => {
  const index = latencyBounds.findIndex((bound) => millis <= bound)
  return index === -1 ? latencyBounds.length - 1 : index
}

/** A delivery with its event and all its attempts, oldest first. */
export interface FoundDelivery {
  readonly delivery: Delivery
  /** Null if the event's row is missing, because something other than doorhook deleted it. */
  readonly event: Event | null
  readonly attempts: ReadonlyArray<Attempt>
}

/** Counts and due times of the deliveries in the store. */
export interface DeliverySummary {
  readonly events: number
  /** Number of deliveries in each state. */
  readonly states: Readonly<Record<DeliveryState, number>>
  /** Due time of the longest overdue delivery, in milliseconds since the epoch; null if none is due. */
  readonly oldest_due_at: number | null
}

/**
 * Filter for a list of a building's or tenant's events, latest first. Events of the same millisecond are in reverse
 * storage order.
 */
export interface EventFilter {
  readonly scope: Scope
  readonly resource_type: ResourceType
  /** Only events published at this time or later, in milliseconds since the epoch. */
  readonly since?: number
  /** Only events published before this time, in milliseconds since the epoch. */
  readonly until?: number
  /** Number of events to skip, less than `countUpTo`. */
  readonly offset: number
  readonly limit: number
  /** Ends the part with the event whose data reaches this many bytes. Default: no limit. */
  readonly maxBytes?: number
  /** Limit of `total`, which bounds the cost of a list. */
  readonly countUpTo: number
}

/** A position in a list of events. */
export interface EventPlace {
  readonly created_at: number
  readonly seq: number
}

/** Part of a page of events. */
export interface EventPart {
  readonly items: ReadonlyArray<Event>
  /** Where the page continues if it ended early because of `maxBytes`; null otherwise. */
  readonly next: EventPlace | null
}

/** A page of events, or its first part. */
export interface EventPage extends EventPart {
  /** Number of events that match the filter, up to `countUpTo`. */
  readonly total: number
  /** Whether more than `countUpTo` events match. */
  readonly isCapped: boolean
}

/** Filter for a list of notifications. */
export interface NotificationFilter {
  readonly integration_id?: IntegrationId
  readonly order?: ListOrder
  /** Only notifications after this one in that order. */
  readonly after?: NotificationId
  readonly limit: number
}

/** Deliveries to send again. */
export type RedeliverRequest =
  /** One delivery in any state. The resend replaces a waiting retry. */
  | { readonly type: "delivery"; readonly id: DeliveryId }
  /**
   * All of an integration's deliveries that ended unacknowledged or wait for a retry, created at `since` or later.
   * `since_of` has later times for some resource types.
   */
  | {
      readonly type: "integration"
      readonly id: IntegrationId
      readonly since: number
      readonly since_of?: Readonly<Record<string, number>>
    }
  /**
   * For an integration that doorhook disabled: its newest delivery that ended unacknowledged. An acknowledgement
   * enables the integration. Without one, the delivery ends as cancelled. A delivery that a worker may still be sending
   * is not used.
   */
  | { readonly type: "probe"; readonly id: IntegrationId }

/** The result of a resend. */
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
     * Stores events with their deliveries, and the idempotency records of the requests that published them. Returns how
     * each delivery was stored, in the given order. If an integration has changed since the match, its delivery is
     * `cancelled` (deleted), `skipped` (disabled) or `pending` (other changes). Wakes workers of other processes for
     * due deliveries.
     *
     * The end of a call cancels the call's active deliveries (`call_ended`), and those of a call that is stored within
     * `callLifetime` after it. If the store is shared, other processes are informed like of a change of the integrations.
     *
     * Fails without storing anything if one of the keys is taken. Given candidates, also fails if the events' scopes
     * now have other integrations, or if a version has changed, and does not wait for a key that another process uses
     * now (`IdempotencyConflict.busy`). A delivery to an integration that another transaction is changing is `pending`,
     * and ends when it is claimed if the integration is then disabled or deleted.
     */
    readonly enqueue: Enqueue

    /**
     * Leases due deliveries to a worker. Within an integration, the most urgent lane goes first, then the earliest due
     * time. A delivery whose event or integration can't be read is cancelled (`row_unreadable`) and logged.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<Claimed, StoreError>

    /**
     * Records the results of a worker's leases and their consequences, except results that the answer lists as
     * `postponed`. A settlement is stale and changes nothing if the delivery is not leased to the worker or the
     * attempt's number is not the next one. For a delivery that was
     * cancelled during its attempt, only the attempt is recorded. `delivery/HealthRules` decides which integrations to
     * disable, for example an integration that has failed often enough and for `disableAfter` milliseconds. A disabled
     * integration is enabled if its probe is acknowledged.
     */
    readonly settle: (outcomes: Outcomes, now: number, disableAfter: number) => Effect.Effect<Settled, StoreError>

    /**
     * Begins, continues or ends the membership of a worker. Also ends expired memberships and releases their leases.
     * The released deliveries keep their due times.
     */
    readonly heartbeat: (heartbeat: Heartbeat) => Effect.Effect<Membership, StoreError>

    /**
     * Makes deliveries due now. A leased delivery becomes due when its attempt is settled, so it is never sent twice at
     * the same time. It is not sent again if the attempt failed and the integration is disabled or deleted by then.
     * Many deliveries of an integration are made due in several transactions. If a call fails midway or finds the
     * integration disabled, the finished transactions remain, and repeating the call does the rest.
     */
    readonly redeliver: (request: RedeliverRequest, now: number) => Effect.Effect<RedeliverResult, StoreError>

    /**
     * Stores a notification for each enabled integration whose failure has crossed a warning threshold. Each
     * notification is stored once. A call stores at most `limit`.
     */
    readonly warn: (
      now: number,
      disableAfter: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Notification<IntegrationNotification>>, StoreError>

    /** Stores a notification about the service, without an integration. */
    readonly addNotification: (notification: NewNotification) => Effect.Effect<Notification, StoreError>

    readonly find: (id: DeliveryId) => Effect.Effect<FoundDelivery | null, StoreError>
    readonly findEvent: (id: EventId) => Effect.Effect<Event | null, StoreError>
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<ListedDelivery>, StoreError>

    /** Returns the beginning of the data of events, in any order. Leaves out missing events. */
    readonly excerpts: (ids: ReadonlyArray<EventId>) => Effect.Effect<ReadonlyArray<EventExcerpt>, StoreError>

    /**
     * Returns the deliveries of an integration after a given one (0: from the beginning), ordered by id, including
     * skipped and cancelled ones. The list has no gaps: it ends before the first id that an open transaction may still
     * add.
     */
    readonly feed: (of: FeedRequest & { readonly integration_id: IntegrationId }) => Effect.Effect<FeedPart, StoreError>

    /** Returns the events that a building or tenant may see, in storage order. The list has no gaps, like `feed`. */
    readonly eventFeed: (of: FeedRequest & { readonly scope: Scope }) => Effect.Effect<FeedPart<FeedEvent>, StoreError>

    /** Returns the first item of a feed after a position that was published at a time or later; null if there is none. */
    readonly feedPlace: (of: {
      readonly source: FeedSource
      readonly after: number
      readonly since: number
    }) => Effect.Effect<FeedPlace | null, StoreError>

    readonly feedEnds: Effect.Effect<FeedEnds, StoreError>

    /**
     * Returns the last position and the latest time of the items of a feed that `purge` has deleted, of the given types or
     * all; null if there are none.
     */
    readonly lastPurged: (of: {
      readonly source: FeedSource
      readonly types?: ReadonlyArray<ResourceType>
    }) => Effect.Effect<FeedPlace | null, StoreError>

    /** Returns the buildings and tenants of the events after a sequence number. Examines at most `limit` events. */
    readonly newScopes: (of: { readonly after: number; readonly limit: number }) => Effect.Effect<NewScopes, StoreError>

    /**
     * Returns a page of the stored events that a building or tenant may see. Reads at most `countUpTo` index entries,
     * and the events of the page.
     */
    readonly events: (filter: EventFilter) => Effect.Effect<EventPage, StoreError>

    /** Continues a page of events at the `next` of its previous part. */
    readonly eventsFrom: (
      filter: Pick<EventFilter, "scope" | "resource_type" | "since" | "limit" | "maxBytes"> & {
        readonly from: EventPlace
      }
    ) => Effect.Effect<EventPart, StoreError>

    readonly notifications: (filter: NotificationFilter) => Effect.Effect<ReadonlyArray<Notification>, StoreError>

    /**
     * Deletes old events whose deliveries have all ended, together with these deliveries and their attempts. Also
     * deletes notifications of the same age. Deliveries that have not ended are kept, however old they are.
     */
    readonly purge: (request: PurgeRequest) => Effect.Effect<Purged, StoreError>

    readonly summary: (now: number) => Effect.Effect<DeliverySummary, StoreError>

    /** Counts deliveries by creation time, state and latency. Cost: one range of ids. */
    readonly figures: (filter: FigureFilter) => Effect.Effect<ReadonlyArray<FigureRow>, StoreError>
  }
>()("@doorhook/core/ports/DeliveryStore") {}
