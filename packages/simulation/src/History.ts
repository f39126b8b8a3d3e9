/**
 * Append-only history of a simulation: requests to the service and their outcomes (invoke, then ok, fail, or info for
 * unknown), effects in the store, requests that receivers saw, and injected faults.
 *
 * Checks read only the history and the final state of the store.
 */
import type {
  Attempt,
  Delivery,
  DeliveryId,
  DeliveryState,
  Event,
  Integration,
  IntegrationId,
  IntegrationNotification,
  NewEvent,
  Notification,
  PurgeRequest,
  Purged,
  IdempotencyRecord,
  Scope,
  Settlement,
  TransportResult,
  UserId
} from "@doorhook/core"
import type { VirtualTime } from "@doorhook/simulator/testing"
import { createHash } from "node:crypto"

/** A stored delivery with its attempts. */
export interface FinalDelivery extends Delivery {
  readonly history: ReadonlyArray<Attempt>
}

/** One recorded fact. An operation that ends as `info` may or may not have taken effect. */
export type Fact =
  /** `skew`: how far the process's clock is ahead of the world's, in milliseconds. */
  | {
      readonly kind: "process"
      readonly engine: number
      readonly what: "started" | "killed" | "closing" | "closed"
      readonly skew: number
    }
  | { readonly kind: "invoke"; readonly op: number; readonly engine: number; readonly operation: Operation }
  | { readonly kind: "ok"; readonly op: number; readonly engine: number; readonly answer: string }
  | { readonly kind: "fail"; readonly op: number; readonly engine: number; readonly answer: string }
  | { readonly kind: "info"; readonly op: number; readonly engine: number; readonly answer: string }
  /** An integration changed in the store. `key` is the idempotency key of the request. */
  | {
      readonly kind: "integration"
      readonly what: "created" | "saved" | "settled" | "deleted"
      readonly integration: Integration
      readonly key: string | null
    }
  | {
      readonly kind: "enqueued"
      readonly engine: number
      readonly events: ReadonlyArray<EnqueuedEvent>
      readonly keys: ReadonlyArray<IdempotencyRecord>
    }
  | {
      readonly kind: "claimed"
      readonly engine: number
      readonly worker: string
      /** Current time, as the engine knows it. */
      readonly now: number
      /** `early_due_at`: regular due time of a delivery that is claimed early, else null. */
      readonly deliveries: ReadonlyArray<{ readonly id: DeliveryId; readonly early_due_at: number | null }>
      /** Largest number of deliveries claimed beyond a limit, in total or for one integration; 0 if none. */
      readonly excess: number
    }
  /** An engine got deliveries that are leased to its worker, by a claim or a publication. */
  | {
      readonly kind: "leases_received"
      readonly engine: number
      readonly worker: string
      readonly ids: ReadonlyArray<DeliveryId>
    }
  /** The transaction of a process that died holds integrations until the store ends the transaction. */
  | {
      readonly kind: "locked"
      readonly engine: number
      readonly integrations: ReadonlyArray<IntegrationId>
      readonly until: number
    }
  /** A worker's heartbeat took effect in the store. */
  | {
      readonly kind: "heartbeat"
      readonly engine: number
      readonly worker: string
      readonly now: number
      readonly until: number | null
      readonly continued: boolean
      /** Workers whose memberships the heartbeat ended. */
      readonly ended: ReadonlyArray<string>
      /** Deliveries that the worker holds; its other leases end. Null if the heartbeat does not list them. */
      readonly holds: ReadonlyArray<DeliveryId> | null
    }
  /** An engine received the answer to a heartbeat: when its membership ends, and whether the membership continues. */
  | {
      readonly kind: "member"
      readonly engine: number
      readonly worker: string
      readonly until: number | null
      readonly continued: boolean
    }
  | {
      readonly kind: "settled"
      readonly engine: number
      readonly worker: string
      /** Current time, as the engine knows it. */
      readonly now: number
      readonly settlements: ReadonlyArray<Settlement>
      readonly applied: ReadonlyArray<DeliveryId>
      readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
    }
  /** Failing integrations reached a warning threshold as time passed. */
  | {
      readonly kind: "warned"
      readonly engine: number
      readonly now: number
      readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
    }
  /** The store's answer with these notifications has reached the engine. */
  | {
      readonly kind: "notifications_received"
      readonly engine: number
      readonly notifications: ReadonlyArray<Notification>
    }
  /**
   * Deliveries returned by the engine that held them, or released by a heartbeat of this engine because their workers'
   * memberships had ended.
   */
  | {
      readonly kind: "released"
      readonly engine: number
      /** The worker that returned them, or that sent the heartbeat. */
      readonly worker: string
      readonly why: "given_back" | "lapsed"
      readonly ids: ReadonlyArray<DeliveryId>
    }
  /** An engine opened a store that allows one owner at a time. All leased deliveries are due again. */
  | { readonly kind: "opened"; readonly engine: number }
  /** `now`: current time, as the engine knows it. */
  | { readonly kind: "resent"; readonly now: number; readonly ids: ReadonlyArray<DeliveryId> }
  | {
      readonly kind: "probed"
      readonly now: number
      readonly integration_id: IntegrationId
      readonly ids: ReadonlyArray<DeliveryId>
    }
  | {
      readonly kind: "purged"
      readonly engine: number
      readonly request: PurgeRequest
      readonly answer: Purged
      readonly events: ReadonlyArray<Event>
      readonly deliveries: ReadonlyArray<FinalDelivery>
    }
  /** An engine received a signal that an integration changed or was deleted. Null: any integration may have changed. */
  | { readonly kind: "change_received"; readonly engine: number; readonly integration_id: IntegrationId | null }
  /** A listener of the host received a notification. */
  | { readonly kind: "notification"; readonly engine: number; readonly notification: Notification }
  /** A reader got one page of an integration's feed, through operation `op`. */
  | {
      readonly kind: "feed_read"
      readonly op: number
      readonly reader: number
      readonly integration_id: IntegrationId
      readonly after: number
      readonly ids: ReadonlyArray<DeliveryId>
      readonly cursor: number
      readonly more: boolean
    }
  | {
      readonly kind: "request"
      readonly request: number
      readonly engine: number
      readonly url: string
      readonly webhook_id: string
      readonly attempt: number
      readonly timestamp: string
      readonly signature: string
      readonly body: string
    }
  | { readonly kind: "response"; readonly request: number; readonly result: TransportResult }
  | { readonly kind: "right"; readonly user: UserId; readonly scope: Scope; readonly granted: boolean }
  /** The world's clock jumped, which is also the store's. */
  | { readonly kind: "clock"; readonly by: number }
  /** The clock of one engine jumped. */
  | { readonly kind: "own_clock"; readonly engine: number; readonly skew: number }
  /** An engine measured the store's clock. `lead`: the store's time minus the time since the start, in milliseconds. */
  | { readonly kind: "measured"; readonly engine: number; readonly lead: number }
  /** A fault that lasts until `until`. */
  | { readonly kind: "fault"; readonly what: "store" | "directory"; readonly until: number }
  | { readonly kind: "calm" }

export interface EnqueuedEvent {
  readonly event: Event
  readonly deliveries: ReadonlyArray<{
    readonly id: DeliveryId
    readonly integration_id: IntegrationId
    readonly state: DeliveryState
    /** Worker to which the delivery is leased from the start, else null. */
    readonly worker: string | null
  }>
}

export type Operation =
  | { readonly type: "publish"; readonly events: ReadonlyArray<NewEvent>; readonly key: string | null }
  | { readonly type: "create"; readonly scope: Scope; readonly key: string | null }
  /** Changes an integration. Once the operation is answered, its engine has received the change. */
  | {
      readonly type: "patch" | "remove" | "rotate" | "switch"
      readonly integration_id: IntegrationId
      readonly change: string
    }
  | { readonly type: "resend"; readonly delivery_id: DeliveryId }
  | { readonly type: "recover" | "probe"; readonly integration_id: IntegrationId }
  | { readonly type: "feed"; readonly integration_id: IntegrationId; readonly after: number }

/** A fact with its position in the history, the milliseconds since the start, and the wall-clock time. */
export type Entry = Fact & { readonly index: number; readonly at: number; readonly wall: number }

export class History {
  readonly entries: Array<Entry> = []
  readonly #time: VirtualTime

  constructor(time: VirtualTime) {
    this.#time = time
  }

  add(fact: Fact): void {
    this.entries.push({ ...fact, index: this.entries.length, at: this.#time.now, wall: this.#time.wall })
  }
}

/** Returns the SHA-256 of a history in hex. Two histories have the same hash only if they are identical. */
export const hashOf = (entries: ReadonlyArray<Entry>): string => {
  const hash = createHash("sha256")
  for (const entry of entries) hash.update(JSON.stringify(entry)).update("\n")
  return hash.digest("hex")
}
