/**
 * Values shared by many tests of core.
 */
import type { Event, Integration, LeasedDelivery } from "@doorhook/core"
import {
  BuildingId,
  ClientId,
  DeliveryId,
  EventId,
  IntegrationId,
  JsonText,
  laneOf,
  TenantId,
  UserId
} from "@doorhook/core"
import { Redacted } from "effect"

const makeEvent = (overrides: Partial<Event> = {}): Event => ({
  id: EventId.make("evt_0000000000000000"),
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [TenantId.make(101)],
  data: JsonText.JsonText.make('{"id":1}'),
  created_at: 0,
  ...overrides
})

export const makeIntegration = (overrides: Partial<Integration> = {}): Integration => ({
  id: IntegrationId.make(1),
  scope: { type: "building", id: BuildingId.make(1) },
  integrator: "webhook",
  configuration: { url: "https://receiver.example/hook", method: "post" },
  bindings: [
    { resource_type: "access_log", actions: ["create"] },
    { resource_type: "call", actions: ["create"] }
  ],
  name: null,
  description: null,
  detail: "full",
  status: "enabled",
  disabled_reason: null,
  created_by: { user_id: UserId.make("admin@example.com"), client_id: ClientId.make("c1") },
  signing_secret: Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
  previous_secrets: [],
  overrides: {},
  version: 1,
  created_at: 0,
  updated_at: 0,
  ...overrides
})

export const makeLeased = (
  id: number,
  overrides: {
    readonly integration?: number
    readonly event?: Partial<Event>
    readonly attempts?: number
    readonly early?: number
    readonly early_due_at?: number
  } = {}
): LeasedDelivery => {
  const event = makeEvent(overrides.event)
  const attempts = overrides.attempts ?? 0
  return {
    id: DeliveryId.make(id),
    lane: laneOf({ urgent: event.resource_type === "call" }, attempts),
    attempts,
    early: overrides.early ?? 0,
    early_due_at: overrides.early_due_at ?? null,
    resend: false,
    event,
    integration: makeIntegration({ id: IntegrationId.make(overrides.integration ?? 1) })
  }
}
