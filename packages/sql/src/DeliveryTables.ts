/**
 * What the delivery store asks of a database, a statement or two at a time. How deliveries move is the same everywhere
 * (`stores/`); how rows are found, locked and written is each dialect's own.
 *
 * Everything that changes rows is called inside a transaction. Where several transactions run at once, locks are taken in
 * one order: integrations by id, then deliveries by id.
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
import type { StandingRow } from "./DeliveryRows.ts"
import type { IntegrationRow } from "./IntegrationRows.ts"

export type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** A delivery before it has an id. */
export interface NewDeliveryRow extends Standing.Standing {
  readonly event_seq: number
  readonly integration_id: IntegrationId
  readonly created_at: number
}

/** Where a delivery stands from now on. */
export interface MovedRow extends Standing.Standing {
  readonly id: DeliveryId
}

export interface AttemptRow extends Attempt {
  readonly delivery_id: DeliveryId
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
    /** Answers the `seq` of each, in the order given. */
    readonly insertEvents: (events: ReadonlyArray<Event>) => Answer<ReadonlyArray<number>>
    /** Answers the ids, growing, in the order given. */
    readonly insertDeliveries: (rows: ReadonlyArray<NewDeliveryRow>) => Answer<ReadonlyArray<DeliveryId>>
    readonly insertAttempts: (rows: ReadonlyArray<AttemptRow>) => Answer<void>

    /** Whether some integrations are enabled, until the transaction ends. The unknown ones are left out. */
    readonly statuses: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<Pick<Integration, "id" | "status">>>
    /** Locks the integrations of some deliveries, before these are locked: for who looks at both. */
    readonly lockIntegrationsOf: (ids: ReadonlyArray<DeliveryId>) => Answer<void>
    /** Locks some deliveries, and what is active of the same integrations as others: for who may end all of that. */
    readonly lockWithActive: (ids: ReadonlyArray<DeliveryId>, others: ReadonlyArray<DeliveryId>) => Answer<void>
    /** Where some deliveries stand, until the transaction ends. The unknown ones are left out. */
    readonly standings: (ids: ReadonlyArray<DeliveryId>) => Answer<ReadonlyArray<StandingRow>>
    readonly move: (rows: ReadonlyArray<MovedRow>) => Answer<void>
    /** Disables an integration that is enabled; false if it is not. */
    readonly disableIntegration: (id: IntegrationId, reason: DisabledReason, now: number) => Answer<boolean>
    /** Ends all active deliveries of an integration: core's `Standing.cancelled` for each. Counts by former state. */
    readonly cancelActive: (id: IntegrationId, reason: DeliveryReason) => Answer<ReadonlyArray<StateCount>>
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
    readonly eventsBySeq: (seqs: ReadonlyArray<number>) => Answer<ReadonlyArray<{ readonly seq: number }>>
    readonly integrationsById: (ids: ReadonlyArray<IntegrationId>) => Answer<ReadonlyArray<IntegrationRow>>

    /** Rows for `DeliveryRows` to decode. */
    readonly deliveryById: (id: DeliveryId) => Answer<ReadonlyArray<object>>
    readonly list: (filter: DeliveryFilter) => Answer<ReadonlyArray<object>>
    readonly attemptsOf: (id: DeliveryId) => Answer<ReadonlyArray<object>>
    readonly eventById: (id: EventId) => Answer<ReadonlyArray<object>>
  }
>()("@doorhook/sql/DeliveryTables") {}
