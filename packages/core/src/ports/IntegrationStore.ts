/**
 * Stores integrations.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { BuildingId, ClientId, GrantId, IntegrationId, TenantId } from "../model/Ids.ts"
import type { Integration, SubscribedIntegration } from "../model/Integration.ts"
import { Scope } from "../model/Integration.ts"
import type { FailureState } from "../model/FailureState.ts"
import type { IntegrationSearch } from "../model/IntegrationSearch.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "./IdempotencyStore.ts"
import type { StoreError } from "./StoreError.ts"

/** An integration before the store has assigned an id. */
export type NewIntegration = Omit<Integration, "id">

/** A page of a list, and the total number of items. */
export interface IntegrationPage {
  readonly items: ReadonlyArray<Integration>
  readonly total: number
}

/** An integration with its failure state, which is null if the integration is not failing. */
export interface IntegrationWithHealth {
  readonly integration: Integration
  readonly failing: FailureState | null
}

/**
 * An integration whose row can't be read, because it is damaged or something other than doorhook has changed it. Events
 * are stored for it, and their deliveries fail (`DeliveryStore.claim`).
 */
export interface UnreadableIntegration extends Pick<Integration, "id" | "scope" | "version"> {
  /** Null if the bindings can't be read either. Then all events of the scope match. */
  readonly bindings: Integration["bindings"] | null
  /** What is wrong with the row. */
  readonly unreadable: string
}

export const isUnreadable = (one: object): one is UnreadableIntegration => "unreadable" in one

/** Filters of a list. `unhealthy` includes failing integrations and those that doorhook disabled. */
export const statusFilters = ["enabled", "disabled", "unhealthy"] as const
export type StatusFilter = (typeof statusFilters)[number]

/** Filter for a list of all integrations. Absent members don't filter. See `matchesSearch`. */
export interface IntegrationFilter extends IntegrationSearch {
  readonly status?: StatusFilter
}

/** The parts of an integration needed to delete it. They may be readable even if secrets or bindings are not. */
export interface IntegrationRef extends Pick<Integration, "id" | "scope" | "version"> {
  readonly created_by: { readonly client_id: string }
}

/** A page of a scope's integrations. */
export interface ListedPage {
  readonly offset: number
  readonly limit: number
  /** Only integrations that this client created. */
  readonly client_id?: ClientId
}

/** A place in the list of subscriptions: after an integration of a grant. */
export interface SubscriptionPlace {
  /** Empty before the first grant. */
  readonly grant_id: GrantId | ""
  readonly id: IntegrationId | 0
}

export interface SubscriptionPage {
  readonly items: ReadonlyArray<SubscribedIntegration>
  /** Where the next page begins; null after the last one. */
  readonly next: SubscriptionPlace | null
}

/** The scope has reached its limit of integrations. */
export class LimitReached extends Schema.TaggedError<LimitReached>()("LimitReached", {
  scope: Scope,
  limit: Schema.Int
}) {
  get said(): Sentence {
    const { id, type } = this.scope
    return say(type === "tenant" ? "error_limit_tenant" : "error_limit_building", { id, limit: this.limit })
  }

  override get message(): string {
    return english(this.said)
  }
}

export class IntegrationStore extends Context.Service<
  IntegrationStore,
  {
    /**
     * Stores an integration and the idempotency record of its request, with the id as `answer`. Stores nothing if the
     * key is taken, or if the scope already has `limit` integrations; subscriptions count apart from others. Concurrent
     * calls can't exceed the limit either.
     */
    readonly create: (
      integration: NewIntegration,
      key?: Omit<IdempotencyRecord, "answer">,
      limit?: number
    ) => Effect.Effect<Integration, StoreError | IdempotencyConflict | LimitReached>
    /**
     * An implementation may read during the call, before the effect runs, and return an `Exit`. To read again, call
     * `find` again.
     */
    readonly find: (id: IntegrationId) => Effect.Effect<Integration | null, StoreError>
    /**
     * Reads only the parts needed to delete an integration. An implementation may read during the call, as for `find`.
     */
    readonly findRef: (id: IntegrationId) => Effect.Effect<IntegrationRef | null, StoreError>
    /** Returns the integrations of a scope in order of creation. `total` is the number of all matching integrations. */
    readonly list: (scope: Scope, page: ListedPage) => Effect.Effect<IntegrationPage, StoreError>
    /**
     * Replaces an integration if its stored version is still `expectedVersion`. Returns false if the version differs or
     * the integration no longer exists. If the new version is disabled, its unsettled deliveries are cancelled in the
     * same transaction. The failure state is reset.
     */
    readonly update: (integration: Integration, expectedVersion: number) => Effect.Effect<boolean, StoreError>
    /**
     * Deletes an integration if it still has the given version, and cancels its unsettled deliveries in the same
     * transaction. Returns false if the version differs or the integration no longer exists.
     */
    readonly remove: (found: Pick<Integration, "id" | "version">) => Effect.Effect<boolean, StoreError>
    /**
     * Returns all integrations of these buildings and tenants, including disabled ones, as candidates to match events
     * against. Unreadable integrations are included.
     */
    readonly findByScopes: (scopes: {
      readonly buildings: ReadonlyArray<BuildingId>
      readonly tenants: ReadonlyArray<TenantId>
      /**
       * Allows an answer from memory, which may be outdated. `DeliveryStore.enqueue` checks that the candidates passed
       * to it are current.
       */
      readonly cached?: boolean
    }) => Effect.Effect<ReadonlyArray<Integration | UnreadableIntegration>, StoreError>
    /**
     * Returns all integrations that match the filter, ordered by id, with their failure states. Unreadable integrations
     * are included.
     */
    readonly listAll: (
      filter: IntegrationFilter & { readonly after: IntegrationId | 0; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<IntegrationWithHealth | UnreadableIntegration>, StoreError>
    /**
     * Returns the subscriptions after a place, ordered by grant and id. Unreadable ones are left out, but counted in the
     * limit.
     */
    readonly subscriptions: (after: SubscriptionPlace, limit: number) => Effect.Effect<SubscriptionPage, StoreError>
    /** Returns one integration with its failure state. */
    readonly findWithHealth: (id: IntegrationId) => Effect.Effect<IntegrationWithHealth | null, StoreError>
  }
>()("@doorhook/core/ports/IntegrationStore") {}
