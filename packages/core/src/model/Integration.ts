/**
 * An integration: where a building's or a tenant's events are sent, and which (document sections 1 and 2.2).
 */
import { Schema } from "effect"
import { BuildingId, ClientId, IntegrationId, TenantId, UserId } from "./Ids.ts"
import { Action, ResourceType } from "./ResourceType.ts"

/**
 * What an integration belongs to and therefore may see. That of the service is the operator's own, which gets notifications:
 * no user has a right to it.
 */
export const Scope = Schema.Union([
  Schema.Struct({ type: Schema.Literal("building"), id: BuildingId }),
  Schema.Struct({ type: Schema.Literal("tenant"), id: TenantId }),
  Schema.Struct({ type: Schema.Literal("service"), id: Schema.Literal(1) })
])
export type Scope = typeof Scope.Type

/** The scope of the operator's own integration. */
export const serviceScope = { type: "service", id: 1 } as const satisfies Scope

/** A scope in words. */
export const scopeText = ({ id, type }: { readonly type: string; readonly id: number }): string =>
  type === "service" ? "the service itself" : `${type} ${id}`

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

/**
 * Where deliveries to one integration differ from the service's settings. The operator sets these, never a third party:
 * an allow-list opens the host's own network. What is absent is as everywhere.
 */
export const DeliveryOverrides = Schema.Struct({
  /** Which statuses acknowledge: 200 alone, or any of 2xx. */
  acknowledge: Schema.optionalKey(Schema.Literals(["200", "2xx"])),
  /** Delays between attempts, in milliseconds, by resource type; an empty list is no retry. */
  retry: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.Natural))),
  /** Special-purpose networks (CIDR) that it may use beside those that all may. */
  allow_targets: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Headers that its requests have beside those of all, by their names in lower case. Values may be keys. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.RedactedFromValue(Schema.String))),
  /** The most requests that are started in a second, over all workers. */
  requests_per_second: Schema.optionalKey(Schema.Finite)
})
export type DeliveryOverrides = typeof DeliveryOverrides.Type

/** A secret that was rotated out: it signs beside the new one until a time, in milliseconds since the epoch. */
export const PreviousSecret = Schema.Struct({ secret: SigningSecret, until: Schema.Int })
export type PreviousSecret = typeof PreviousSecret.Type

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
  /** Those that were rotated out and may still sign, the newest first. */
  previous_secrets: Schema.Array(PreviousSecret),
  overrides: DeliveryOverrides,
  /** Grows by one with each change; what an entity tag is made from. */
  version: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type Integration = typeof Integration.Type

/** What it sets to switch an integration on or off by hand; nothing where it is so already, with the reason that it has. */
export const withStatus = (
  current: Integration,
  status: Integration["status"]
): Pick<Integration, "status" | "disabled_reason"> =>
  status === current.status
    ? { status, disabled_reason: current.disabled_reason }
    : { status, disabled_reason: status === "disabled" ? "manual" : null }

/**
 * The same by a PUT. Without a status it enables. One that doorhook disabled it enables in any case: who puts it back has
 * mended its receiver, and `disabled` only repeats what a GET said.
 */
export const withStatusByPut = (
  current: Integration,
  status: Integration["status"] = "enabled"
): Pick<Integration, "status" | "disabled_reason"> =>
  withStatus(current, current.disabled_reason === "gone" || current.disabled_reason === "failing" ? "enabled" : status)
