/**
 * State shared by the memory stores, so that an integration and its active deliveries change in one step.
 *
 * All functions are synchronous. Each store call runs inside one `Effect.sync`, which makes it atomic.
 */
import { Context, Layer } from "effect"
import type { IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import type { Notification } from "../model/Notification.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import type { FailureState } from "../model/FailureState.ts"
import { DeliveryTable } from "./DeliveryTable.ts"

export class MemoryState extends Context.Service<
  MemoryState,
  {
    readonly integrations: Map<IntegrationId, Integration>
    /** Failure states of failing integrations. */
    readonly failing: Map<IntegrationId, FailureState>
    readonly deliveries: DeliveryTable
    /** Oldest first. */
    notifications: Array<Notification>
    lastNotification: number
    readonly keys: Map<string, IdempotencyRecord>
  }
>()("@doorhook/core/memory/MemoryState") {
  static readonly layer: Layer.Layer<MemoryState> = Layer.sync(MemoryState, () => ({
    integrations: new Map(),
    failing: new Map(),
    deliveries: new DeliveryTable(),
    notifications: [],
    lastNotification: 0,
    keys: new Map()
  }))
}

/** Returns the first of these keys that is in use. Expired keys are free. */
export const takenKey = (
  { keys }: MemoryState["Service"],
  wanted: ReadonlyArray<Omit<IdempotencyRecord, "answer">>
): string | undefined =>
  wanted.find(({ created_at, key }) => (keys.get(key)?.expires_at ?? Number.NEGATIVE_INFINITY) > created_at)?.key
