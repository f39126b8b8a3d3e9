/**
 * What a user may see of buildings and tenants: which there are, and what happened there. The host's directory says the
 * first, the events that were published and are still kept the second.
 */
import { Context, Effect, Layer } from "effect"
import type { Event } from "../domain/Event.ts"
import type { BuildingId } from "../domain/Ids.ts"
import type { Scope } from "../domain/Integration.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { DirectoryBuilding, DirectoryError, DirectoryTenant } from "../ports/Directory.ts"
import { Directory, hasRight } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { ScopeNotFound } from "./IntegrationErrors.ts"
import type { Actor } from "./integrations/Access.ts"

/** A part of a list. */
export interface Part {
  readonly offset: number
  readonly limit: number
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
    /** Events of a building, or those that involve a tenant, the newest first, and how many there are in all. */
    readonly events: (
      actor: Actor,
      scope: Scope,
      resource_type: ResourceType,
      part: Part
    ) => Effect.Effect<
      { readonly items: ReadonlyArray<Event>; readonly total: number },
      ScopeNotFound | StoreError | DirectoryError
    >
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

        events: Effect.fnUntraced(function* (actor, scope, resource_type, part) {
          if (!(yield* hasRight(directory, actor.user_id, scope))) return yield* new ScopeNotFound({ scope })
          return yield* store.events({ scope, resource_type, ...part })
        })
      })
    })
  )
}
