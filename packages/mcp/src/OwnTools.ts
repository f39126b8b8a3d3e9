/**
 * doorhook's own tools and resources. Each call checks the user's rights in the host's directory, like `/v4`: what the
 * user may not see does not exist.
 */
import {
  BuildingId,
  BuildingMoves,
  Deliveries,
  DeliveryNotFound,
  english,
  EventId,
  formatDeliveryId,
  IntegrationNotFound,
  Integrations,
  isoOf,
  JsonText,
  OperatorIntegrations,
  parseDeliveryId,
  parseIso,
  ResourceTypes,
  ScopeReader,
  TenantId
} from "@doorhook/core"
import type {
  DeliveryWithAttempts,
  EventViews,
  Integration,
  IntegrationId,
  NotServed,
  Principal,
  Scope
} from "@doorhook/core"
import { internalError } from "@doorhook/server"
import type { KnownError, RequestFailure } from "@doorhook/server"
import { Context, Effect, Option, Schema, Struct } from "effect"
import { McpSchema } from "effect/ai"
import type { McpServer } from "effect/ai"
import type { Tool } from "./Tools.ts"
import { CurrentCall, makeTool, refusalOf, refused, textOf } from "./Tools.ts"

/** Names of doorhook's tools. */
export const ownNames = ["list_places", "list_events", "list_integrations", "explain_event", "resend_delivery"] as const

/** Largest number of items in an answer. */
const mostItems = 100

/** Largest total size of event data in an answer, in characters. The first event is always in it. */
const mostData = 128 * 1024

/** The arguments that name a building or a tenant. */
const place = {
  building_id: Schema.optionalKey(BuildingId.annotate({ description: "A building of list_places." })),
  tenant_id: Schema.optionalKey(TenantId.annotate({ description: "A tenant of list_places, instead of a building." }))
} as const

const Time = Schema.String.annotate({ description: "ISO 8601 with an offset, like 2026-03-02T00:00:00Z." })

const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostItems })).annotate({
  description: `At most this many, 1 to ${mostItems}. Default 20.`
})

const timeOf = (name: string, text: string | undefined): Effect.Effect<Record<string, number>, RequestFailure> => {
  if (text === undefined) return Effect.succeed({})
  const wrong = refused("invalid", `${name} must be a date or a time with its offset, like 2026-03-02T00:00:00Z.`)
  return Option.match(parseIso(text), {
    onNone: () => Effect.fail(wrong),
    onSome: (time) => Effect.succeed({ [name]: time })
  })
}

/** Returns the receiver without its query, which can have secrets. */
const receiverOf = ({ configuration: { url } }: Integration): string => url.replace(/[?#].*$/, "")

/** Writes an event, without its URL below `/v4`, which refuses the tokens of this endpoint. */
const eventText = ({ created_at, data, id: event_id, ...event }: EventViews.SeenEvent): string => {
  const known = { event_id, ...Struct.pick(event, ["resource_type", "action", "building_id", "tenant_ids"]) }
  const about = JSON.stringify({ ...known, created_at: isoOf(created_at) })
  return `${about.slice(0, -1)},"data":${data}}`
}

/** Returns as many events as an answer may have. */
const fitting = (events: ReadonlyArray<EventViews.SeenEvent>, limit: number): ReadonlyArray<EventViews.SeenEvent> => {
  let size = 0
  return events.slice(0, limit).filter(({ data }, at) => (size += data.length) <= mostData || at === 0)
}

const servicesOf = Effect.gen(function* () {
  return {
    absence: yield* BuildingMoves.Absence,
    deliveries: yield* Deliveries,
    integrations: yield* Integrations,
    health: yield* OperatorIntegrations,
    scopes: yield* ScopeReader,
    types: [...(yield* ResourceTypes).keys()]
  }
})

export class OwnTools {
  static readonly make = Effect.map(servicesOf, (services) => new OwnTools(services))
  readonly #of: Effect.Success<typeof servicesOf>
  readonly all: Readonly<Record<(typeof ownNames)[number], Tool>>

  private constructor(services: Effect.Success<typeof servicesOf>) {
    this.#of = services
    this.all = {
      list_places: this.#listPlaces(),
      list_events: this.#listEvents(),
      list_integrations: this.#listIntegrations(),
      explain_event: this.#explainEvent(),
      resend_delivery: this.#resendDelivery()
    }
  }

  #listPlaces(): Tool {
    const { scopes } = this.#of
    return makeTool({
      title: "Buildings and tenants",
      description:
        "Lists the buildings that the user administers, with their doors, and the tenants (residents or companies) that the user belongs to. The other tools take these ids.",
      input: Schema.Record(Schema.String, Schema.Never.annotate({ message: "is unknown: the tool has no arguments" })),
      run: (_, caller) => Effect.all({ buildings: scopes.buildings(caller), tenants: scopes.tenants(caller) })
    })
  }

  #listEvents(): Tool {
    const { scopes, types } = this.#of
    return makeTool({
      title: "Latest events",
      description:
        "Lists the latest events of a building or tenant, latest first: who came through a door (access_log), who rang (call). If data has only an id, the service gives the client no more.",
      input: Schema.Struct({
        ...place,
        resource_type: Schema.optionalKey(Schema.Literals(types)),
        since: Schema.optionalKey(Time),
        until: Schema.optionalKey(Time),
        limit: Schema.optionalKey(Limit)
      }),
      run: ({ limit = 20, resource_type, since, until, ...given }, caller) =>
        Effect.gen({ self: this }, function* () {
          const scope = yield* this.#scopeOf(given)
          const range = { ...(yield* timeOf("since", since)), ...(yield* timeOf("until", until)), limit, offset: 0 }
          const pages = yield* Effect.forEach(resource_type === undefined ? types : [resource_type], (type) =>
            Effect.catchTag(scopes.events(caller, scope, type, range), "PageTooDeep", (error) => Effect.die(error))
          )
          // A page that ended early has older events of its type, which are missing here.
          const ends = pages.flatMap(({ items, next }) => (next === null ? [] : [items.at(-1)?.created_at ?? 0]))
          const found = pages
            .flatMap(({ items }) => items)
            .filter(({ created_at }) => created_at >= Math.max(0, ...ends))
            .toSorted((a, b) => b.created_at - a.created_at)
          const shown = fitting(found, limit)
          const isCut = pages.reduce((sum, { total }) => sum + total, 0) > shown.length
          const rest = isCut ? ',"truncated":"There are more. Narrow since, until or resource_type."' : ""
          return JsonText.JsonText.make(`{"events":[${shown.map(eventText).join(",")}]${rest}}`)
        })
    })
  }

  #listIntegrations(): Tool {
    const { health, integrations } = this.#of
    return makeTool({
      title: "Integrations and their health",
      description:
        "Lists the integrations of a building or tenant: the systems that get its events as webhooks, whether they are enabled, and since when they fail.",
      input: Schema.Struct(place),
      run: (given, caller) =>
        Effect.gen({ self: this }, function* () {
          const scope = yield* this.#scopeOf(given)
          const { items, total } = yield* integrations.list(caller, scope, { offset: 0, limit: mostItems })
          const shown = yield* Effect.forEach(items, (one) =>
            Effect.map(
              Effect.catchTag(health.show(one.id), "IntegrationNotFound", () => Effect.succeed({ failing: null })),
              ({ failing }) => ({
                integration_id: one.id,
                ...Struct.pick(one, ["name", "description", "bindings", "status", "disabled_reason"]),
                receiver: receiverOf(one),
                failing_since: failing === null ? null : isoOf(failing.since),
                failed_attempts: failing?.attempts ?? 0
              })
            )
          )
          return { integrations: shown, total }
        })
    })
  }

  #explainEvent(): Tool {
    const { deliveries, scopes } = this.#of
    return makeTool({
      title: "Why did an event not arrive?",
      description: "Explains for each integration whether it got an event, and if not, why and what can be done.",
      input: Schema.Struct({ event_id: EventId }),
      run: ({ event_id }, caller) =>
        Effect.gen({ self: this }, function* () {
          const why = `The user's buildings and tenants have no event ${event_id}. Events are deleted after the retention time.`
          const unseen = this.#missing(caller, refused("not_found", why))
          const { event, integrations } = yield* deliveries.explainEvent(event_id, undefined, "owner")
          if (event === null) return yield* unseen
          const places: ReadonlyArray<Scope> = [
            { type: "building", id: event.building_id },
            ...event.tenant_ids.map((id) => ({ type: "tenant", id }) as const)
          ]
          const seen = Effect.firstSuccessOf(places.map((scope) => scopes.event(caller, scope, event_id)))
          const { action, created_at, resource_type } = yield* Effect.catchTags(seen, {
            ScopeNotFound: () => unseen,
            EventNotFound: () => unseen
          })
          yield* this.#checkServed(places.slice(0, 1))
          const own = yield* Effect.filter(integrations, ({ integration_id }) =>
            this.#find(caller, integration_id).pipe(
              Effect.as(true),
              Effect.catchTag("IntegrationNotFound", () => Effect.succeed(false))
            )
          )
          return {
            event: { event_id, resource_type, action, created_at: isoOf(created_at) },
            integrations: own.map(({ delivery, integration, integration_id, verdict, ...one }) => ({
              integration_id,
              name: integration?.name ?? null,
              delivery_id: delivery === null ? null : formatDeliveryId(delivery.id),
              verdict,
              why: english(...one.why)
            }))
          }
        })
    })
  }

  #resendDelivery(): Tool {
    return makeTool({
      title: "Send a webhook again",
      description: "Sends a delivery of explain_event to its receiver again. The user must agree.",
      input: Schema.Struct({ delivery_id: Schema.String.annotate({ description: "Like dlv_42." }) }),
      question: ({ delivery_id }, caller) =>
        Effect.map(this.#delivery(caller, delivery_id), ([{ event, event_id }, integration]) => {
          const what = event === null ? event_id : `${event.resource_type} ${event_id} of ${isoOf(event.created_at)}`
          const name = integration.name ?? `integration ${integration.id}`
          return `This sends ${what} again to ${name} (${receiverOf(integration)}), which may already have it.`
        }),
      run: ({ delivery_id }, caller) =>
        Effect.gen({ self: this }, function* () {
          const [{ event_id, id }] = yield* this.#delivery(caller, delivery_id)
          yield* this.#of.deliveries.resend(id)
          return { delivery_id, event_id, sent: "It is being sent. explain_event shows the outcome." }
        })
    })
  }

  /** Finds an integration that the user and the client may see. */
  #find(caller: Principal, id: IntegrationId): Effect.Effect<Integration, KnownError> {
    return Effect.flatMap(this.#of.health.show(id), ({ integration: { scope } }) =>
      Effect.catchTag(this.#of.integrations.get(caller, scope, id), "ScopeNotFound", () =>
        Effect.fail(new IntegrationNotFound({ id }))
      )
    )
  }

  /** Finds a delivery of an integration that the user and the client may see. */
  #delivery(caller: Principal, text: string): Effect.Effect<readonly [DeliveryWithAttempts, Integration], KnownError> {
    return Effect.gen({ self: this }, function* () {
      const id = Option.getOrNull(parseDeliveryId(text))
      if (id === null) return yield* refused("invalid", "delivery_id is like dlv_42. explain_event has the deliveries.")
      const unseen = this.#missing(caller, new DeliveryNotFound({ id }))
      const found = yield* Effect.catchTag(this.#of.deliveries.show(id, "owner"), "DeliveryNotFound", () => unseen)
      const integration = yield* Effect.catchTag(
        this.#find(caller, found.integration_id),
        "IntegrationNotFound",
        () => unseen
      )
      yield* this.#checkServed([integration.scope])
      return [found, integration]
    })
  }

  /** Returns the building or tenant that is meant, unless another database serves it. */
  #scopeOf({
    building_id,
    tenant_id
  }: Schema.Struct<typeof place>["Type"]): Effect.Effect<Scope, RequestFailure | NotServed> {
    const named: ReadonlyArray<Scope> = [
      ...(building_id === undefined ? [] : [{ type: "building", id: building_id } as const]),
      ...(tenant_id === undefined ? [] : [{ type: "tenant", id: tenant_id } as const])
    ]
    const [scope] = named
    if (scope === undefined || named.length > 1) {
      return Effect.fail(
        refused("invalid", "Give building_id or tenant_id, and only one of them. list_places has both.")
      )
    }
    return Effect.as(this.#checkServed([scope]), scope)
  }

  /** Fails if another database serves one of these. */
  #checkServed(scopes: ReadonlyArray<Scope>): Effect.Effect<void, NotServed> {
    const refusal = BuildingMoves.refusalOf(this.#of.absence, scopes)
    return refusal === null ? Effect.void : Effect.fail(refusal)
  }

  /** Fails because something is not here. It can be in another database, if that serves a place of the user's. */
  #missing(caller: Principal, error: KnownError): Effect.Effect<never, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const { buildings, tenants } = this.#of.scopes
      yield* this.#checkServed((yield* buildings(caller)).map(({ id }) => ({ type: "building", id })))
      yield* this.#checkServed((yield* tenants(caller)).map(({ id }) => ({ type: "tenant", id })))
      return yield* Effect.fail(error)
    })
  }
}

/** Reads a resource with a tool. A failure becomes the error of the request, because a resource has no other result. */
const contentOf = (uri: string, tool: Tool, given: object) =>
  Effect.gen(function* () {
    const current = yield* CurrentCall
    if (current === null) return yield* internalError
    const { run } = yield* Effect.fromResult(tool.prepare(given, current.caller))
    return { contents: [{ uri, mimeType: "application/json", text: textOf(yield* run) }] }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.flatMap(refusalOf(cause), ({ message }) => new McpSchema.InvalidParams({ message }))
    )
  )

/** Offers doorhook's resources: what its tools read, by URI. */
export const registerResources = Effect.fnUntraced(function* (
  server: McpServer.McpServer["Service"],
  { list_events, list_integrations, list_places }: OwnTools["all"]
) {
  const uri = "doorhook://places"
  const known = { mimeType: "application/json", annotations: {} }
  yield* server.addResource({
    resource: new McpSchema.Resource({ ...known, uri, name: list_places.title }),
    annotations: Context.empty(),
    handle: Effect.mapError(contentOf(uri, list_places, {}), ({ message }) => new McpSchema.InternalError({ message }))
  })
  for (const type of ["building", "tenant"] as const) {
    for (const [what, tool] of Object.entries({ events: list_events, integrations: list_integrations })) {
      yield* server.addResourceTemplate({
        template: new McpSchema.ResourceTemplate({
          ...known,
          uriTemplate: `doorhook://${type}s/{id}/${what}`,
          name: `${tool.title} of a ${type}`
        }),
        annotations: Context.empty(),
        // A colon is doubled, because one begins a parameter.
        routerPath: `doorhook:://${type}s/:0/${what}`,
        completions: {},
        handle: (given, [id = ""]) => contentOf(given, tool, { [`${type}_id`]: Number(id) })
      })
    }
  }
})
