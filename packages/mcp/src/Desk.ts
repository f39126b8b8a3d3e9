/**
 * What doorhook's own tools and resources read and do. Each call checks the user's rights in the host's directory, like
 * `/v4`: what the user may not see does not exist.
 */
import {
  Deliveries,
  DeliveryNotFound,
  english,
  formatDeliveryId,
  IntegrationNotFound,
  Integrations,
  isoOf,
  JsonText,
  OperatorIntegrations,
  parseDeliveryId,
  ResourceTypes,
  ScopeReader
} from "@doorhook/core"
import type {
  DeliveryWithAttempts,
  EventId,
  EventViews,
  Integration,
  IntegrationId,
  Principal,
  ResourceType,
  Scope
} from "@doorhook/core"
import type { KnownError } from "@doorhook/server"
import { Effect, Option, Struct } from "effect"
import { refused } from "./Tools.ts"

type Read<A> = Effect.Effect<A, KnownError>

/** Largest number of items in an answer. */
export const mostItems = 100

/** Largest total size of event data in an answer, in characters. The first event is always in it. */
const mostData = 128 * 1024

/** Asks for events. Times are in milliseconds since the epoch. */
interface EventQuery {
  readonly types: ReadonlyArray<ResourceType>
  readonly since?: number
  readonly until?: number
  readonly limit: number
}

/** A delivery of an integration that the user may see. */
interface FoundDelivery extends Pick<DeliveryWithAttempts, "event" | "event_id" | "id"> {
  readonly integration: Integration
}

/** Returns the receiver without its query, which can have secrets. */
export const receiverOf = ({ configuration: { url } }: Integration): string => url.replace(/[?#].*$/, "")

const eventText = ({ created_at, data, id: event_id, self, ...event }: EventViews.SeenEvent): string => {
  const known = { event_id, ...Struct.pick(event, ["resource_type", "action", "building_id", "tenant_ids"]) }
  const about = JSON.stringify({ ...known, created_at: isoOf(created_at), ...(self !== undefined && { self }) })
  return `${about.slice(0, -1)},"data":${data}}`
}

/** Returns as many events as an answer may have. */
const fitting = (events: ReadonlyArray<EventViews.SeenEvent>, limit: number): ReadonlyArray<EventViews.SeenEvent> => {
  let size = 0
  return events.slice(0, limit).filter(({ data }, at) => (size += data.length) <= mostData || at === 0)
}

const servicesOf = Effect.gen(function* () {
  return {
    deliveries: yield* Deliveries,
    integrations: yield* Integrations,
    health: yield* OperatorIntegrations,
    scopes: yield* ScopeReader,
    types: [...(yield* ResourceTypes).keys()]
  }
})

export class Desk {
  static readonly make = Effect.map(servicesOf, (services) => new Desk(services))

  readonly #of: Effect.Success<typeof servicesOf>

  private constructor(services: Effect.Success<typeof servicesOf>) {
    this.#of = services
  }

  get types(): ReadonlyArray<ResourceType> {
    return this.#of.types
  }

  places(caller: Principal): Read<object> {
    return Effect.all({ buildings: this.#of.scopes.buildings(caller), tenants: this.#of.scopes.tenants(caller) })
  }

  /** Returns the latest events of some types, latest first, as the client may see them. */
  events(caller: Principal, scope: Scope, { types, ...range }: EventQuery): Read<JsonText.JsonText> {
    return Effect.gen({ self: this }, function* () {
      const pages = yield* Effect.forEach(types, (type) =>
        this.#of.scopes
          .events(caller, scope, type, { ...range, offset: 0 })
          .pipe(Effect.catchTag("PageTooDeep", (error) => Effect.die(error)))
      )
      // A page that ended early has older events of its type, which are missing here.
      const ends = pages.flatMap(({ items, next }) => (next === null ? [] : [items.at(-1)?.created_at ?? 0]))
      const found = pages
        .flatMap(({ items }) => items)
        .filter(({ created_at }) => created_at >= Math.max(0, ...ends))
        .toSorted((a, b) => b.created_at - a.created_at)
      const shown = fitting(found, range.limit)
      const isCut = pages.reduce((sum, { total }) => sum + total, 0) > shown.length
      const rest = isCut ? ',"truncated":"There are more. Narrow since, until or resource_type."' : ""
      return JsonText.JsonText.make(`{"events":[${shown.map(eventText).join(",")}]${rest}}`)
    })
  }

  /** Returns the integrations of a building or tenant, with their health. */
  integrationsOf(caller: Principal, scope: Scope): Read<object> {
    return Effect.gen({ self: this }, function* () {
      const { items, total } = yield* this.#of.integrations.list(caller, scope, { offset: 0, limit: mostItems })
      const integrations = yield* Effect.forEach(items, (one) =>
        Effect.map(
          Effect.catchTag(this.#of.health.show(one.id), "IntegrationNotFound", () => Effect.succeed({ failing: null })),
          ({ failing }) => ({
            integration_id: one.id,
            ...Struct.pick(one, ["name", "description", "bindings", "status", "disabled_reason"]),
            receiver: receiverOf(one),
            failing_since: failing === null ? null : isoOf(failing.since),
            failed_attempts: failing?.attempts ?? 0
          })
        )
      )
      return { integrations, total }
    })
  }

  /** Finds an integration that the user and the client may see. */
  #find(caller: Principal, id: IntegrationId): Read<Integration> {
    return Effect.flatMap(this.#of.health.show(id), ({ integration: { scope } }) =>
      Effect.catchTag(this.#of.integrations.get(caller, scope, id), "ScopeNotFound", () =>
        Effect.fail(new IntegrationNotFound({ id }))
      )
    )
  }

  /** Finds a delivery of an integration that the user and the client may see. */
  delivery(caller: Principal, text: string): Read<FoundDelivery> {
    return Effect.gen({ self: this }, function* () {
      const id = Option.getOrNull(parseDeliveryId(text))
      if (id === null) return yield* refused("invalid", "delivery_id is like dlv_42. explain_event has the deliveries.")
      const found = yield* this.#of.deliveries.show(id, "owner")
      const integration = yield* Effect.catchTag(this.#find(caller, found.integration_id), "IntegrationNotFound", () =>
        Effect.fail(new DeliveryNotFound({ id }))
      )
      return { ...found, integration }
    })
  }

  /** Sends a delivery again, if the user still may. */
  resend(caller: Principal, text: string): Read<object> {
    return Effect.gen({ self: this }, function* () {
      const { event_id, id } = yield* this.delivery(caller, text)
      yield* this.#of.deliveries.resend(id)
      return { delivery_id: text, event_id, sent: "It is being sent. explain_event shows the outcome." }
    })
  }

  /** Explains for each integration that the user may see why it got an event or not. */
  explain(caller: Principal, event_id: EventId): Read<object> {
    return Effect.gen({ self: this }, function* () {
      const unseen = refused(
        "not_found",
        `The user's buildings and tenants have no event ${event_id}. Events are deleted after the retention time.`
      )
      const { event, integrations } = yield* this.#of.deliveries.explainEvent(event_id, undefined, "owner")
      if (event === null) return yield* unseen
      const scopes: ReadonlyArray<Scope> = [
        { type: "building", id: event.building_id },
        ...event.tenant_ids.map((id) => ({ type: "tenant", id }) as const)
      ]
      const seen = scopes.map((scope) => this.#of.scopes.event(caller, scope, event_id))
      const { created_at, ...known } = yield* Effect.catchTags(Effect.firstSuccessOf(seen), {
        ScopeNotFound: () => unseen,
        EventNotFound: () => unseen
      })
      const own = yield* Effect.filter(integrations, ({ integration_id }) =>
        this.#find(caller, integration_id).pipe(
          Effect.as(true),
          Effect.catchTag("IntegrationNotFound", () => Effect.succeed(false))
        )
      )
      return {
        event: { event_id, ...Struct.pick(known, ["resource_type", "action"]), created_at: isoOf(created_at) },
        integrations: own.map(({ delivery, integration, integration_id, verdict, why }) => ({
          integration_id,
          name: integration?.name ?? null,
          delivery_id: delivery === null ? null : formatDeliveryId(delivery.id),
          verdict,
          why: english(...why)
        }))
      }
    })
  }
}
