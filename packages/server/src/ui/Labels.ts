/**
 * The names that pages show: places and clients by the host's directory, receivers by their URL.
 *
 * Names are no condition of anything. If the directory fails or is slow, pages show ids instead.
 */
import type { Actor, Integration, Scope, UserId } from "@doorhook/core"
import { Clients, creatingClient, RecentMap, ScopeReader } from "@doorhook/core"
import { Effect } from "effect"
import type { Visit } from "./Parts.ts"
import type { Language } from "./Texts.ts"

/** Longest wait for the directory, in milliseconds. */
const patience = 2_000

/** How long names are kept, in milliseconds, and for how many users and clients. */
const keptFor = 10_000
const mostKept = 1_000

/** The building or tenant of an integration in words. */
export interface Place {
  /** Like "North Tower" or "Unit 4B, North Tower". */
  readonly name: string
  /** Time zone of the building (IANA name); null if unknown. */
  readonly zone: string | null
  /** Names of the building's access points, by id. */
  readonly doors: ReadonlyMap<number, string>
}

/** What the directory returns about the places of a user. */
type Places = Effect.Success<ReturnType<typeof placesOf>>

const placesOf = (scopes: ScopeReader["Service"], actor: Actor) =>
  Effect.all({ buildings: scopes.buildings(actor), tenants: scopes.tenants(actor) })

const unknown: Places = { buildings: [], tenants: [] }

/** Returns a lookup that keeps its answers for a short time, and returns `absent` if an answer fails or takes too long. */
const remembered = <Key, A>(look: (key: Key) => Effect.Effect<A, unknown>, absent: A) => {
  const known = new RecentMap<Key, { readonly answer: A; readonly until: number }>(mostKept)
  return (key: Key, now: number): Effect.Effect<A> => {
    const found = known.get(key)
    if (found !== undefined && now < found.until) return Effect.succeed(found.answer)
    return look(key).pipe(
      Effect.timeout(patience),
      Effect.catch((error) => Effect.as(Effect.logDebug("No names from the directory", error), absent)),
      Effect.tap((answer) => Effect.sync(() => known.set(key, { answer, until: now + keptFor })))
    )
  }
}

/** Returns a readable name of a place that the directory has no name for. */
export const scopeName = ({ t }: Language, { id, type }: Scope): string => t(`scope_${type}`, { id })

/** Describes a place to a user, with what the directory returned about the user's places. */
const describe = (language: Language, { buildings, tenants }: Places, scope: Scope): Place => {
  const tenant = scope.type === "tenant" ? tenants.find(({ id }) => id === scope.id) : undefined
  const buildingId = scope.type === "building" ? scope.id : tenant?.building_id
  const building = buildings.find(({ id }) => id === buildingId)
  const unit = tenant?.unit === undefined || tenant.unit === null ? null : language.t("unit", tenant.unit)
  const own = scope.type === "building" ? building?.name : unit
  return {
    name: own === undefined || own === null ? scopeName(language, scope) : own,
    zone: building?.time_zone ?? null,
    doors: new Map(building?.access_points.map(({ id, name }) => [id, name]))
  }
}

/** The names of an integration and of what belongs to it. */
export interface Labels {
  readonly place: Place
  /** Who created the integration, like "by Acme Concierge". */
  readonly creator: string
}

export const makeLabels = Effect.gen(function* () {
  const clients = yield* Clients
  const scopes = yield* ScopeReader
  const places = remembered((user: UserId) => placesOf(scopes, { user_id: user, client_id: null }), unknown)
  const client = remembered(clients.nameOf, null)

  return {
    /** Returns the places that a user may manage now, buildings first. */
    placesOf: (language: Language, actor: Actor) =>
      Effect.map(placesOf(scopes, actor), (found) =>
        [
          ...found.buildings.map(({ id }): Scope => ({ type: "building", id })),
          ...found.tenants.map(({ id }): Scope => ({ type: "tenant", id }))
        ].map((scope) => ({ scope, ...describe(language, found, scope) }))
      ),
    /** Returns the time zone of a user's first building; null if unknown. */
    zoneOf: (user: UserId, now: number) =>
      Effect.map(places(user, now), ({ buildings: [first] }) => first?.time_zone ?? null),
    /** Returns the words for an integration's place and creator, as the directory gives them to somebody with the right. */
    of: ({ actor, language, now }: Visit, { created_by, scope }: Integration): Effect.Effect<Labels> =>
      Effect.gen(function* () {
        const found = yield* places(actor?.user_id ?? created_by.user_id, now)
        const place = describe(language, found, scope)
        const id = creatingClient({ created_by })
        if (id === null) return { place, creator: language.t("by_owner") }
        const name = yield* client(id, now)
        return { place, creator: name === null ? language.t("by_deleted") : language.t("by_client", { client: name }) }
      }),
    /** Returns the name of the client that created an integration; null if the client no longer exists. */
    clientOf: (integration: Integration, now: number): Effect.Effect<string | null> => {
      const id = creatingClient(integration)
      return id === null ? Effect.succeed(null) : client(id, now)
    }
  }
})
export type LabelMaker = Effect.Success<typeof makeLabels>

/** Returns the host in a URL. */
export const hostOf = (url: string): string => URL.parse(url)?.host ?? url

/** Returns a receiver as host and path, without the query, which may contain a secret. */
const withPath = (url: string): string => {
  const parsed = URL.parse(url)
  return parsed === null ? url : `${parsed.host}${parsed.pathname === "/" ? "" : parsed.pathname}`
}

/** Returns a receiver's host, with the path if another integration in the list has the same host. */
export const receiverOf = ({ configuration: { url } }: Integration, among: Iterable<string> = []): string => {
  const host = hostOf(url)
  let same = 0
  for (const other of among) if (hostOf(other) === host) same += 1
  return same > 1 ? withPath(url) : host
}

/** Returns the name of an integration, or else its receiver. */
export const nameOf = (integration: Integration, among: Iterable<string> = []): string =>
  integration.name ?? receiverOf(integration, among)
