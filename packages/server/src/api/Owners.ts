/**
 * Whose integrations an address is about: the two kinds of owner, and the ids in their paths.
 */
import { BuildingId, IntegrationId, parsePositiveInt, TenantId } from "@doorhook/core"
import type { Scope } from "@doorhook/core"
import { Effect, Option } from "effect"
import { pathId } from "../http/PathId.ts"

/** The two kinds, each with the first part of its paths. */
export const owners = [
  {
    segment: "buildings",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(BuildingId, text), (id) => ({ type: "building", id }))
  },
  {
    segment: "tenants",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(TenantId, text), (id) => ({ type: "tenant", id }))
  }
] as const

export type Owner = (typeof owners)[number]

export const collectionPath = ({ segment }: Owner) => `/v4/${segment}/:owner_id/integrations` as const

/** Where an owner is, seen from outside. */
export const ownerUrl = (publicUrl: string, scope: Scope): string => `${publicUrl}/v4/${scope.type}s/${scope.id}`

/** Where the integrations of an owner are, seen from outside. */
export const collectionUrl = (publicUrl: string, scope: Scope): string => `${ownerUrl(publicUrl, scope)}/integrations`

/** The owner that the path names. */
export const scopeOf = ({ segment, toScope }: Owner) =>
  pathId("owner_id", toScope, `${segment}, which is a positive whole number`)

const integrationId = pathId(
  "id",
  (text) => parsePositiveInt(IntegrationId, text),
  "an integration, which is a positive whole number"
)

/** The integration that the path names, and its owner. */
export const targetOf = (owner: Owner) =>
  Effect.flatMap(scopeOf(owner), (scope) => Effect.map(integrationId, (id) => ({ scope, id })))
