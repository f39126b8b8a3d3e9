/**
 * What a user may see of buildings and tenants: which there are, and what happened there. The host's directory says the
 * first, the events that were published and are still kept the second.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { BuildingId } from "../domain/Ids.ts"
import type { Scope } from "../domain/Integration.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import type { EventPage } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { DirectoryBuilding, DirectoryError, DirectoryTenant } from "../ports/Directory.ts"
import { Directory, hasRight } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { ScopeNotFound } from "./IntegrationErrors.ts"
import type { Actor } from "./integrations/Access.ts"

/** A page of events, and from when to when they were published, in milliseconds since the epoch. */
export interface EventRange {
  /** How many events to skip. */
  readonly offset: number
  readonly limit: number
  /** Only events published at this time or later. */
  readonly since?: number
  /** Only events published before this time. */
  readonly until?: number
}

/** The most events of a list that are counted, and that a page can begin behind. */
export const countedEvents = 10_000

/** A page begins beyond what is counted of a list: to read that far would stop the process for others. */
export class PageTooDeep extends Schema.TaggedError<PageTooDeep>()("PageTooDeep", { offset: Schema.Int }) {
  override get message(): string {
    return `A page must begin within the first ${countedEvents} items of a list. Read further back with \`until\`: the list then begins before that time.`
  }
}

export class Premises extends Context.Service<
  Premises,
  {
    /** The buildings the user administers. */
    readonly buildings: (actor: Actor) => Effect.Effect<ReadonlyArray<DirectoryBuilding>, DirectoryError>
    readonly building: (
      actor: Actor,
      id: BuildingId
    ) => Effect.Effect<DirectoryBuilding, ScopeNotFound | DirectoryError>
    /** The tenants the user is. */
    readonly tenants: (actor: Actor) => Effect.Effect<ReadonlyArray<DirectoryTenant>, DirectoryError>
    /** Those of some buildings that there are not, as far as the directory can say. */
    readonly unknown: (ids: Iterable<BuildingId>) => Effect.Effect<ReadonlyArray<BuildingId>>
    /** Events of a building, or those that involve a tenant, the latest first; counts `countedEvents` of them at most. */
    readonly events: (
      actor: Actor,
      scope: Scope,
      resource_type: ResourceType,
      range: EventRange
    ) => Effect.Effect<EventPage, ScopeNotFound | PageTooDeep | StoreError | DirectoryError>
  }
>()("@doorhook/core/services/Premises") {
  static readonly layer: Layer.Layer<Premises, never, Directory | DeliveryStore> = Layer.effect(
    Premises,
    Effect.gen(function* () {
      const directory = yield* Directory
      const store = yield* DeliveryStore
      const { hasBuilding = () => Effect.succeed(true) } = directory

      return Premises.of({
        buildings: ({ user_id }) => directory.buildings(user_id),

        building: Effect.fnUntraced(function* ({ user_id }, id) {
          const found = (yield* directory.buildings(user_id)).find((building) => building.id === id)
          return found ?? (yield* new ScopeNotFound({ scope: { type: "building", id } }))
        }),

        tenants: ({ user_id }) => directory.tenants(user_id),

        unknown: (ids) =>
          Effect.filter(
            new Set(ids),
            // What is only a hint waits for no directory that is away.
            (id) =>
              Effect.map(
                Effect.orElseSucceed(hasBuilding(id), () => true),
                (has) => !has
              )
          ),

        events: Effect.fnUntraced(function* (actor, scope, resource_type, range) {
          if (!(yield* hasRight(directory, actor.user_id, scope))) return yield* new ScopeNotFound({ scope })
          if (range.offset >= countedEvents) return yield* new PageTooDeep({ offset: range.offset })
          return yield* store.events({ scope, resource_type, ...range, countUpTo: countedEvents })
        })
      })
    })
  )
}
