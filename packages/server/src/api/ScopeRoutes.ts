/**
 * Read access to buildings, tenants and their events, the protected resources in the interface document (section 1).
 * Clients use these routes to find ids, and to fetch events that were sent as webhooks.
 */
import {
  BuildingId,
  Catalogue,
  Crypto,
  EventId,
  idIn,
  inTurn,
  isoOf,
  parseIso,
  parsePositiveInt,
  ScopeReader,
  ResourceTypes,
  ServiceKey,
  Signature
} from "@doorhook/core"
import type {
  DirectoryBuilding,
  DirectoryTenant,
  Event,
  EventPart,
  EventPlace,
  PageTooDeep,
  EventViews,
  ResourceType
} from "@doorhook/core"
import { Effect, Exit, Option, Schema } from "effect"
import { IpNetwork } from "effect/net"
import type { KnownError } from "../http/Failures.ts"
import { failure, parameterFailure } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { QueryParameters, Read } from "../http/Query.ts"
import { all, pathId } from "../http/Query.ts"
import type { ApiEndpoint } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { itemText } from "./FeedRoutes.ts"
import { scopePath, scopeKinds, scopeUrl, scopeIn } from "./ScopePaths.ts"
import type { ScopeKind } from "./ScopePaths.ts"
import { listDocument, listText, offsetOf, pageMembers, pageParameters, readPage, readPart } from "./ListPages.ts"
import type { ListPart, PageRequest } from "./ListPages.ts"

const buildingResource = (publicUrl: string, { access_points, id, name, time_zone }: DirectoryBuilding) => ({
  type: "buildings",
  id: String(id),
  attributes: { name, time_zone, access_points },
  links: { self: `${publicUrl}/v4/buildings/${id}` }
})

const tenantResource = ({ building_id, id, unit }: DirectoryTenant) => ({
  type: "tenants",
  id: String(id),
  attributes: { unit },
  relationships: { building: { data: { type: "buildings", id: String(building_id) } } }
})

/** Formats an event as a JSON:API resource. Its attributes are the published data, as much as the client may get. */
const eventText = (type: string, event: EventViews.SeenEvent): string => {
  const meta = JSON.stringify({ event_id: event.id, created_at: isoOf(event.created_at) })
  const links = event.self === undefined ? "" : `,"links":${JSON.stringify({ self: event.self })}`
  return `{"type":"${type}","id":${JSON.stringify(idIn(event.data, "id") ?? event.id)},"attributes":${event.data},"meta":${meta}${links}}`
}

/** Formats events, which takes about a millisecond for large ones. */
const formatted = (type: string, events: ReadonlyArray<Event>) =>
  inTurn(Effect.sync(() => events.map((event) => eventText(type, event))))

/** Returns the id of a public key: the first 16 characters of its SHA-256 digest. */
const keyIdOf = (publicKey: string) =>
  Effect.map(
    Crypto.use(({ sha256Text }) => sha256Text(publicKey)),
    (digest) => digest.slice(0, 16)
  )

const timeParameters = ["since", "until"] as const
type TimeParameter = (typeof timeParameters)[number]

/** Reads a time; null if it is missing. Accepts a space for a `+` that was not percent-encoded. */
const readTime = (query: QueryParameters<TimeParameter>, name: TimeParameter): Read<number | null> => {
  const text = query[name]
  if (text === undefined) return Exit.succeed(null)
  return Option.match(parseIso(text.replace(/ (?=\d{2}:\d{2}$)/, "+")), {
    onNone: () =>
      Exit.fail(
        parameterFailure(
          name,
          `\`${name}\` must be a date, or a time with its offset, in ISO 8601, like 2026-03-02T00:00:00Z.`
        )
      ),
    onSome: (time) => Exit.succeed(time)
  })
}

/** Reads the page and the time filters of a list of events. */
const readRange = (query: QueryParameters<TimeParameter | (typeof pageParameters)[number]>) => {
  const read = all({ page: readPage(query), since: readTime(query, "since"), until: readTime(query, "until") })
  return Exit.map(read, ({ page, since, until }) => ({
    page,
    range: {
      offset: offsetOf(page),
      limit: page.size,
      ...(since !== null && { since }),
      ...(until !== null && { until })
    },
    /** The query string of the filters, for links to other pages. */
    filters: new URLSearchParams({
      ...(query.since !== undefined && { since: query.since }),
      ...(query.until !== undefined && { until: query.until })
    }).toString()
  }))
}

const tooDeep = ({ names }: PageRequest, { message }: PageTooDeep) =>
  failure(422, {
    code: "page_too_deep",
    title: "Page too deep",
    detail: message,
    source: { parameter: names.number }
  })

/** Operation names of the built-in types. Generated clients use them as method names. */
const operationNames: Readonly<Record<string, string>> = { access_log: "accessLogs", call: "calls" }

const partOf = <A>(items: ReadonlyArray<A>, page: PageRequest): ReadonlyArray<A> =>
  items.slice(offsetOf(page), offsetOf(page) + page.size)

export const makeScopeRoutes = Effect.fnUntraced(function* ({ open, operation }: ApiEndpoint) {
  const scopes = yield* ScopeReader
  const publicUrl = yield* PublicUrl
  const settings = yield* ApiSettings
  const types = yield* ResourceTypes
  const serviceKey = yield* ServiceKey
  const publicKey = serviceKey === null ? null : yield* Signature.publicKeyOf(serviceKey)

  const buildings = operation({
    operation: "buildings.list",
    method: "GET",
    path: "/v4/buildings",
    query: pageParameters,
    run: ({ caller, query }) =>
      Effect.gen(function* () {
        const page = yield* readPage(query)
        const all = yield* scopes.buildings(caller)
        const items = partOf(all, page).map((building) => JSON.stringify(buildingResource(publicUrl.url, building)))
        const url = `${publicUrl.url}/v4/buildings`
        return { status: 200, document: listText({ url, page, total: all.length }, items, settings) }
      })
  })

  const building = operation({
    operation: "buildings.get",
    method: "GET",
    path: "/v4/buildings/:building_id",
    run: ({ caller, params }) =>
      Effect.gen(function* () {
        const id = yield* pathId(
          params,
          "building_id",
          (text) => parsePositiveInt(BuildingId, text),
          "a building, which is a positive whole number"
        )
        const found = yield* scopes.building(caller, id)
        return { status: 200, document: JSON.stringify({ data: buildingResource(publicUrl.url, found) }) }
      })
  })

  const tenants = operation({
    operation: "tenants.list",
    method: "GET",
    path: "/v4/tenants",
    query: ["scope", ...pageParameters],
    run: ({ caller, query }) =>
      Effect.gen(function* () {
        if (query.scope !== undefined && query.scope !== "self") {
          return yield* parameterFailure("scope", "`scope` must be `self`: only the user's own tenants can be listed.")
        }
        const page = yield* readPage(query)
        const all = yield* scopes.tenants(caller)
        const items = partOf(all, page).map((tenant) => JSON.stringify(tenantResource(tenant)))
        const url = `${publicUrl.url}/v4/tenants${query.scope === undefined ? "" : "?scope=self"}`
        return { status: 200, document: listText({ url, page, total: all.length }, items, settings) }
      })
  })

  const eventsOf = (owner: ScopeKind, resource_type: ResourceType, type: string) =>
    operation({
      operation: `${owner.segment}.${operationNames[resource_type] ?? `events.${resource_type}`}`,
      method: "GET",
      path: `${scopePath(owner)}/${type}`,
      query: [...timeParameters, ...pageParameters],
      run: ({ caller, params, query, x }) =>
        Effect.gen(function* () {
          const scope = yield* scopeIn(owner, params)
          const { filters, page, range } = yield* readRange(query)
          const partOf = ({ items, next }: EventPart, limit: number) =>
            Effect.map(formatted(type, items), (texts): ListPart => {
              const left = limit - texts.length
              return { items: texts, rest: next === null ? null : restFrom(next, left) }
            })
          const restFrom = (from: EventPlace, limit: number): Effect.Effect<ListPart, KnownError> =>
            Effect.flatMap(scopes.eventsFrom(caller, scope, resource_type, { ...range, from, limit }), (part) =>
              partOf(part, limit)
            )
          const { first, isCapped, total } = yield* readPart(
            x,
            Effect.flatMap(scopes.events(caller, scope, resource_type, range), ({ isCapped, total, ...part }) =>
              Effect.map(partOf(part, range.limit), (first) => ({ first, isCapped, total }))
            )
          ).pipe(Effect.catchTag("PageTooDeep", (error) => tooDeep(page, error)))
          const url = `${scopeUrl(publicUrl.url, scope)}/${type}${filters === "" ? "" : `?${filters}`}`
          const members = (count: number) => pageMembers({ url, page, total, isCapped }, count, settings)
          return { status: 200, document: listDocument(first, members) }
        })
    })

  const event = (owner: ScopeKind) =>
    operation({
      operation: `${owner.segment}.event`,
      method: "GET",
      path: `${scopePath(owner)}/events/:id`,
      run: ({ caller, params }) =>
        Effect.gen(function* () {
          const scope = yield* scopeIn(owner, params)
          const id = yield* pathId(params, "id", Schema.decodeUnknownOption(EventId), "an event (evt_...)")
          const found = yield* scopes.event(caller, scope, id)
          return { status: 200, document: `{"data":${itemText({ event: found, delivery: null })}}` }
        })
    })

  /**
   * The networks that webhooks are sent from, for address filters in front of receivers (interface document, section
   * 5). This route needs no token, because administrators of such filters might have no user account.
   */
  const sources = open("webhook sources.list", "/v4/webhook_sources", () =>
    JSON.stringify({
      data: settings.webhookSources.map((network) => {
        const cidr = IpNetwork.format(network)
        return { type: "webhook_sources", id: cidr, attributes: { cidr } }
      })
    })
  )

  /** What receivers can get. Public, because their authors might have no access to the service. */
  const catalogue = open("resource types.list", "/v4/resource_types", () =>
    JSON.stringify({ data: Catalogue.entriesOf(types) })
  )

  /**
   * The public keys that verify `v1a` signatures, for receivers without a secret. Empty unless requests are signed with
   * Ed25519.
   */
  const keyId = publicKey === null ? "" : yield* keyIdOf(publicKey)
  const keys = open("webhook keys.list", "/v4/webhook_keys", () =>
    JSON.stringify({
      data: publicKey === null ? [] : [{ type: "webhook_keys", id: keyId, attributes: { public_key: publicKey } }]
    })
  )

  return [
    buildings,
    building,
    tenants,
    sources,
    keys,
    catalogue,
    ...scopeKinds.flatMap((owner) => [...types].map(([type, { path }]) => eventsOf(owner, type, path))),
    ...scopeKinds.map(event)
  ]
})
