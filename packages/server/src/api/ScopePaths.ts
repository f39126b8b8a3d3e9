/**
 * The owners of integrations and events in paths: buildings and tenants, and the ids of both.
 */
import { BuildingId, parsePositiveInt, TenantId } from "@doorhook/core"
import type { IntegrationId, Scope } from "@doorhook/core"
import { Exit, Option } from "effect"
import type { Read } from "../http/Query.ts"
import { parseIntegrationId, pathId } from "../http/Query.ts"
import type { Params } from "../http/Route.ts"

/** The two kinds, each with the first part of its paths and the name of its ids. */
export const scopeKinds = [
  {
    segment: "buildings",
    parameter: "building_id",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(BuildingId, text), (id) => ({ type: "building", id }))
  },
  {
    segment: "tenants",
    parameter: "tenant_id",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(TenantId, text), (id) => ({ type: "tenant", id }))
  }
] as const

export type ScopeKind = (typeof scopeKinds)[number]

export const scopePath = ({ parameter, segment }: ScopeKind) => `/v4/${segment}/:${parameter}` as const

/** The URL of an owner. */
export const scopeUrl = (publicUrl: string, scope: Scope): string => `${publicUrl}/v4/${scope.type}s/${scope.id}`

/** The URL of the integrations of an owner. */
export const collectionUrl = (publicUrl: string, scope: Scope): string => `${scopeUrl(publicUrl, scope)}/integrations`

/** The owner that the path names. */
export const scopeIn = ({ parameter, segment, toScope }: ScopeKind, params: Params): Read<Scope> =>
  pathId(params, parameter, toScope, `${segment}, which is a positive whole number`)

/** The integration that the path names, and its owner. */
export const targetIn = (
  owner: ScopeKind,
  params: Params
): Read<{ readonly scope: Scope; readonly id: IntegrationId }> => {
  const scope = scopeIn(owner, params)
  if (Exit.isFailure(scope)) return Exit.failCause(scope.cause)
  return Exit.map(
    pathId(params, "id", parseIntegrationId, "an integration, which is a positive whole number"),
    (id) => ({ scope: scope.value, id })
  )
}
