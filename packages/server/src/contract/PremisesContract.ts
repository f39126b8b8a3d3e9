/**
 * The read side in the contract: buildings, tenants, and what happened there.
 */
import { BuildingId, countedEvents, TenantId } from "@doorhook/core"
import { Schema } from "effect"
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

/** An event that was published and is still kept. The attributes are the event's `data`, as it was published. */
const eventOf = <const Type extends string>(type: Type, identifier: string) =>
  Schema.Struct({
    type: Schema.Literal(type),
    /** The `id` of the data where it is a text or a whole number, else the event's. */
    id: Schema.String,
    attributes: Schema.Record(Schema.String, Schema.Unknown),
    meta: Schema.Struct({
      /** The `webhook-id` that it was sent with. */
      event_id: Schema.String,
      created_at: Schema.String
    })
  }).annotate({ identifier })

const CountedPageInfo = Schema.Struct({
  ...PageInfo.fields,
  total_is_capped: Schema.optionalKey(Schema.Literal(true)).annotate({
    description: `Present when the list has more than ${countedEvents} items: \`total_item_count\` is then ${countedEvents}.`
  })
}).annotate({ identifier: "CountedPageInfo" })

const accessLogs = list(eventOf("access_logs", "AccessLog"), CountedPageInfo, "AccessLogList")
const calls = list(eventOf("calls", "Call"), CountedPageInfo, "CallList")

const timeOf = (description: string) => Schema.optionalKey(Schema.String.annotate({ format: "date-time", description }))

/** The query parameters of a list of events. A page must begin within the first `countedEvents` items, else 422. */
const EventQuery = Schema.Struct({
  since: timeOf("Only what was published at this time or later."),
  until: timeOf("Only what was published before this time."),
  ...PageQuery.fields
})

/** The lists of what happened in a building or to a tenant. */
const events = <Owner extends Readonly<Record<string, Schema.Codec<number, number>>>>(
  path: `/v4/${string}`,
  params: Owner
) => {
  const request = { params, query: EventQuery, error: boundedListErrors }
  return [
    HttpApiEndpoint.get("accessLogs", `${path}/access_logs`, { ...request, success: accessLogs }).annotate(
      OpenApi.Summary,
      "Doors that were unlocked, the latest first"
    ),
    HttpApiEndpoint.get("calls", `${path}/calls`, { ...request, success: calls }).annotate(
      OpenApi.Summary,
      "Calls that were placed, the latest first"
    )
  ] as const
}

export const Buildings = HttpApiGroup.make("buildings")
  .add(
    HttpApiEndpoint.get("list", "/v4/buildings", {
      query: PageQuery,
      success: list(Building, PageInfo, "BuildingList"),
      error: ownListErrors
    }).annotate(OpenApi.Summary, "The buildings that the user administers"),
    HttpApiEndpoint.get("get", "/v4/buildings/:building_id", {
      params: { building_id: BuildingId },
      success: Schema.Struct({ data: Building }).annotate({ identifier: "SingleBuilding" }).pipe(jsonApi),
      error: errors
    }).annotate(OpenApi.Summary, "One of them"),
    ...events("/v4/buildings/:building_id", { building_id: BuildingId })
  )
  .middleware(BearerAuthorization)

export const Tenants = HttpApiGroup.make("tenants")
  .add(
    HttpApiEndpoint.get("list", "/v4/tenants", {
      query: Schema.Struct({ scope: Schema.optionalKey(Schema.Literal("self")), ...PageQuery.fields }),
      success: list(Tenant, PageInfo, "TenantList"),
      error: ownListErrors
    }).annotate(OpenApi.Summary, "The tenants that the user is"),
    ...events("/v4/tenants/:tenant_id", { tenant_id: TenantId })
  )
  .middleware(BearerAuthorization)
