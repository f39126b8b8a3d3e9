/**
 * The demo's integrations: one for each building, and one for a tenant.
 *
 * The database keeps the integrations between runs. Each start updates their URLs, because the receiver's port changes.
 */
import { bindAll, builtInTable, BuildingId, ClientId, Integrations, TenantId, UserId } from "@doorhook/core"
import type { Scope } from "@doorhook/core"
import { Effect } from "effect"

const owners: ReadonlyArray<{ readonly scope: Scope; readonly login: string }> = [
  { scope: { type: "building", id: BuildingId.make(1) }, login: "admin@example.com" },
  { scope: { type: "building", id: BuildingId.make(2) }, login: "admin@example.com" },
  { scope: { type: "tenant", id: TenantId.make(101) }, login: "tenant@example.com" }
]

const documentFor = (url: string) => ({
  data: {
    type: "integrations",
    attributes: {
      integrator: "webhook",
      configuration: { url, method: "post" },
      bindings: bindAll(builtInTable)
    }
  }
})

/** Ensures that all integrations exist, are enabled and point at the receiver. */
export const ensureIntegrations = Effect.fnUntraced(function* (url: string) {
  const integrations = yield* Integrations
  for (const { login, scope } of owners) {
    const actor = { user_id: UserId.make(login), client_id: ClientId.make("demo-client") }
    const { items } = yield* integrations.list(actor, scope, { offset: 0, limit: 1 })
    const [existing] = items
    yield* existing === undefined
      ? integrations.create(actor, scope, documentFor(url), null)
      : integrations.replace(actor, scope, existing.id, documentFor(url), null)
  }
})
