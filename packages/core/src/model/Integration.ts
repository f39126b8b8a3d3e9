/**
 * An integration: events of a building or tenant, and the URL they are sent to (interface document, sections 1 and
 * 2.2).
 */
import { Schema } from "effect"
import { Detail } from "./Detail.ts"
import { BuildingId, ClientId, IntegrationId, TenantId, UserId } from "./Ids.ts"
import { Action, ResourceType } from "./ResourceType.ts"
import { Subscription } from "./Subscription.ts"

/**
 * The building or tenant whose events an integration gets. The scope `service` is for the operator's own integration,
 * which gets notifications. No user has a right to that scope.
 */
export const Scope = Schema.Union([
  Schema.Struct({ type: Schema.Literal("building"), id: BuildingId }),
  Schema.Struct({ type: Schema.Literal("tenant"), id: TenantId }),
  Schema.Struct({ type: Schema.Literal("service"), id: Schema.Literal(1) })
])
export type Scope = typeof Scope.Type

/** The scope of the operator's own integration. */
export const serviceScope = { type: "service", id: 1 } as const satisfies Scope

/** Describes a scope in words. */
export const scopeText = ({ id, type }: { readonly type: string; readonly id: number }): string =>
  type === "service" ? "the service itself" : `${type} ${id}`

/** A subscription to some actions of a resource type. */
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

/** Why an integration is disabled: by hand, because its receiver answered 410, or because it failed for too long. */
export const DisabledReason = Schema.Literals(["manual", "gone", "failing"])
export type DisabledReason = typeof DisabledReason.Type

/** A Standard Webhooks secret: `whsec_` and base64. Redacted in logs. */
export const SigningSecret = Schema.RedactedFromValue(Schema.String)
export type SigningSecret = typeof SigningSecret.Type

/**
 * Overrides of the service's delivery settings for one integration. Only the operator may set them, because an
 * allow-list opens the host's own network. Absent members use the service's settings.
 */
export const DeliveryOverrides = Schema.Struct({
  /** Statuses that acknowledge: only 200, or any 2xx. */
  acknowledge: Schema.optionalKey(Schema.Literals(["200", "2xx"])),
  /** Delays between attempts, in milliseconds, by resource type. An empty list means no retries. */
  retry: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.Natural))),
  /** Special-purpose networks (CIDR) allowed for this integration, in addition to those of the service. */
  allow_targets: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Additional headers for the integration's requests, with names in lower case. Values may be secrets. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.RedactedFromValue(Schema.String))),
  /** Maximum number of requests started per second, over all workers. */
  requests_per_second: Schema.optionalKey(Schema.Finite)
})
export type DeliveryOverrides = typeof DeliveryOverrides.Type

/** A replaced secret. It signs in addition to the new one until the time `until`, in milliseconds since the epoch. */
export const PreviousSecret = Schema.Struct({ secret: SigningSecret, until: Schema.Int })
export type PreviousSecret = typeof PreviousSecret.Type

/** The members of an integration that users must set. */
export const IntegrationAttributes = Schema.Struct({
  integrator: Schema.Literal("webhook"),
  configuration: Configuration,
  bindings: Schema.Array(Binding)
})
export type IntegrationAttributes = typeof IntegrationAttributes.Type

/** Maximum length of the texts that describe an integration to people, in characters. */
export const maxLabelLengths = { name: 80, description: 500 } as const

/** Texts that describe an integration to people; null if there is none. */
export const IntegrationLabels = Schema.Struct({
  name: Schema.NullOr(Schema.String).annotate({ description: `At most ${maxLabelLengths.name} characters.` }),
  description: Schema.NullOr(Schema.String).annotate({
    description: `At most ${maxLabelLengths.description} characters.`
  })
})
export type IntegrationLabels = typeof IntegrationLabels.Type

/** The `created_by` client of integrations that no client created: on doorhook's own pages, or by the host. */
export const ownPages = ClientId.make("doorhook: own pages")

export const Integration = Schema.Struct({
  id: IntegrationId,
  scope: Scope,
  ...IntegrationAttributes.fields,
  ...IntegrationLabels.fields,
  detail: Detail,
  status: Schema.Literals(["enabled", "disabled"]),
  disabled_reason: Schema.NullOr(DisabledReason),
  /** The client that created the integration, and the user whose right is checked before each attempt. */
  created_by: Schema.Struct({ user_id: UserId, client_id: ClientId }),
  signing_secret: SigningSecret,
  /** Replaced secrets that may still sign, newest first. */
  previous_secrets: Schema.Array(PreviousSecret),
  overrides: DeliveryOverrides,
  /** Set if the integration is a subscription of an MCP client. */
  subscription: Schema.optionalKey(Subscription),
  /** Incremented by each change. Entity tags are derived from it. */
  version: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type Integration = typeof Integration.Type

/** An integration that is a subscription of an MCP client. */
export type SubscribedIntegration = Integration & { readonly subscription: Subscription }

export const isSubscribed = (integration: Integration): integration is SubscribedIntegration =>
  integration.subscription !== undefined

/** Returns the client that created an integration; null if no client did. */
export const creatingClient = ({ created_by }: Pick<Integration, "created_by">): ClientId | null =>
  created_by.client_id === ownPages ? null : created_by.client_id

/** Returns the status after a manual change. An integration that already has the status keeps its reason. */
export const withStatus = (
  current: Integration,
  status: Integration["status"]
): Pick<Integration, "status" | "disabled_reason"> =>
  status === current.status
    ? { status, disabled_reason: current.disabled_reason }
    : { status, disabled_reason: status === "disabled" ? "manual" : null }

/**
 * Returns the status after a PUT. The default is `enabled`. An integration that doorhook disabled is enabled even if
 * the document says `disabled`, because that only repeats the result of a GET, and the owner has probably repaired the
 * receiver.
 */
export const withStatusByPut = (
  current: Integration,
  status: Integration["status"] = "enabled"
): Pick<Integration, "status" | "disabled_reason"> =>
  withStatus(current, current.disabled_reason === "gone" || current.disabled_reason === "failing" ? "enabled" : status)
