/**
 * What the delivery store asks of a database, a statement or two at a time. How deliveries move is the same everywhere
 * (`stores/`); how rows are found, locked and written is each dialect's own.
 *
 * Everything that changes rows is called inside a transaction. Where several transactions run at once, locks are taken in
 * one order: integrations by id, then what is active by id, then what has ended by id.
 */
import type {
  Attempt,
  DeliveryFilter,
  DeliveryId,
  DeliveryReason,
  DeliveryState,
  DisabledReason,
  Event,
  EventId,
  Integration,
  IntegrationId,
  Lane,
  Standing
} from "@doorhook/core"
import type { Effect } from "effect"
import { Context } from "effect"
import type { SqlError } from "effect/sql"
import type { AttemptRow, EndedRow, NewDeliveryRow, StandingRow } from "./DeliveryRows.ts"
import type { IntegrationRow } from "./IntegrationRows.ts"

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

/** The usual case of a call in one statement, for where each costs a round trip. */
export interface AtOnce {
  /** Appends events with their deliveries and counts them, if all these integrations are enabled; null if not. */
  readonly insert: (
    rows: ReadonlyArray<NewEventRow>,
    integrations: ReadonlyArray<IntegrationId>,
    changes: ReadonlyMap<TallyName, number>
  ) => Answer<ReadonlyArray<DeliveryId> | null>
  /** Moves deliveries, of each one, if all are under these leases and none is to be sent again; false if not. */
  readonly settle: (rows: ReadonlyArray<SettledRow>, changes: ReadonlyMap<TallyName, number>) => Answer<boolean>
}

export interface StateCount {
  readonly state: DeliveryState
  readonly count: number
}

/** What is counted: events, and deliveries by state. */
export type TallyName = "events" | DeliveryState

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

    /** Whether some integrations are enabled, until the transaction ends. The unknown ones are left out. */
    readonly statuses: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<Pick<Integration, "id" | "status">>>
    /** Locks the integrations of some deliveries, before these are locked: for who looks at both. */
    readonly lockIntegrationsOf: (ids: ReadonlyArray<DeliveryId>) => Answer<void>
    /** Locks some deliveries, and what is active of the same integrations as others: for who may end all of that. */
    readonly lockWithActive: (ids: ReadonlyArray<DeliveryId>, others: ReadonlyArray<DeliveryId>) => Answer<void>
    /** Where some deliveries stand, until the transaction ends. The unknown ones are left out. */
    readonly standings: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<StandingRow>>
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
    /**
     * Ends all active deliveries of an integration that takes no more: core's `Standing.cancelled` for each. Counts by
     * former state. Where there are very many, their rows may follow later; no call sees a difference.
     */
    readonly cancelActive: (id: IntegrationId, reason: DeliveryReason) => Answer<ReadonlyArray<StateCount>>
    /** Moves what follows later now, before an integration takes deliveries again. */
    readonly finishCancelling: (id: IntegrationId) => Answer<void>
    /** Makes due what an integration did not acknowledge since a time: `Standing.resent`. Counts by former state. */
    readonly recover: (id: IntegrationId, since: number, now: number) => Answer<ReadonlyArray<StateCount>>

    readonly addToTallies: (changes: ReadonlyMap<TallyName, number>) => Answer<void>
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
    readonly nextDue: Answer<number | null>
    /** Rows for `DeliveryRows` to decode. */
    readonly eventsById: (ids: ReadonlyArray<EventId>) => Answer<ReadonlyArray<object>>
    readonly integrationsById: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<IntegrationRow>>

    readonly deliveryById: (id: DeliveryId) => Answer<ReadonlyArray<object>>
    readonly list: (filter: DeliveryFilter) => Answer<ReadonlyArray<object>>
    readonly attemptsOf: (id: DeliveryId) => Answer<ReadonlyArray<object>>
  }
>()("@doorhook/sql/DeliveryTables") {}
