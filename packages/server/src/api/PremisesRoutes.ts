/**
 * The read side: buildings, tenants and what happened there, which the document names as protected resources (section 1).
 * An integrator finds ids here, and looks up what a webhook told.
 */
import { BuildingId, inTurn, parseIso, parsePositiveInt, Premises, ResourceTypes } from "@doorhook/core"
import type { PageTooDeep, ResourceType } from "@doorhook/core"
import { Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { pathId } from "../http/PathId.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { both, failure, parameterFailure } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { ApiEndpoint } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { listText } from "./ListDocument.ts"
import { owners, ownerUrl, scopeOf } from "./Owners.ts"
import type { Owner } from "./Owners.ts"
import { offsetOf, pageParameters, readPage } from "./Pagination.ts"
import type { PageRequest } from "./Pagination.ts"
import { buildingResource, eventText, tenantResource } from "./PremisesDocument.ts"

const buildingId = pathId(
  "id",
  (text) => parsePositiveInt(BuildingId, text),
  "a building, which is a positive whole number"
)

/** The whose tenants are listed: one's own, the only ones there are to see. */
const readScope = (scope: string | undefined) =>
  scope === undefined || scope === "self"
    ? Effect.void
    : parameterFailure("scope", "`scope` must be `self`: only the tenants that the user is are listed.")

const timeParameters = ["since", "until"] as const
type TimeParameter = (typeof timeParameters)[number]

/** Reads a time; null when it is not given. A `+` that was not percent-encoded arrives as a space. */
const readTime = (query: QueryParameters<TimeParameter>, name: TimeParameter) => {
  const text = query[name]
  if (text === undefined) return Effect.succeed(null)
  return Option.match(parseIso(text.replace(/ (?=\d{2}:\d{2}$)/, "+")), {
    onNone: () =>
      parameterFailure(
        name,
        `\`${name}\` must be a date, or a time with its offset, in ISO 8601, like 2026-03-02T00:00:00Z.`
      ),
    onSome: Effect.succeed
  })
}

/** Reads which part of a list of events is asked for. */
const readRange = Effect.fnUntraced(function* (
  query: QueryParameters<TimeParameter | (typeof pageParameters)[number]>
) {
  const times = both(readTime(query, "since"), readTime(query, "until"))
  const [page, [since, until]] = yield* both(readPage(query), times)
  return {
    page,
    range: {
      offset: offsetOf(page),
      limit: page.size,
      ...(since !== null && { since }),
      ...(until !== null && { until })
    },
    /** The filters, for links to other pages. */
    filters: new URLSearchParams({
      ...(query.since !== undefined && { since: query.since }),
      ...(query.until !== undefined && { until: query.until })
    }).toString()
  }
})

const tooDeep = ({ names }: PageRequest, { message }: PageTooDeep) =>
  failure(422, {
    code: "page_too_deep",
    title: "Page too deep",
    detail: message,
    source: { parameter: names.number }
  })

const partOf = <A>(items: ReadonlyArray<A>, page: PageRequest): ReadonlyArray<A> =>
  items.slice(offsetOf(page), offsetOf(page) + page.size)

const makeRoutes = Effect.gen(function* () {
  const premises = yield* Premises
  const { operation, refuse } = yield* ApiEndpoint
  const publicUrl = yield* PublicUrl
  const settings = yield* ApiSettings
  const types = yield* ResourceTypes

  const buildings = operation(pageParameters, (caller, query) =>
    Effect.gen(function* () {
      const page = yield* readPage(query)
      const all = yield* premises.buildings(caller)
      const items = partOf(all, page).map((building) => JSON.stringify(buildingResource(publicUrl.url, building)))
      return {
        status: 200,
        document: listText({ url: `${publicUrl.url}/v4/buildings`, page, total: all.length }, items, settings)
      }
    })
  )

  const building = operation([], (caller) =>
    Effect.gen(function* () {
      const found = yield* premises.building(caller, yield* buildingId)
      return { status: 200, document: { data: buildingResource(publicUrl.url, found) } }
    })
  )

  const tenants = operation(["scope", ...pageParameters], (caller, query) =>
    Effect.gen(function* () {
      yield* readScope(query.scope)
      const page = yield* readPage(query)
      const all = yield* premises.tenants(caller)
      const items = partOf(all, page).map((tenant) => JSON.stringify(tenantResource(tenant)))
      const own = `${publicUrl.url}/v4/tenants${query.scope === undefined ? "" : "?scope=self"}`
      return { status: 200, document: listText({ url: own, page, total: all.length }, items, settings) }
    })
  )

  const eventsOf = (owner: Owner, resource_type: ResourceType, type: string) => {
    const list = operation([...timeParameters, ...pageParameters], (caller, query) =>
      Effect.gen(function* () {
        const scope = yield* scopeOf(owner)
        const { filters, page, range } = yield* readRange(query)
        const { isCapped, items, total } = yield* Effect.catchTag(
          premises.events(caller, scope, resource_type, range),
          "PageTooDeep",
          (error) => tooDeep(page, error)
        )
        const url = `${ownerUrl(publicUrl.url, scope)}/${type}${filters === "" ? "" : `?${filters}`}`
        const write = () =>
          listText(
            { url, page, total, isCapped },
            items.map((event) => eventText(type, event)),
            settings
          )
        return { status: 200, document: yield* inTurn(Effect.sync(write)) }
      })
    )
    return resource(`/v4/${owner.segment}/:owner_id/${type}`, { GET: list }, refuse)
  }

  return [
    resource("/v4/buildings", { GET: buildings }, refuse),
    resource("/v4/buildings/:id", { GET: building }, refuse),
    resource("/v4/tenants", { GET: tenants }, refuse),
    ...owners.flatMap((owner) => [...types].map(([type, { path }]) => eventsOf(owner, type, path)))
  ]
})

export const PremisesRoutes = HttpRouter.addAll(makeRoutes)
