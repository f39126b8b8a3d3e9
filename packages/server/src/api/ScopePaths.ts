/**
 * Paths and URLs of buildings and tenants, which own integrations and events.
 */
import { BuildingId, parsePositiveInt, TenantId } from "@doorhook/core"
import type { IntegrationId, Scope } from "@doorhook/core"
import { Exit, Option } from "effect"
import type { Read } from "../http/Query.ts"
import { parseIntegrationId, pathId } from "../http/Query.ts"
import type { Params } from "../http/Route.ts"

/** The two kinds of owners, each with its path segment and parameter. */
export const scopeKinds = [
  {
    segment: "buildings",
    noun: "a building",
    parameter: "building_id",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(BuildingId, text), (id) => ({ type: "building", id }))
  },
  {
    segment: "tenants",
    noun: "a tenant",
    parameter: "tenant_id",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(TenantId, text), (id) => ({ type: "tenant", id }))
  }
] as const

export type ScopeKind = (typeof scopeKinds)[number]

export const scopePath = ({ parameter, segment }: ScopeKind) => `/v4/${segment}/:${parameter}` as const

/** Returns the URL of an owner. */
export const scopeUrl = (publicUrl: string, scope: Scope): string => `${publicUrl}/v4/${scope.type}s/${scope.id}`

/** Returns the URL of an owner's integrations. */
export const collectionUrl = (publicUrl: string, scope: Scope): string => `${scopeUrl(publicUrl, scope)}/integrations`

/** Reads the owner from the path. */
export const scopeIn = ({ noun, parameter, toScope }: ScopeKind, params: Params): Read<Scope> =>
  pathId(params, parameter, toScope, `${noun}, which is a positive whole number`)

/** Reads an integration and its owner from the path. */
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
