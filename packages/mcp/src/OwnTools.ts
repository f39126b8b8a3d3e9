/**
 * doorhook's own tools and resources.
 */
import { BuildingId, EventId, isoOf, parseIso, TenantId } from "@doorhook/core"
import type { Scope } from "@doorhook/core"
import type { RequestFailure } from "@doorhook/server"
import { Context, Effect, Option, Schema } from "effect"
import { McpSchema } from "effect/ai"
import type { McpServer } from "effect/ai"
import type { Desk } from "./Desk.ts"
import { mostItems, receiverOf } from "./Desk.ts"
import type { Tool } from "./Tools.ts"
import { CurrentCall, makeTool, readsOnly, refusalOf, refused, textOf } from "./Tools.ts"

/** The arguments that name a building or a tenant. */
const place = {
  building_id: Schema.optionalKey(BuildingId.annotate({ description: "A building of list_places." })),
  tenant_id: Schema.optionalKey(TenantId.annotate({ description: "A tenant of list_places, instead of a building." }))
} as const

const Time = Schema.String.annotate({ description: "ISO 8601 with an offset, like 2026-03-02T00:00:00Z." })

const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostItems })).annotate({
  description: `At most this many, 1 to ${mostItems}. Default 20.`
})

interface Place {
  readonly building_id?: BuildingId
  readonly tenant_id?: TenantId
}

const scopeOf = ({ building_id, tenant_id }: Place): Effect.Effect<Scope, RequestFailure> => {
  if (building_id !== undefined && tenant_id === undefined) return Effect.succeed({ type: "building", id: building_id })
  if (tenant_id !== undefined && building_id === undefined) return Effect.succeed({ type: "tenant", id: tenant_id })
  return Effect.fail(refused("invalid", "Give building_id or tenant_id, and only one of them. list_places has both."))
}

const timeOf = (name: string, text: string | undefined): Effect.Effect<Record<string, number>, RequestFailure> => {
  if (text === undefined) return Effect.succeed({})
  const wrong = refused("invalid", `${name} must be a date or a time with its offset, like 2026-03-02T00:00:00Z.`)
  return Option.match(parseIso(text), {
    onNone: () => Effect.fail(wrong),
    onSome: (time) => Effect.succeed({ [name]: time })
  })
}

/** Makes doorhook's tools. */
export const toolsOf = (desk: Desk): Readonly<Record<(typeof ownNames)[number], Tool>> => ({
  list_places: makeTool({
    name: "list_places",
    title: "Buildings and tenants",
    description:
      "Lists the buildings that the user administers, with their doors, and the tenants (residents or companies) that the user belongs to. The other tools take these ids.",
    input: Schema.Record(Schema.String, Schema.Never.annotate({ message: "is unknown: the tool has no arguments" })),
    hints: readsOnly,
    run: (_, caller) => desk.places(caller)
  }),
  list_events: makeTool({
    name: "list_events",
    title: "Latest events",
    description:
      "Lists the latest events of a building or tenant, latest first: who came through a door (access_log), who rang (call).",
    input: Schema.Struct({
      ...place,
      resource_type: Schema.optionalKey(Schema.Literals(desk.types)),
      since: Schema.optionalKey(Time),
      until: Schema.optionalKey(Time),
      limit: Schema.optionalKey(Limit)
    }),
    hints: readsOnly,
    run: ({ limit = 20, resource_type, since, until, ...given }, caller) =>
      Effect.gen(function* () {
        const range = { ...(yield* timeOf("since", since)), ...(yield* timeOf("until", until)), limit }
        const types = resource_type === undefined ? desk.types : [resource_type]
        return yield* desk.events(caller, yield* scopeOf(given), { types, ...range })
      })
  }),
  list_integrations: makeTool({
    name: "list_integrations",
    title: "Integrations and their health",
    description:
      "Lists the integrations of a building or tenant: the systems that get its events as webhooks, whether they are enabled, and since when they fail.",
    input: Schema.Struct(place),
    hints: readsOnly,
    run: (given, caller) => Effect.flatMap(scopeOf(given), (scope) => desk.integrationsOf(caller, scope))
  }),
  explain_event: makeTool({
    name: "explain_event",
    title: "Why did an event not arrive?",
    description: "Explains for each integration whether it got an event, and if not, why and what can be done.",
    input: Schema.Struct({ event_id: EventId }),
    hints: readsOnly,
    run: ({ event_id }, caller) => desk.explain(caller, event_id)
  }),
  resend_delivery: makeTool({
    name: "resend_delivery",
    title: "Send a webhook again",
    description: "Sends a delivery of explain_event to its receiver again. The user must agree.",
    input: Schema.Struct({ delivery_id: Schema.String.annotate({ description: "Like dlv_42." }) }),
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    question: ({ delivery_id }, caller) =>
      Effect.map(desk.delivery(caller, delivery_id), ({ event, event_id, integration }) => {
        const what = event === null ? event_id : `${event.resource_type} ${event_id} of ${isoOf(event.created_at)}`
        const name = integration.name ?? `integration ${integration.id}`
        return `This sends ${what} again to ${name} (${receiverOf(integration)}), which may already have it.`
      }),
    run: ({ delivery_id }, caller) => desk.resend(caller, delivery_id)
  })
})

/** Names of doorhook's tools. */
export const ownNames = ["list_places", "list_events", "list_integrations", "explain_event", "resend_delivery"] as const

/** Reads a resource with a tool. A failure becomes the error of the request, because a resource has no other result. */
const contentOf = (uri: string, tool: Tool, given: object) =>
  Effect.gen(function* () {
    const current = yield* CurrentCall
    if (current === null) return yield* new McpSchema.InvalidParams({ message: "No caller" })
    const read = Effect.flatMap(Effect.fromResult(tool.prepare(given, current.caller)), ({ run }) => run)
    const text = textOf(
      yield* Effect.catchCause(read, (cause) =>
        Effect.flatMap(refusalOf(cause, current.id), ({ message }) => new McpSchema.InvalidParams({ message }))
      )
    )
    return { contents: [{ uri, mimeType: "application/json", text }] }
  })

/** Offers doorhook's resources: what its tools read, by URI. */
export const registerResources = Effect.fnUntraced(function* (
  server: McpServer.McpServer["Service"],
  { list_events, list_integrations, list_places }: ReturnType<typeof toolsOf>
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
