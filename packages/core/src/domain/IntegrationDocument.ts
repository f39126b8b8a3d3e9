/**
 * An integration as a JSON:API document (document section 2.2, JSON:API 1.1): what clients get, and whether what they
 * send is about the right thing. `IntegrationReading` reads the rest of what they send.
 */
import { Predicate, Schema } from "effect"
import type { IntegrationId } from "./Ids.ts"
import type { Integration } from "./Integration.ts"
import { DisabledReason, IntegrationAttributes } from "./Integration.ts"
import { isoOf } from "./IsoTime.ts"

/** The JSON:API type of an integration. */
export const integrationType = "integrations"

/** One thing that is wrong with a document. */
export const DocumentProblem = Schema.Struct({
  /** JSON Pointer (RFC 6901) to a value that the document has: the wrong one, or the parent of a missing one. */
  pointer: Schema.String,
  /** `blank` if missing or empty, `invalid` if of a wrong kind, `inclusion` if not allowed, or a code of `UrlPolicy`. */
  code: Schema.String,
  title: Schema.String,
  detail: Schema.String
})
export type DocumentProblem = typeof DocumentProblem.Type

/** Why a document can't be about the integration it was sent for, whatever else it says. */
export const MismatchReason = Schema.Literals(["wrong_type", "wrong_id", "client_made_id"])
export type MismatchReason = typeof MismatchReason.Type

const member = (value: unknown, name: string): unknown =>
  Predicate.isReadonlyObject(value) ? (value[name] ?? undefined) : undefined

/**
 * Whether a document is about something else: another type, another id, or an id made by the client of what is to be
 * created (`id` null). Null when it is not; missing members are no mismatch.
 */
export const mismatchOf = (document: unknown, id: IntegrationId | null): MismatchReason | null => {
  const data = member(document, "data")
  const type = member(data, "type")
  if (type !== undefined && type !== integrationType) return "wrong_type"
  const given = member(data, "id")
  if (given === undefined) return null
  if (id === null) return "client_made_id"
  // Some clients send the number that the path has.
  return given === String(id) || given === id ? null : "wrong_id"
}

/** The URL that a document wants to set, be the rest of it right or wrong; null when there is none to check. */
export const candidateUrl = (document: unknown): string | null => {
  const url = member(member(member(member(document, "data"), "attributes"), "configuration"), "url")
  return Predicate.isString(url) ? url : null
}

const related = <Type extends string>(type: Type) =>
  Schema.Struct({ data: Schema.Struct({ type: Schema.Literal(type), id: Schema.String }) })

/** The resource object of an integration. */
export const IntegrationResource = Schema.Struct({
  type: Schema.Literal(integrationType),
  id: Schema.String,
  attributes: Schema.Struct({
    ...IntegrationAttributes.fields,
    status: Schema.Literals(["enabled", "disabled"]),
    disabled_reason: Schema.NullOr(DisabledReason),
    /** ISO 8601 UTC, as `updated_at`. */
    created_at: Schema.String,
    updated_at: Schema.String
  }),
  relationships: Schema.Union([
    Schema.Struct({ building: related("buildings") }),
    Schema.Struct({ tenant: related("tenants") })
  ]),
  links: Schema.Struct({ self: Schema.String })
})
export type IntegrationResource = typeof IntegrationResource.Type

/** The resource object of an integration whose own URL is `self`. It never has the signing secret. */
export const resourceOf = (integration: Integration, self: string): IntegrationResource => {
  const { scope } = integration
  const owner = String(scope.id)
  return {
    type: integrationType,
    id: String(integration.id),
    attributes: {
      integrator: integration.integrator,
      configuration: integration.configuration,
      bindings: integration.bindings,
      status: integration.status,
      disabled_reason: integration.disabled_reason,
      created_at: isoOf(integration.created_at),
      updated_at: isoOf(integration.updated_at)
    },
    relationships:
      scope.type === "building"
        ? { building: { data: { type: "buildings", id: owner } } }
        : { tenant: { data: { type: "tenants", id: owner } } },
    links: { self }
  }
}
