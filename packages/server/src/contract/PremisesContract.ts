/**
 * The read side in the contract: buildings, tenants, and what happened there.
 */
import { builtInTypes, BuildingId, countedEvents, declaredIn, TenantId } from "@doorhook/core"
import type { ResourceType, ResourceTypeDefinition, ResourceTypeTable } from "@doorhook/core"
import { Schema, String } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  BearerAuthorization,
  boundedListErrors,
  errors,
  jsonApi,
  ownListErrors,
  PageInfo,
  PageLinks,
  PageQuery
} from "./JsonApi.ts"

const list = <S extends Schema.Top, Info extends Schema.Top>(item: S, page_info: Info, identifier: string) =>
  Schema.Struct({ data: Schema.Array(item), links: PageLinks, meta: Schema.Struct({ page_info }) })
    .annotate({ identifier })
    .pipe(jsonApi)

const Building = Schema.Struct({
  type: Schema.Literal("buildings"),
  id: Schema.String,
  attributes: Schema.Struct({
    name: Schema.String,
    /** IANA name, like `Europe/Berlin`. */
    time_zone: Schema.String,
    access_points: Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String }))
  }),
  links: Schema.Struct({ self: Schema.String })
}).annotate({ identifier: "Building" })

const Tenant = Schema.Struct({
  type: Schema.Literal("tenants"),
  id: Schema.String,
  attributes: Schema.Struct({
    unit: Schema.NullOr(Schema.Struct({ id: Schema.Int, label: Schema.String }))
  }),
  relationships: Schema.Struct({
    building: Schema.Struct({ data: Schema.Struct({ type: Schema.Literal("buildings"), id: Schema.String }) })
  })
}).annotate({ identifier: "Tenant" })

const CountedPageInfo = Schema.Struct({
  ...PageInfo.fields,
  total_is_capped: Schema.optionalKey(Schema.Literal(true)).annotate({
    description: `Present when the list has more than ${countedEvents} items: \`total_item_count\` is then ${countedEvents}.`
  })
}).annotate({ identifier: "CountedPageInfo" })

const timeOf = (description: string) => Schema.optionalKey(Schema.String.annotate({ format: "date-time", description }))

/** The query parameters of a list of events. A page must begin within the first `countedEvents` items, else 422. */
const EventQuery = Schema.Struct({
  since: timeOf("Only what was published at this time or later."),
  until: timeOf("Only what was published before this time."),
  ...PageQuery.fields
})

/** A list of events in the contract: the name of the operation, the type, and the names of its schemas. */
const eventList = <const Name extends string, Owner extends Readonly<Record<string, Schema.Codec<number, number>>>>(
  owner: { readonly path: `/v4/${string}`; readonly params: Owner },
  name: Name,
  type: ResourceType,
  { identifier, path }: Pick<ResourceTypeDefinition, "path"> & { readonly identifier: string }
) => {
  /** The attributes are the event's `data`, as it was published. */
  const event = Schema.Struct({
    type: Schema.Literal(path),
    /** The `id` of the data where it is a text or a whole number, else the event's. */
    id: Schema.String,
    attributes: Schema.Record(Schema.String, Schema.Unknown),
    meta: Schema.Struct({
      /** The `webhook-id` that it was sent with. */
      event_id: Schema.String,
      created_at: Schema.String
    })
  }).annotate({ identifier })
  return HttpApiEndpoint.get(name, `${owner.path}/${path}`, {
    params: owner.params,
    query: EventQuery,
    success: list(event, CountedPageInfo, `${identifier}List`),
    error: boundedListErrors
  }).annotate(OpenApi.Summary, `Events of type ${type}, newest first`)
}

const { access_log, call } = builtInTypes

/** The lists of the built-in types, which typed clients have as `accessLogs` and `calls`. */
const builtInLists = <Owner extends Readonly<Record<string, Schema.Codec<number, number>>>>(
  owner: Parameters<typeof eventList<string, Owner>>[0]
) =>
  [
    eventList(owner, "accessLogs", "access_log", { ...access_log, identifier: "AccessLog" }),
    eventList(owner, "calls", "call", { ...call, identifier: "Call" })
  ] as const

/** `DoorForcedEvent` for `door_forced`. */
const identifierOf = (type: ResourceType): string => `${type.split("_").map(String.capitalize).join("")}Event`

const declaredLists = <Owner extends Readonly<Record<string, Schema.Codec<number, number>>>>(
  owner: Parameters<typeof eventList<string, Owner>>[0],
  types: ResourceTypeTable
) =>
  [...declaredIn(types)].map(([type, { path }]) =>
    eventList(owner, `events.${type}`, type, { path, identifier: identifierOf(type) })
  )

const building = { path: "/v4/buildings/:building_id", params: { building_id: BuildingId } } as const

const buildings = <const Lists extends ReadonlyArray<HttpApiEndpoint.Constraint>>(lists: Lists) =>
  HttpApiGroup.make("buildings")
    .add(
      HttpApiEndpoint.get("list", "/v4/buildings", {
        query: PageQuery,
        success: list(Building, PageInfo, "BuildingList"),
        error: ownListErrors
      }).annotate(OpenApi.Summary, "The buildings that the user administers"),
      HttpApiEndpoint.get("get", building.path, {
        params: building.params,
        success: Schema.Struct({ data: Building }).annotate({ identifier: "SingleBuilding" }).pipe(jsonApi),
        error: errors
      }).annotate(OpenApi.Summary, "One of them"),
      ...lists
    )
    .middleware(BearerAuthorization)

const tenant = { path: "/v4/tenants/:tenant_id", params: { tenant_id: TenantId } } as const

const tenants = <const Lists extends ReadonlyArray<HttpApiEndpoint.Constraint>>(lists: Lists) =>
  HttpApiGroup.make("tenants")
    .add(
      HttpApiEndpoint.get("list", "/v4/tenants", {
        query: Schema.Struct({ scope: Schema.optionalKey(Schema.Literal("self")), ...PageQuery.fields }),
        success: list(Tenant, PageInfo, "TenantList"),
        error: ownListErrors
      }).annotate(OpenApi.Summary, "The tenants that the user is"),
      ...lists
    )
    .middleware(BearerAuthorization)

export const Buildings = buildings(builtInLists(building))
export const Tenants = tenants(builtInLists(tenant))

/** With the lists of declared types. */
export const buildingsOf = (types: ResourceTypeTable) =>
  buildings([...builtInLists(building), ...declaredLists(building, types)])
export const tenantsOf = (types: ResourceTypeTable) =>
  tenants([...builtInLists(tenant), ...declaredLists(tenant, types)])
