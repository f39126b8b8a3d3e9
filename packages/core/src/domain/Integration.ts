/**
 * An integration: where a building's or a tenant's events are sent, and which (document sections 1 and 2.2).
 */
import { Schema } from "effect"
import { BuildingId, ClientId, IntegrationId, TenantId, UserId } from "./Ids.ts"
import { Action, ResourceType } from "./ResourceType.ts"

/** What an integration belongs to and therefore may see. */
export const Scope = Schema.Union([
  Schema.Struct({ type: Schema.Literal("building"), id: BuildingId }),
  Schema.Struct({ type: Schema.Literal("tenant"), id: TenantId })
])
export type Scope = typeof Scope.Type

/** One subscription: a resource type and the actions on it. */
export const Binding = Schema.Struct({
  resource_type: ResourceType,
  actions: Schema.Array(Action)
})
export type Binding = typeof Binding.Type

/** Where and how deliveries are sent. */
export const Configuration = Schema.Struct({
  url: Schema.String,
  method: Schema.Literal("post")
})
export type Configuration = typeof Configuration.Type

/** Why an integration is disabled: by hand, or because its receiver answered 410 or never succeeded. */
export const DisabledReason = Schema.Literals(["manual", "gone", "failing"])
export type DisabledReason = typeof DisabledReason.Type

/** A secret of Standard Webhooks, `whsec_` and base64; redacted wherever it is shown. */
export const SigningSecret = Schema.RedactedFromValue(Schema.String)
export type SigningSecret = typeof SigningSecret.Type

/** The members of an integration that its users set. */
export const IntegrationAttributes = Schema.Struct({
  integrator: Schema.Literal("webhook"),
  configuration: Configuration,
  bindings: Schema.Array(Binding)
})
export type IntegrationAttributes = typeof IntegrationAttributes.Type

export const Integration = Schema.Struct({
  id: IntegrationId,
  scope: Scope,
  ...IntegrationAttributes.fields,
  status: Schema.Literals(["enabled", "disabled"]),
  disabled_reason: Schema.NullOr(DisabledReason),
  /** Whose right its deliveries depend on: asked again before each attempt. */
  created_by: Schema.Struct({ user_id: UserId, client_id: ClientId }),
  signing_secret: SigningSecret,
  /** Grows by one with each change; what an entity tag is made from. */
  version: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type Integration = typeof Integration.Type
