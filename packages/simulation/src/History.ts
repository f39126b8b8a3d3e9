/**
 * What happened in a simulation, in order and append-only: requests to the service and its answers (invoke, ok, fail,
 * info: unknown), what took effect in the store, what receivers saw, and what went wrong on purpose.
 *
 * Checks read nothing else, and the store as it stood at the end.
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

/** A delivery as the store has it, with its attempts. */
export interface FinalDelivery extends Delivery {
  readonly history: ReadonlyArray<Attempt>
}

/** One thing that happened. An operation that ends as `info` took effect or did not: nobody knows. */
export type Fact =
  /** `skew`: by how many milliseconds the process's clock is ahead of the world's. */
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
  /** Took effect in the store. `key` is the idempotency key that came with it. */
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
      /** The time that the engine says it is. */
      readonly now: number
      /** `early_due_at`: when one would be due that is claimed early; null otherwise. */
      readonly deliveries: ReadonlyArray<{ readonly id: DeliveryId; readonly early_due_at: number | null }>
      /** How many more were claimed than the limit, in all or of one integration. */
      readonly excess: number
    }
  /** A worker's heartbeat took effect in the store. */
  | {
      readonly kind: "heartbeat"
      readonly engine: number
      readonly worker: string
      readonly now: number
      readonly until: number | null
      readonly continued: boolean
      /** The workers whose memberships it ended. */
      readonly ended: ReadonlyArray<string>
      /** What the worker said that it holds, so that its other leases end; null: nothing. */
      readonly holds: ReadonlyArray<DeliveryId> | null
    }
  /** The answer to a heartbeat has come: from now on the engine knows how long it is a member, and whether it was. */
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
      /** The time that the engine says it is. */
      readonly now: number
      readonly settlements: ReadonlyArray<Settlement>
      readonly applied: ReadonlyArray<DeliveryId>
      readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
    }
  /** Warnings of failing integrations were due by time. */
  | {
      readonly kind: "warned"
      readonly engine: number
      readonly now: number
      readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
    }
  /** The answer of the store has come: from now on the engine knows its notifications. */
  | {
      readonly kind: "notifications_received"
      readonly engine: number
      readonly notifications: ReadonlyArray<Notification>
    }
  /** Given back by the engine that held them, or released by its heartbeat, because their workers are members no more. */
  | {
      readonly kind: "released"
      readonly engine: number
      readonly why: "given_back" | "lapsed"
      readonly ids: ReadonlyArray<DeliveryId>
    }
  /** An engine opened a store that has one owner at a time: whatever was leased before is due again. */
  | { readonly kind: "opened"; readonly engine: number }
  | { readonly kind: "resent"; readonly ids: ReadonlyArray<DeliveryId> }
  | { readonly kind: "probed"; readonly integration_id: IntegrationId; readonly ids: ReadonlyArray<DeliveryId> }
  | {
      readonly kind: "purged"
      readonly engine: number
      readonly request: PurgeRequest
      readonly answer: Purged
      readonly events: ReadonlyArray<Event>
      readonly deliveries: ReadonlyArray<FinalDelivery>
    }
  /** An engine received that an integration changed or ended; null: that any may have. */
  | { readonly kind: "change_received"; readonly engine: number; readonly integration_id: IntegrationId | null }
  /** A listener of the host received a notification. */
  | { readonly kind: "notification"; readonly engine: number; readonly notification: Notification }
  /** A reader of an integration's feed got a part of it, by the operation `op`. */
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
  | { readonly kind: "clock"; readonly by: number }
  /** From now to `until`, something does not work as it should. */
  | { readonly kind: "fault"; readonly what: "store" | "directory"; readonly until: number }
  | { readonly kind: "calm" }

export interface EnqueuedEvent {
  readonly event: Event
  readonly deliveries: ReadonlyArray<{
    readonly id: DeliveryId
    readonly integration_id: IntegrationId
    readonly state: DeliveryState
    /** Whose lease it is from the start, if anybody's. */
    readonly worker: string | null
  }>
}

export type Operation =
  | { readonly type: "publish"; readonly events: ReadonlyArray<NewEvent>; readonly key: string | null }
  | { readonly type: "create"; readonly scope: Scope; readonly key: string | null }
  /** What changes an integration, so that the process that does it knows of it once it is answered. */
  | {
      readonly type: "patch" | "remove" | "rotate" | "switch"
      readonly integration_id: IntegrationId
      readonly change: string
    }
  | { readonly type: "resend"; readonly delivery_id: DeliveryId }
  | { readonly type: "recover" | "probe"; readonly integration_id: IntegrationId }
  | { readonly type: "feed"; readonly integration_id: IntegrationId; readonly after: number }

/** A fact with its place in the history: milliseconds since the start, and what the wall clock said. */
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

/** A number that two histories share only if they are the same to the last character. */
export const hashOf = (entries: ReadonlyArray<Entry>): string => {
  const hash = createHash("sha256")
  for (const entry of entries) hash.update(JSON.stringify(entry)).update("\n")
  return hash.digest("hex")
}
