/**
 * What the delivery store asks of a database, a statement or two at a time. How deliveries move is the same everywhere
 * (`stores/`); how rows are found, locked and written is each dialect's own.
 *
 * Everything that changes rows is called inside a transaction. Where several transactions run at once, locks are taken in
 * one order: integrations by id, then what is active by id, then what has ended by id.
 */
import type {
  activeStates,
  Attempt,
  DeliveryFilter,
  DeliveryId,
  DeliveryReason,
  DeliveryState,
  DisabledReason,
  Event,
  EventFilter,
  EventId,
  Failing,
  Integration,
  IntegrationId,
  Lane,
  NewNotice,
  NoticeFilter,
  NoticeId,
  RememberedRequest,
  Roll,
  Scope,
  Standing
} from "@doorhook/core"
import type { Effect } from "effect"
import { Context } from "effect"
import type { SqlError } from "effect/sql"
import type { AttemptRow, EndedRow, EventRow, NewDeliveryRow, QueuedRow, StandingRow } from "./DeliveryRows.ts"
import type { IntegrationRow, SubjectRow } from "./IntegrationRows.ts"

export type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** An event with its deliveries. */
export interface NewEventRow {
  readonly event: Event
  readonly deliveries: ReadonlyArray<NewDeliveryRow>
}

/** A delivery whose attempt was made under a lease, and where it stands now if nothing else happened to it meanwhile. */
export interface SettledRow {
  readonly id: DeliveryId
  readonly token: string
  readonly to: Standing.Standing
  readonly attempt: Attempt
}

/** An integration as it was when events were matched. */
export interface Matched {
  readonly id: IntegrationId
  readonly version: number
}

/** The usual case of a call in one statement, for where each costs a round trip. */
export interface AtOnce {
  /** Appends events with their deliveries and counts them, if these integrations are enabled and unchanged; else null. */
  readonly insert: (
    rows: ReadonlyArray<NewEventRow>,
    integrations: ReadonlyArray<Matched>,
    changes: ReadonlyMap<TallyName, number>
  ) => Answer<ReadonlyArray<DeliveryId> | null>
  /**
   * Moves deliveries, of each one, if all are under these leases and end, none is to be sent again, and these integrations
   * are enabled and do not fail; false if not.
   */
  readonly settle: (
    rows: ReadonlyArray<SettledRow>,
    integrations: ReadonlyArray<IntegrationId>,
    changes: ReadonlyMap<TallyName, number>
  ) => Answer<boolean>
}

/** An old event that may be purged. */
export interface OldEvent {
  readonly seq: number
  readonly id: EventId
  readonly created_at: number
  /** Between these ids are its deliveries, if it has any. */
  readonly first_delivery: number | null
  readonly last_delivery: number | null
}

export interface StateCount {
  readonly state: DeliveryState
  readonly count: number
}

/** A state of a delivery that can be claimed or is under way. */
export type ActiveState = (typeof activeStates)[number]

/** What is counted: events, and deliveries by state. */
export type TallyName = "events" | DeliveryState

/** A row for `DeliveryRows` to decode. */
export interface StoredLastAttempt {
  readonly detail: string | null
}

/** The first due delivery of an integration in a lane. */
export interface Head {
  readonly lane: Lane
  readonly integration_id: IntegrationId
  readonly due_at: number
}

export class DeliveryTables extends Context.Service<
  DeliveryTables,
  {
    readonly atOnce: AtOnce | null
    /** Appends events and their deliveries, and counts them. Answers the deliveries' ids, growing, in the order given. */
    readonly insert: (
      rows: ReadonlyArray<NewEventRow>,
      changes: ReadonlyMap<TallyName, number>
    ) => Answer<ReadonlyArray<DeliveryId>>

    /** Stores idempotency keys that are free; answers which those are. */
    readonly insertKeys: (keys: ReadonlyArray<RememberedRequest>) => Answer<ReadonlyArray<string>>

    /** What some integrations are, until the transaction ends. The unknown ones are left out. */
    readonly targets: (
      ids: ReadonlyArray<IntegrationId>
    ) => Answer<ReadonlyArray<Pick<Integration, "id" | "status" | "version">>>
    /** The same and how they fail, as rows for `IntegrationRows` to read, without keeping them so. */
    readonly subjects: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<SubjectRow>>
    /**
     * Locks integrations, before their deliveries are locked: for who looks at both. Others may publish to them, which who
     * enables one need not wait for: what they see disabled they store as skipped, as if they had come before.
     */
    readonly lockIntegrations: (ids: ReadonlyArray<IntegrationId>) => Answer<void>
    /** Locks an integration for change: who published to it has committed, and nobody does until the transaction ends. */
    readonly lockForChange: (id: IntegrationId) => Answer<void>
    /** The same of those of some that nobody publishes to at this moment, without waiting; answers which these are. */
    readonly lockFreeForChange: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<IntegrationId>>
    /** Keeps others from creating integrations of a scope until the transaction ends. */
    readonly lockScope: (scope: Scope) => Answer<void>
    /** The integrations of some deliveries. */
    readonly integrationsOf: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<IntegrationId>>
    /** Where some deliveries stand that are in `queue`, until the transaction ends. The others are left out. */
    readonly queuedStandings: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<QueuedRow>>
    /** The same of those that have ended. */
    readonly endedStandings: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<StandingRow>>
    /** Active ones, that stay active. */
    readonly requeue: (rows: ReadonlyArray<StandingRow>) => Answer<void>
    /** Active ones, that have ended. */
    readonly end: (rows: ReadonlyArray<EndedRow>) => Answer<void>
    /** Ended ones, that stay so. */
    readonly amend: (rows: ReadonlyArray<EndedRow>) => Answer<void>
    /** Ended ones, that are active again. */
    readonly revive: (rows: ReadonlyArray<StandingRow>) => Answer<void>
    readonly insertAttempts: (rows: ReadonlyArray<AttemptRow>) => Answer<void>
    /** Disables an integration that is enabled; false if it is not. */
    readonly disableIntegration: (id: IntegrationId, reason: DisabledReason, now: number) => Answer<boolean>
    /** Enables one that is disabled; false if it is not. */
    readonly enableIntegration: (id: IntegrationId, now: number) => Answer<boolean>
    readonly setFailing: (id: IntegrationId, failing: Failing.Failing | null) => Answer<void>
    /** Enabled integrations that fail since one of these times or earlier, by how often they were told of. */
    readonly toBeWarned: (since: ReadonlyArray<number>, limit: number) => Answer<ReadonlyArray<IntegrationId>>
    readonly insertNotices: (notices: ReadonlyArray<NewNotice>) => Answer<ReadonlyArray<NoticeId>>
    /** Rows for `NoticeRows` to read. */
    readonly notices: (filter: NoticeFilter) => Answer<ReadonlyArray<object>>
    /**
     * Says that all that is active of an integration is cancelled (`stores/Endings`); false if nothing is, or that was
     * said already. Whatever reads `queue` heeds it from now on: who looks for what is active moves it first, or passes it over.
     */
    readonly beginEnding: (id: IntegrationId, reason: DeliveryReason) => Answer<boolean>
    /** The integrations of which that was said. */
    readonly endings: Answer<ReadonlyArray<IntegrationId>>
    /** Whether this transaction may move what others would move too: one at a time, whoever is first. */
    readonly takeTurn: Answer<boolean>
    /** The first deliveries of an ending in a state after one, by growing id; what others keep is passed over. */
    readonly someOfEnding: (of: {
      readonly integration: IntegrationId
      readonly state: ActiveState
      readonly after: DeliveryId | 0
      readonly limit: number
    }) => Answer<ReadonlyArray<DeliveryId>>
    /** All that is left of an ending, in the order that locks have. */
    readonly restOfEnding: (id: IntegrationId) => Answer<ReadonlyArray<DeliveryId>>
    /** Moves deliveries of endings to what has ended: `Standing.cancelled` for each. Counts by former state. */
    readonly endThese: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<StateCount>>
    /** Forgets an ending, if nothing of it is left to be moved. */
    readonly finishEnding: (id: IntegrationId) => Answer<void>

    /**
     * The first deliveries of an integration after one, by growing id, that ended without an acknowledgement or wait for a
     * retry.
     */
    readonly recoverable: (of: {
      readonly integration: IntegrationId
      readonly after: DeliveryId | 0
      readonly limit: number
    }) => Answer<ReadonlyArray<{ readonly id: DeliveryId; readonly created_at: number }>>
    /**
     * The newest delivery of an integration that ended without an acknowledgement, and is not under way still. Whatever was
     * leased when the integration was changed last is over if that was no later than a time.
     */
    readonly newestUnacknowledged: (id: IntegrationId, leasedUntil: number) => Answer<DeliveryId | null>

    /** The first events after a place, in the order of storing, kept from other purges. */
    readonly oldEvents: (after: number, limit: number) => Answer<ReadonlyArray<OldEvent>>
    /** The deliveries of some events that are of endings, locked, but those that others keep. */
    readonly endedOf: (events: ReadonlyArray<OldEvent>) => Answer<ReadonlyArray<DeliveryId>>
    /** Locks what has ended of some events; answers those of which something is active still, or has ended since. */
    readonly withActive: (events: ReadonlyArray<OldEvent>) => Answer<ReadonlyArray<EventId>>
    /** Deletes events with what is kept of their deliveries. Counts these by state. */
    readonly deleteEvents: (events: ReadonlyArray<OldEvent>) => Answer<ReadonlyArray<StateCount>>
    /** Deletes notices from before a time, among the oldest so many. */
    readonly deleteNotices: (before: number, limit: number) => Answer<void>

    readonly beat: (worker: string, now: number, until: number) => Answer<Roll>
    readonly leave: (worker: string) => Answer<void>

    readonly addToTallies: (changes: ReadonlyMap<TallyName, number>) => Answer<void>
    /** What is counted, with what endings have cancelled already. */
    readonly tallies: Answer<ReadonlyArray<{ readonly name: TallyName; readonly count: number }>>

    /** The lanes and integrations that have something due. */
    readonly dueHeads: (now: number) => Answer<ReadonlyArray<Head>>
    /** The first due deliveries of some integrations in a lane, at most `depth` of each. */
    readonly firstDue: (of: {
      readonly integrations: ReadonlyArray<IntegrationId>
      readonly lane: Lane
      readonly now: number
      readonly depth: number
    }) => Answer<ReadonlyArray<StandingRow>>
    /** Lets transactions end that keep rows which `firstDue` passed over: a few milliseconds. */
    readonly pause: Answer<void>
    readonly nextDue: Answer<number | null>
    /** Rows for `DeliveryRows` to decode. */
    readonly eventsById: (ids: ReadonlyArray<EventId>) => Answer<ReadonlyArray<EventRow>>
    readonly integrationsById: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<IntegrationRow>>

    /** Rows for `DeliveryRows` to decode, as all that follow. */
    readonly deliveryById: (id: DeliveryId) => Answer<ReadonlyArray<object>>
    readonly list: (filter: DeliveryFilter) => Answer<ReadonlyArray<object>>
    /** The deliveries of an integration after one, all that can still come before the last of them included. */
    readonly feed: (integration: IntegrationId, after: DeliveryId | 0, limit: number) => Answer<ReadonlyArray<object>>
    /** A page of events, and how many the filter selects; null if more than `countUpTo`. */
    readonly events: (
      filter: EventFilter
    ) => Answer<{ readonly items: ReadonlyArray<EventRow>; readonly total: number | null }>
    readonly attemptsOf: (id: DeliveryId) => Answer<ReadonlyArray<object>>
    /** The last attempt of each of some deliveries, with its delivery's id and without what was answered. */
    readonly lastAttempts: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<StoredLastAttempt>>
  }
>()("@doorhook/sql/DeliveryTables") {}
