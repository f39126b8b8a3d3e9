/**
 * Where integrations are kept.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { BuildingId, ClientId, IntegrationId, TenantId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { Scope } from "../model/Integration.ts"
import type { FailureState } from "../model/FailureState.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "./IdempotencyStore.ts"
import type { StoreError } from "./StoreError.ts"

/** An integration before the store has given it an id. */
export type NewIntegration = Omit<Integration, "id">

/** One page of a list, and how many there are in all. */
export interface IntegrationPage {
  readonly items: ReadonlyArray<Integration>
  readonly total: number
}

/** An integration and how it fails; null when it does not. */
export interface IntegrationWithHealth {
  readonly integration: Integration
  readonly failing: FailureState | null
}

/** An integration whose row can't be read: something else than doorhook has changed it, or it is damaged. */
export interface UnreadableIntegration extends Pick<Integration, "id" | "scope"> {
  /** What is wrong with it. */
  readonly unreadable: string
}

export const isUnreadable = <U extends UnreadableIntegration>(one: object | U): one is U => "unreadable" in one

/** What events are matched with of an integration whose row can't be read. */
export interface UnreadableMatch extends UnreadableIntegration, Pick<Integration, "version" | "status"> {
  /** Null: they can't be read either. */
  readonly bindings: Integration["bindings"] | null
}

/** What a survey can be narrowed to; unhealthy are those that fail, and those that doorhook disabled. */
export const statusFilters = ["enabled", "disabled", "unhealthy"] as const
export type StatusFilter = (typeof statusFilters)[number]

/** What deleting an integration looks at. It can be read even where secrets or bindings can't. */
export interface IntegrationRef extends Pick<Integration, "id" | "scope" | "version"> {
  readonly created_by: { readonly client_id: string }
}

/** One page of the integrations of a scope. */
export interface ListedPage {
  readonly offset: number
  readonly limit: number
  /** Only those that this client created. */
  readonly client_id?: ClientId
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
     * Stores an integration, and the idempotency key of the request for it (its `answer` is the id). Stores nothing if the
     * key is taken, or else if the scope has `limit` integrations already, however many are created at once.
     */
    readonly create: (
      integration: NewIntegration,
      key?: Omit<IdempotencyRecord, "answer">,
      limit?: number
    ) => Effect.Effect<Integration, StoreError | IdempotencyConflict | LimitReached>
    /** Looks when it is called, and answers with an `Exit` where it can: call it again to look again. */
    readonly find: (id: IntegrationId) => Effect.Effect<Integration | null, StoreError>
    /** What deleting an integration asks of it: reads nothing else. Looks when it is called, like `find`. */
    readonly findRef: (id: IntegrationId) => Effect.Effect<IntegrationRef | null, StoreError>
    /** The integrations of one scope, in the order of their creation; `total` counts those that the page is taken from. */
    readonly list: (scope: Scope, page: ListedPage) => Effect.Effect<IntegrationPage, StoreError>
    /**
     * Replaces an integration whose stored version is still `expectedVersion`; false when it is not, or is gone. One that
     * is disabled now gets nothing more: its unsettled deliveries are cancelled in the same transaction. However it was
     * failing, its time begins anew.
     */
    readonly update: (integration: Integration, expectedVersion: number) => Effect.Effect<boolean, StoreError>
    /**
     * Deletes an integration that is still in the version in which it was found, and cancels its unsettled deliveries, in
     * one transaction; false when it is in another, or gone.
     */
    readonly remove: (found: Pick<Integration, "id" | "version">) => Effect.Effect<boolean, StoreError>
    /**
     * All integrations, disabled ones too, of any of these buildings or tenants: what events are matched with. Those whose
     * rows can't be read are answered in their places, with as much as can be.
     */
    readonly findByScopes: (scopes: {
      readonly buildings: ReadonlyArray<BuildingId>
      readonly tenants: ReadonlyArray<TenantId>
      /**
       * The answer may come from memory and be older than the call: give it to `DeliveryStore.enqueue` as the candidates,
       * which checks it.
       */
      readonly cached?: boolean
    }) => Effect.Effect<ReadonlyArray<Integration | UnreadableMatch>, StoreError>
    /**
     * All integrations of a status, unhealthy ones, or all, in the order of their ids, with how they fail. Those that can't
     * be read are told of in their places.
     */
    readonly listAll: (filter: {
      readonly status?: StatusFilter
      readonly after: IntegrationId | 0
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<IntegrationWithHealth | UnreadableIntegration>, StoreError>
    /** One integration, with how it fails. */
    readonly findWithHealth: (id: IntegrationId) => Effect.Effect<IntegrationWithHealth | null, StoreError>
  }
>()("@doorhook/core/ports/IntegrationStore") {}
