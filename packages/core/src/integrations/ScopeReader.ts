/**
 * A user's read access to buildings and tenants, and to the events published there.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { SeenEvent } from "../delivery/EventViews.ts"
import { makeViews } from "../delivery/EventViews.ts"
import { Absence } from "../model/BuildingMoves.ts"
import type { Event } from "../model/Event.ts"
import type { BuildingId } from "../model/Ids.ts"
import { EventId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import { scopeSees } from "../model/Matcher.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { EventPage, EventPart, EventPlace } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { DirectoryBuilding, DirectoryError, DirectoryTenant } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { isDirect } from "../publish/DirectEvent.ts"
import type { Actor, ScopeError } from "./Integrations.ts"
import { checkScope, ScopeNotFound } from "./Integrations.ts"

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

/** The event does not exist, or does not concern the building or tenant. */
export class EventNotFound extends Schema.TaggedError<EventNotFound>()("EventNotFound", { id: EventId }) {
  override get message(): string {
    return `There is no event ${this.id} here. Events are deleted after the retention time.`
  }
}

export class ScopeReader extends Context.Service<
  ScopeReader,
  {
    /** Returns the buildings that the user administers. */
    readonly buildings: (actor: Actor) => Effect.Effect<ReadonlyArray<DirectoryBuilding>, DirectoryError>
    readonly building: (actor: Actor, id: BuildingId) => Effect.Effect<DirectoryBuilding, ScopeError | DirectoryError>
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
    ) => Effect.Effect<EventPage, ScopeError | PageTooDeep | StoreError | DirectoryError>
    /** Returns one event of a building or tenant, as the client may see it. */
    readonly event: (
      actor: Actor,
      scope: Scope,
      id: EventId
    ) => Effect.Effect<SeenEvent, ScopeError | EventNotFound | StoreError | DirectoryError>
    /** Continues a page at the `next` of its previous part. */
    readonly eventsFrom: (
      actor: Actor,
      scope: Scope,
      resource_type: ResourceType,
      range: Pick<EventRange, "limit" | "since"> & { readonly from: EventPlace }
    ) => Effect.Effect<EventPart, ScopeError | StoreError | DirectoryError>
  }
>()("@doorhook/core/integrations/ScopeReader") {
  static readonly layer: Layer.Layer<ScopeReader, never, Directory | DeliveryStore | IntegrationStore> = Layer.effect(
    ScopeReader,
    Effect.gen(function* () {
      const directory = yield* Directory
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      const views = yield* makeViews
      const { hasBuilding = () => Effect.succeed(true) } = directory

      const absence = yield* Absence
      const authorize = (actor: Actor, scope: Scope) => checkScope(directory, absence, actor, scope)

      /** Whether a direct event, like a test event, was sent to an integration of the scope. */
      const wasSentTo = Effect.fnUntraced(function* (scope: Scope, event_id: EventId) {
        const [delivery] = yield* store.list({ event_id, limit: 1 })
        const owner = delivery === undefined ? null : yield* integrations.findRef(delivery.integration_id)
        return owner !== null && owner.scope.type === scope.type && owner.scope.id === scope.id
      })

      const seen = (actor: Actor, scope: Scope, items: ReadonlyArray<Event>) =>
        items.map((event) => views.ofClient(actor.client_id, scope, event))

      return ScopeReader.of({
        buildings: ({ user_id }) => directory.buildings(user_id),

        building: Effect.fnUntraced(function* (actor, id) {
          const scope: Scope = { type: "building", id }
          yield* authorize(actor, scope)
          const found = (yield* directory.buildings(actor.user_id)).find((building) => building.id === id)
          return found ?? (yield* new ScopeNotFound({ scope }))
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
          yield* authorize(actor, scope)
          if (range.offset >= countedEvents) return yield* new PageTooDeep({ offset: range.offset })
          const page = yield* store.events({
            scope,
            resource_type,
            ...range,
            maxBytes: partBytes,
            countUpTo: countedEvents
          })
          return { ...page, items: seen(actor, scope, page.items) }
        }),

        event: Effect.fnUntraced(function* (actor, scope, id) {
          yield* authorize(actor, scope)
          const event = yield* store.findEvent(id)
          const isSeen = event !== null && (isDirect(event) ? yield* wasSentTo(scope, id) : scopeSees(scope, event))
          if (event === null || !isSeen) return yield* new EventNotFound({ id })
          return views.ofClient(actor.client_id, scope, event)
        }),

        eventsFrom: Effect.fnUntraced(function* (actor, scope, resource_type, range) {
          yield* authorize(actor, scope)
          const part = yield* store.eventsFrom({ scope, resource_type, ...range, maxBytes: partBytes })
          return { ...part, items: seen(actor, scope, part.items) }
        })
      })
    })
  )
}
