/**
 * Sends deliveries: `layer` does, `layerNone` is for a process that only takes events in.
 */
import { Context, Effect, Layer } from "effect"
import type { Lane, Lease, LeasedDelivery } from "../domain/Delivery.ts"
import type { IntegrationId, UserId } from "../domain/Ids.ts"
import type { Crypto } from "../ports/Crypto.ts"
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { Directory } from "../ports/Directory.ts"
import type { Transport } from "../ports/Transport.ts"
import type { Wake } from "../ports/Wake.ts"
import type { DeliverySettings } from "./DeliverySettings.ts"
import type { Notices } from "./Notices.ts"
import { makeDispatcher } from "./dispatch/Dispatching.ts"
import type { FailureStreak } from "./dispatch/FailureStreaks.ts"
import type { Outage } from "./dispatch/Outages.ts"

export type { Outage, OutageCause } from "./dispatch/Outages.ts"
export { outageCauses } from "./dispatch/Outages.ts"

/** What a dispatcher is doing. */
export interface DispatcherStatus {
  /** Requests open now. */
  readonly delivering: number
  /** Deliveries under lease that wait for a place. */
  readonly buffered: number
  /** Attempts that are over and not recorded in the store yet. */
  readonly unsettled: number
  /**
   * Since when such attempts wait and none has been recorded, in milliseconds since the epoch; null while there are none. It
   * moves with each that is.
   */
  readonly unsettled_since: number | null
  /** When it last looked for due deliveries with success, in milliseconds since the epoch; null before the first. */
  readonly last_claim_at: number | null
  /** Since when the store has not let it claim, or record outcomes, in milliseconds since the epoch; null while it does. */
  readonly store_failing_since: number | null
  /** What all deliveries wait for: they are due again every few seconds, and one is tried; null while they can be sent. */
  readonly outage: Outage | null
  /** How many integrations failed at the last attempt that this process made. */
  readonly failing: number
  /** Those that failed most often in a row, the worst first: a few. */
  readonly worst: ReadonlyArray<FailureStreak>
}

/** What a dispatcher shows that has done nothing. */
export const idleStatus: DispatcherStatus = {
  delivering: 0,
  buffered: 0,
  unsettled: 0,
  unsettled_since: null,
  last_claim_at: null,
  store_failing_since: null,
  outage: null,
  failing: 0,
  worst: []
}

/** A delivery that is about to be stored. */
export interface Handover {
  readonly integration_id: IntegrationId
  readonly lane: Lane
  /** About whom the directory will be asked. */
  readonly owner: UserId
}

/** Which of some deliveries the dispatcher takes over in memory, once they are stored, and under which lease. */
export interface Reservation {
  readonly lease: Lease
  /** For each delivery asked for, in order, whether there is room for it. The others wait in the store. */
  readonly admitted: ReadonlyArray<boolean>
}

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** Asks for room. What is admitted must be followed by `accept` or by `cancel`. */
    readonly reserve: (wanted: ReadonlyArray<Handover>) => Effect.Effect<Reservation>
    /** Takes over deliveries that were admitted and are stored now. */
    readonly accept: (deliveries: ReadonlyArray<LeasedDelivery>) => Effect.Effect<void>
    /** Gives up what was admitted, because it was not stored. */
    readonly cancel: (admitted: ReadonlyArray<Pick<Handover, "integration_id">>) => Effect.Effect<void>
    /** Gives back what is held of an integration, because it was changed or deleted; it is claimed anew if it is due. */
    readonly forget: (integration: IntegrationId) => Effect.Effect<void>
    readonly status: Effect.Effect<DispatcherStatus>
  }
>()("@doorhook/core/services/Dispatcher") {
  static readonly layer: Layer.Layer<
    Dispatcher,
    never,
    DeliveryStore | DeliverySettings | Directory | Transport | Wake | Crypto | Notices
  > = Layer.effect(Dispatcher, makeDispatcher)

  /** Takes nothing over: all deliveries wait in the store for a dispatcher elsewhere. */
  static readonly layerNone: Layer.Layer<Dispatcher> = Layer.succeed(Dispatcher, {
    reserve: (wanted) => Effect.succeed({ lease: { token: "", until: 0 }, admitted: wanted.map(() => false) }),
    accept: () => Effect.void,
    cancel: () => Effect.void,
    forget: () => Effect.void,
    status: Effect.succeed(idleStatus)
  })
}
