/**
 * What the memory stores keep, in one place, so that deleting an integration and cancelling its deliveries is one step.
 *
 * Everything in it is synchronous. A store call runs inside one `Effect.sync`, which makes it atomic.
 */
import { Context, Layer } from "effect"
import type { IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import type { Notification } from "../model/Notification.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import type { FailureState } from "../model/FailureState.ts"
import { reasonOfDisabled } from "../delivery/Transitions.ts"
import { DeliveryTable } from "./DeliveryTable.ts"

export class MemoryState extends Context.Service<
  MemoryState,
  {
    readonly integrations: Map<IntegrationId, Integration>
    /** Of those that fail, how. */
    readonly failing: Map<IntegrationId, FailureState>
    readonly deliveries: DeliveryTable
    /** The oldest first. */
    readonly notifications: Array<Notification>
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

/** Replaces an integration. One that is disabled now gets nothing more: its active deliveries are cancelled. */
export const replaceIntegration = ({ deliveries, integrations }: MemoryState["Service"], next: Integration): void => {
  integrations.set(next.id, next)
  if (next.status === "enabled") return
  deliveries.cancelActive(next.id, reasonOfDisabled(next))
}

/** Enables or disables an integration. */
export const switchIntegration = (
  state: MemoryState["Service"],
  id: IntegrationId,
  to: Pick<Integration, "status" | "disabled_reason">,
  now: number
): void => {
  const integration = state.integrations.get(id)
  if (integration === undefined) return
  replaceIntegration(state, { ...integration, ...to, version: integration.version + 1, updated_at: now })
}

/** The first of some keys that is remembered already. Those that expired are free. */
export const takenKey = (
  { keys }: MemoryState["Service"],
  wanted: ReadonlyArray<Omit<IdempotencyRecord, "answer">>
): string | undefined =>
  wanted.find(({ created_at, key }) => (keys.get(key)?.expires_at ?? Number.NEGATIVE_INFINITY) > created_at)?.key
