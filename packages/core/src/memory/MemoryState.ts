/**
 * What the memory stores keep, in one place, so that deleting an integration and cancelling its deliveries is one step.
 *
 * Everything in it is synchronous. A store call runs inside one `Effect.sync`, which makes it atomic.
 */
import { Context, Layer } from "effect"
import type { IntegrationId } from "../domain/Ids.ts"
import type { DisabledReason, Integration } from "../domain/Integration.ts"
import { reasonOfDisabled } from "../rules/Standing.ts"
import { DeliveryTable } from "./DeliveryTable.ts"

export class MemoryState extends Context.Service<
  MemoryState,
  { readonly integrations: Map<IntegrationId, Integration>; readonly deliveries: DeliveryTable }
>()("@doorhook/core/memory/MemoryState") {
  static readonly layer: Layer.Layer<MemoryState> = Layer.sync(MemoryState, () => ({
    integrations: new Map(),
    deliveries: new DeliveryTable()
  }))
}

/** Replaces an integration. One that is disabled now gets nothing more: its active deliveries are cancelled. */
export const replaceIntegration = ({ deliveries, integrations }: MemoryState["Service"], next: Integration): void => {
  integrations.set(next.id, next)
  if (next.status === "enabled") return
  deliveries.cancelActive(next.id, reasonOfDisabled(next))
}

/** Disables an integration that is enabled. */
export const disableIntegration = (
  state: MemoryState["Service"],
  id: IntegrationId,
  disabled_reason: DisabledReason,
  now: number
): void => {
  const integration = state.integrations.get(id)
  if (integration?.status !== "enabled") return
  const version = integration.version + 1
  replaceIntegration(state, { ...integration, status: "disabled", disabled_reason, version, updated_at: now })
}
