/**
 * Where events, deliveries and attempts are kept.
 *
 * Batch first: one call, one transaction, one sync to disk for as many rows as wait. `now` comes in as a parameter
 * wherever time matters, so that a test clock drives real databases. Every call is all or nothing, but for `recover`.
 */
import type { Array, Effect } from "effect"
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
import type { DeliveryId, EventId, IntegrationId, NoticeId } from "../domain/Ids.ts"
import type { Scope } from "../domain/Integration.ts"
import type { IntegrationNotice, NewNotice, Notice } from "../domain/Notice.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import type { KeyTaken, RememberedRequest } from "./IdempotencyStore.ts"
import type { StoreError } from "./StoreError.ts"

/** A delivery to be stored with its event. */
export interface NewDelivery {
  readonly integration_id: IntegrationId
  readonly lane: Lane
  /** The integration's version when the event was matched: one that has changed since is not sent what is in memory. */
  readonly matched_version: number
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
  readonly integration_id: IntegrationId
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
  /**
   * The receiver is gone for good: disable the delivery's integration, and cancel what else waits for it. A store that
   * would have to wait for others before it can, sends the delivery again instead (`Settling.askedAgain`).
   */
  readonly gone: boolean
}

/** What settlements led to. */
export interface Settled {
  /** The deliveries whose settlements were not stale. */
  readonly applied: ReadonlySet<DeliveryId>
  /** Integrations that are disabled or enabled by it: what is held of them is void. */
  readonly changed: ReadonlyArray<IntegrationId>
  /** What those who run the service should be told, as it was stored. */
  readonly notices: ReadonlyArray<Notice<IntegrationNotice>>
  /** Whether some are due though their settlements do not say so, as those that were asked for while they were under way. */
  readonly dueAgain: boolean
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

/** In which order a list goes: `oldest` first, unless it is told. */
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

/** The last attempt of a delivery, without what was answered. */
export type LastAttempt = Omit<Attempt, "response_excerpt">

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

/** The workers that live over one store. */
export interface Roll {
  /** How many there are, the asking one included. */
  readonly workers: number
  /** How many of them come before the asking one, in the order of their names. */
  readonly rank: number
}

/** Which notices to list. */
export interface NoticeFilter {
  readonly integration_id?: IntegrationId
  readonly order?: ListOrder
  /** Only notices that come after this one in that order. */
  readonly after?: NoticeId
  readonly limit: number
}

/** What became of a request to probe a disabled integration: the delivery that is sent, or why none is. */
export type ProbeResult = DeliveryId | "not_found" | "not_disabled" | "nothing_to_send"

/** What became of a request to send a delivery again. */
export type ResendResult = "resent" | "not_found" | "integration_disabled" | "integration_deleted"

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /**
     * Stores events with their deliveries, and the idempotency keys of the requests that published them. Answers how the
     * deliveries of each event are stored, in the order given: what was matched before its integration was deleted as
     * cancelled, before it was disabled as skipped, and before it was changed in another way as pending. Fails, with
     * nothing stored, when one of the keys is taken.
     */
    readonly enqueue: (
      records: ReadonlyArray<NewEventRecord>,
      keys?: ReadonlyArray<RememberedRequest>
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<Enqueued>>, StoreError | KeyTaken>

    /**
     * Leases due deliveries: those that wait and are due, and those whose lease has run out. Within an integration the
     * most urgent lane goes first, then the earliest due. One that can't be read holds up nothing else: a store puts it off
     * and says so.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<LeasedDelivery>, StoreError>

    /**
     * Records attempts and what follows from them. A settlement whose token is not the delivery's current one changes
     * nothing; one of a delivery cancelled meanwhile records the attempt only. What the others show of their integrations
     * is judged by `rules/Failing`: one that failed for `disableAfter` milliseconds is disabled. A disabled one whose probe
     * is acknowledged is enabled.
     */
    readonly settle: (
      settlements: ReadonlyArray<Settlement>,
      now: number,
      disableAfter: number
    ) => Effect.Effect<Settled, StoreError>

    /**
     * Tells of enabled integrations that fail and are due to be told of by `rules/Failing`, though nothing was sent to them
     * since; of `limit` of them at most. Each notice is written once, whoever else looks at the same time.
     */
    readonly warn: (
      now: number,
      disableAfter: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Notice<IntegrationNotice>>, StoreError>

    /** Keeps a notice that is about no integration. */
    readonly addNotice: (notice: NewNotice) => Effect.Effect<Notice, StoreError>

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
    /** The last attempt of each of some deliveries; those that were never attempted are left out. */
    readonly lastAttempts: (
      ids: ReadonlyArray<DeliveryId>
    ) => Effect.Effect<ReadonlyMap<DeliveryId, LastAttempt>, StoreError>
    readonly findEvent: (id: EventId) => Effect.Effect<Event | null, StoreError>

    /**
     * Makes a delivery due now, whatever its state; its waiting retry, if any, is replaced. One under a live lease is due
     * as soon as its attempt is settled, however it ends: it is never sent twice at once.
     */
    readonly resend: (id: DeliveryId, now: number) => Effect.Effect<ResendResult, StoreError>

    /**
     * Makes every delivery of an integration created since a time due now that ended without an acknowledgement or waits for
     * a retry, as `resend` does; says how many. None when the integration is disabled or gone. Carried out in parts, where
     * there are many: one that fails in the middle, or finds the integration disabled, keeps what it has done, and calling
     * it again does the rest.
     */
    readonly recover: (integration: IntegrationId, since: number, now: number) => Effect.Effect<number, StoreError>

    /**
     * Makes the newest unacknowledged, settled delivery of an integration that doorhook disabled due now. When it is
     * acknowledged the integration is enabled; else it ends as it was, cancelled. What was under lease when the integration
     * was disabled may be under way until `lease` milliseconds later, as long as a lease lasts, and is not taken before.
     */
    readonly probe: (integration: IntegrationId, now: number, lease: number) => Effect.Effect<ProbeResult, StoreError>

    /**
     * What was stored for an integration after a delivery (0: from the beginning), in the order of ids, skipped and
     * cancelled deliveries too. Complete: none is left out that another transaction, still open, will show with a smaller
     * id than the last one answered.
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

    readonly notices: (filter: NoticeFilter) => Effect.Effect<ReadonlyArray<Notice>, StoreError>

    /**
     * Deletes old events whose deliveries are all settled, with these and their attempts, and notices of the same age.
     * What is not settled stays, whatever its age.
     */
    readonly purge: (request: PurgeRequest) => Effect.Effect<Purged, StoreError>

    /** Notes that a worker lives, until a time; answers how many do and where it stands among them. */
    readonly beat: (worker: string, now: number, until: number) => Effect.Effect<Roll, StoreError>
    /** Notes that a worker has ended. */
    readonly leave: (worker: string) => Effect.Effect<void, StoreError>

    readonly summary: (now: number) => Effect.Effect<DeliverySummary, StoreError>
  }
>()("@doorhook/core/ports/DeliveryStore") {}
