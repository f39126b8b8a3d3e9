/**
 * A user's read access to buildings and tenants, and to the events published there.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { BuildingId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { EventPage, EventPart, EventPlace } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { DirectoryBuilding, DirectoryError, DirectoryTenant } from "../ports/Directory.ts"
import { Directory, hasRight } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Actor } from "./Integrations.ts"
import { ScopeNotFound } from "./Integrations.ts"

/**
 * How much event data is read at once for one list, in bytes. A list that has more is read in parts, as its reader takes
 * them. A part may exceed this by the last event.
 */
export const partBytes = 128 * 1024

/** A page of events, optionally limited to a range of publication times in milliseconds since the epoch. */
export interface EventRange {
  /** Number of events to skip. */
  readonly offset: number
  readonly limit: number
  /** Only events published at this time or later. */
  readonly since?: number
  /** Only events published before this time. */
  readonly until?: number
}

/** Maximum number of events that a list counts. No page can begin beyond this number. */
export const countedEvents = 10_000

/** The page begins beyond the counted events of the list. Reading that far would block the process. */
export class PageTooDeep extends Schema.TaggedError<PageTooDeep>()("PageTooDeep", { offset: Schema.Int }) {
  override get message(): string {
    return `A page must begin within the first ${countedEvents} items of a list. Read further back with \`until\`: the list then begins before that time.`
  }
}

export class ScopeReader extends Context.Service<
  ScopeReader,
  {
    /** Returns the buildings that the user administers. */
    readonly buildings: (actor: Actor) => Effect.Effect<ReadonlyArray<DirectoryBuilding>, DirectoryError>
    readonly building: (
      actor: Actor,
      id: BuildingId
    ) => Effect.Effect<DirectoryBuilding, ScopeNotFound | DirectoryError>
    /** Returns the tenants that the user belongs to. */
    readonly tenants: (actor: Actor) => Effect.Effect<ReadonlyArray<DirectoryTenant>, DirectoryError>
    /** Returns the ids that the directory reports as nonexistent buildings. */
    readonly unknown: (ids: Iterable<BuildingId>) => Effect.Effect<ReadonlyArray<BuildingId>>
    /**
     * Returns events of a building or tenant, latest first, or the first part of a large page. Counts at most
     * `countedEvents`.
     */
    readonly events: (
      actor: Actor,
      scope: Scope,
      resource_type: ResourceType,
      range: EventRange
    ) => Effect.Effect<EventPage, ScopeNotFound | PageTooDeep | StoreError | DirectoryError>
    /** Continues a page at the `next` of its previous part. */
    readonly eventsFrom: (
      actor: Actor,
      scope: Scope,
      resource_type: ResourceType,
      range: Pick<EventRange, "limit" | "since"> & { readonly from: EventPlace }
    ) => Effect.Effect<EventPart, ScopeNotFound | StoreError | DirectoryError>
  }
>()("@doorhook/core/integrations/ScopeReader") {
  static readonly layer: Layer.Layer<ScopeReader, never, Directory | DeliveryStore> = Layer.effect(
    ScopeReader,
    Effect.gen(function* () {
      const directory = yield* Directory
      const store = yield* DeliveryStore
      const { hasBuilding = () => Effect.succeed(true) } = directory

      const checkRight = Effect.fnUntraced(function* ({ user_id }: Actor, scope: Scope) {
        if (!(yield* hasRight(directory, user_id, scope))) return yield* new ScopeNotFound({ scope })
      })

      return ScopeReader.of({
        buildings: ({ user_id }) => directory.buildings(user_id),

        building: Effect.fnUntraced(function* ({ user_id }, id) {
          const found = (yield* directory.buildings(user_id)).find((building) => building.id === id)
          return found ?? (yield* new ScopeNotFound({ scope: { type: "building", id } }))
        }),

        tenants: ({ user_id }) => directory.tenants(user_id),

        unknown: (ids) =>
          Effect.filter(
            new Set(ids),
            // The result is only a hint, so a failure of the directory is ignored.
            (id) =>
              Effect.map(
                Effect.orElseSucceed(hasBuilding(id), () => true),
                (has) => !has
              )
          ),

        events: Effect.fnUntraced(function* (actor, scope, resource_type, range) {
          yield* checkRight(actor, scope)
          if (range.offset >= countedEvents) return yield* new PageTooDeep({ offset: range.offset })
          return yield* store.events({
            scope,
            resource_type,
            ...range,
            maxBytes: partBytes,
            countUpTo: countedEvents
          })
        }),

        eventsFrom: Effect.fnUntraced(function* (actor, scope, resource_type, range) {
          yield* checkRight(actor, scope)
          return yield* store.eventsFrom({ scope, resource_type, ...range, maxBytes: partBytes })
        })
      })
    })
  )
}
