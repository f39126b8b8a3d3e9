/**
 * Where integrations are kept.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { BuildingId, IntegrationId, TenantId } from "../domain/Ids.ts"
import type { Integration, Scope } from "../domain/Integration.ts"
import type { StoreError } from "./StoreError.ts"

/** An integration before the store has given it an id. */
export type NewIntegration = Omit<Integration, "id">

/** One page of a list, and how many there are in all. */
export interface IntegrationPage {
  readonly items: ReadonlyArray<Integration>
  readonly total: number
}

export class IntegrationStore extends Context.Service<
  IntegrationStore,
  {
    readonly create: (integration: NewIntegration) => Effect.Effect<Integration, StoreError>
    readonly find: (id: IntegrationId) => Effect.Effect<Integration | null, StoreError>
    /** The integrations of one scope, in the order of their creation. */
    readonly list: (
      scope: Scope,
      page: { readonly offset: number; readonly limit: number }
    ) => Effect.Effect<IntegrationPage, StoreError>
    /**
     * Replaces an integration whose stored version is still `expectedVersion`; false when it is not, or is gone. One that
     * is disabled now gets nothing more: its unsettled deliveries are cancelled in the same transaction.
     */
    readonly update: (integration: Integration, expectedVersion: number) => Effect.Effect<boolean, StoreError>
    /** Deletes an integration and cancels its unsettled deliveries in one transaction; false when there is none. */
    readonly remove: (id: IntegrationId, now: number) => Effect.Effect<boolean, StoreError>
    /** All integrations, disabled ones too, of any of these buildings or tenants: what events are matched against. */
    readonly ofScopes: (scopes: {
      readonly buildings: ReadonlyArray<BuildingId>
      readonly tenants: ReadonlyArray<TenantId>
    }) => Effect.Effect<ReadonlyArray<Integration>, StoreError>
  }
>()("@doorhook/core/ports/IntegrationStore") {}
