/**
 * Feeds: the deliveries of an integration, and the events of a building or tenant, by cursor.
 */
import {
  bodyOf,
  CursorBeyondEnd,
  Feeds,
  formatCursor,
  formatDeliveryId,
  isoOf,
  parseCursor,
  parseIso,
  ResourceTypes
} from "@doorhook/core"
import type {
  Feed,
  FeedCursor,
  FeedEntry,
  FeedGap,
  FeedPage,
  FeedStart,
  ResourceType,
  ResourceTypeTable
} from "@doorhook/core"
import { Effect, Exit, Option } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { failure, parameterFailure } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Params } from "../http/Route.ts"
import type { QueryParameters, Read } from "../http/Query.ts"
import { all } from "../http/Query.ts"
import type { ApiEndpoint } from "./ApiEndpoint.ts"
import { inOneLine } from "./FeedStreams.ts"
import type { EndReason, StreamFormat } from "./FeedStreams.ts"
import { listDocument, readPart, readSize, sizeParameters } from "./ListPages.ts"
import type { ListPart, PageSize } from "./ListPages.ts"
import { collectionUrl, scopePath, scopeKinds, scopeIn, scopeUrl, targetIn } from "./ScopePaths.ts"
import type { ScopeKind } from "./ScopePaths.ts"

// ---- Parameters

const feedParameters = ["after", "since", "resource_type", "wait", ...sizeParameters] as const
type FeedQuery = QueryParameters<(typeof feedParameters)[number]>

/** Reads where the page starts. */
const readStart = (feed: Feed, { after, since }: FeedQuery): Read<FeedStart | null> => {
  if (after !== undefined && since !== undefined)
    return Exit.fail(parameterFailure("since", "`since` is for the first page; send it without `after`."))
  if (since !== undefined) return Exit.map(readSince(since), (time) => ({ since: time }))
  if (after === undefined) return Exit.succeed(null)
  return Option.match(parseCursor(feed, after), {
    onNone: () =>
      Exit.fail(parameterFailure("after", "`after` must be the `meta.cursor` of an earlier answer of this address.")),
    onSome: (cursor) => Exit.succeed({ after: cursor })
  })
}

/** Reads a time. Accepts a space for a `+` that was not percent-encoded. */
const readSince = (text: string): Read<number> =>
  Option.match(parseIso(text.replace(/ (?=\d{2}:\d{2}$)/, "+")), {
    onNone: () =>
      Exit.fail(
        parameterFailure(
          "since",
          "`since` must be a date, or a time with its offset, in ISO 8601, like 2026-03-02T00:00:00Z."
        )
      ),
    onSome: (time) => Exit.succeed(time)
  })

const longestWait = 30

/** Reads how long to wait for the first item, in milliseconds. */
const readWait = ({ wait = "0" }: FeedQuery): Read<number> =>
  /^\d{1,2}$/.test(wait) && Number(wait) <= longestWait
    ? Exit.succeed(Number(wait) * 1_000)
    : Exit.fail(parameterFailure("wait", `\`wait\` must be a whole number of seconds from 0 to ${longestWait}.`))

/** Reads the wanted types; undefined for all. */
const readTypes = (
  { resource_type }: FeedQuery,
  declared: ResourceTypeTable
): Read<ReadonlyArray<ResourceType> | undefined> => {
  if (resource_type === undefined) return Exit.succeed(undefined)
  const names = [...declared.keys()]
  const given = [...new Set(resource_type.split(","))]
  const unknown = given.find((name) => !names.some((type) => type === name))
  if (unknown === undefined) return Exit.succeed(names.filter((type) => given.includes(type)))
  return Exit.fail(
    failure(422, {
      code: "unknown_resource_type",
      title: "Unknown resource type",
      detail: `${JSON.stringify(unknown)} is not a resource type of this service: use ${names.join(", ")}.`,
      source: { parameter: "resource_type" }
    })
  )
}

// ---- Documents

/** Formats an item as JSON, with the event as it is sent. */
export const itemText = ({ delivery, event }: Pick<FeedEntry, "delivery" | "event">): string => {
  const created_at = isoOf(event.created_at)
  const [type, id, attributes] =
    delivery === null
      ? (["events", event.id, { created_at }] as const)
      : ([
          "deliveries",
          formatDeliveryId(delivery.id),
          { event_id: event.id, state: delivery.state, created_at }
        ] as const)
  // Appends the members of the webhook body to the attributes.
  return `{"type":"${type}","id":"${id}","attributes":${JSON.stringify(attributes).slice(0, -1)},${bodyOf(event).slice(1)}}`
}

const gapText = ({ from, to }: FeedGap) => ({ from: isoOf(from), to: isoOf(to) })

/** A requested page. */
interface PageRequest {
  /** The URL of the feed. */
  readonly url: string
  readonly size: PageSize
  readonly types: ReadonlyArray<ResourceType> | undefined
}

/** Returns the members of a page's document beside `data`. */
const pageMembers = ({ size, types = [], url }: PageRequest, cursor: string, more: boolean, gap: FeedGap | null) => {
  const query = new URLSearchParams({ after: cursor })
  for (const type of types) query.append("resource_type", type)
  query.append(size.name, String(size.size))
  return {
    meta: { cursor, ...(gap !== null && { gap: gapText(gap) }) },
    links: { next: more ? `${url}?${query.toString()}` : null }
  }
}

// ---- Routes

interface FeedRoute {
  readonly operation: string
  readonly path: `/v4/${string}`
  readonly feedIn: (params: Params) => Read<Feed>
  readonly urlOf: (publicUrl: string, feed: Feed) => string
}

/** The two feeds of a kind of owner. */
const routesOf = (owner: ScopeKind): ReadonlyArray<FeedRoute> => [
  {
    operation: `${owner.segment.slice(0, -1)} integrations.deliveries`,
    path: `${scopePath(owner)}/integrations/:id/deliveries`,
    feedIn: (params) => Exit.map(targetIn(owner, params), ({ id, scope }) => ({ scope, integration: id })),
    urlOf: (publicUrl, { integration, scope }) => `${collectionUrl(publicUrl, scope)}/${integration}/deliveries`
  },
  {
    operation: `${owner.segment}.feed`,
    path: `${scopePath(owner)}/events`,
    feedIn: (params) => Exit.map(scopeIn(owner, params), (scope) => ({ scope, integration: null })),
    urlOf: (publicUrl, { scope }) => `${scopeUrl(publicUrl, scope)}/events`
  }
]

/** Reads where a stream continues; null without the header. It wins over the parameters of the address. */
const readLastEventId = (feed: Feed, text = ""): Read<FeedStart | null> =>
  text === ""
    ? Exit.succeed(null)
    : Option.match(parseCursor(feed, text), {
        onNone: () =>
          Exit.fail(
            failure(400, {
              code: "invalid_header",
              title: "Invalid header",
              detail: "`Last-Event-ID` must be the `id` of an earlier event of this address.",
              source: { header: "Last-Event-ID" }
            })
          ),
        onSome: (cursor) => Exit.succeed({ after: cursor })
      })

/** A class, because each stream has its own, and closures would take more memory. */
class FeedFormat implements StreamFormat {
  readonly #feed: Feed

  constructor(feed: Feed) {
    this.#feed = feed
  }

  get key(): string {
    return formatCursor(this.#feed, { position: 0, at: 0, reported: 0 })
  }

  begin(cursor: FeedCursor, gap: FeedGap | null): string {
    if (gap === null) return this.heartbeat()
    return `id: ${formatCursor(this.#feed, cursor)}\nevent: gap\ndata: ${JSON.stringify(gapText(gap))}\n\n`
  }

  line(cursor: FeedCursor, item: FeedEntry): string {
    const event = item.delivery === null ? "event" : "delivery"
    return `id: ${formatCursor(this.#feed, cursor)}\nevent: ${event}\ndata: ${inOneLine(itemText(item))}\n\n`
  }

  heartbeat(): string {
    return ":\n\n"
  }

  end(reason: EndReason): string {
    return `event: end\ndata: {"reason":"${reason}"}\n\n`
  }
}

/** Says in which parameter a cursor beyond the end was given. */
const refuseCursor = <A, E>(read: Effect.Effect<A, E | CursorBeyondEnd>) =>
  Effect.catchIf(
    read,
    (error): error is CursorBeyondEnd => error instanceof CursorBeyondEnd,
    ({ message }) => Exit.fail(parameterFailure("after", message))
  )

const wantsOf = (types: ReadonlyArray<ResourceType> | undefined) =>
  types === undefined ? undefined : ({ resource_type }: FeedEntry["event"]) => types.includes(resource_type)

export const makeFeedRoutes = Effect.fnUntraced(function* ({ operation, streams }: ApiEndpoint) {
  const feeds = yield* Feeds
  const publicUrl = yield* PublicUrl
  const declared = yield* ResourceTypes

  return scopeKinds.flatMap(routesOf).map(({ feedIn, operation: name, path, urlOf }) =>
    operation({
      operation: name,
      method: "GET",
      path,
      query: feedParameters,
      repeatable: ["resource_type"],
      run: ({ caller, params, query, x }) =>
        Effect.gen(function* () {
          const feed = yield* feedIn(params)
          const { size, start, types, wait } = yield* all({
            size: readSize(query),
            start: readStart(feed, query),
            types: readTypes(query, declared),
            wait: readWait(query)
          })
          const ofTypes = types === undefined ? {} : { types }
          let last: Pick<FeedPage, "cursor" | "more"> | null = null
          const partOf = (page: FeedPage, limit: number): ListPart => {
            last = page
            const left = limit - page.items.length
            const isOver = !page.more || left === 0 || page.items.length === 0
            return { items: page.items.map(itemText), rest: isOver ? null : restAfter(page.cursor, left) }
          }
          const restAfter = (cursor: FeedCursor, limit: number): Effect.Effect<ListPart, KnownError> =>
            Effect.map(feeds.next(caller, feed, cursor, { limit, ...ofTypes }), (page) => partOf(page, limit))
          const first = feeds.read(caller, feed, start ?? "first", { limit: size.size, wait, ...ofTypes })
          const { gap, part } = yield* readPart(
            x,
            Effect.map(refuseCursor(first), (page) => ({ gap: page.gap, part: partOf(page, size.size) }))
          )
          const members = () => {
            const { cursor, more } = last ?? { cursor: { position: 0, at: 0, reported: 0 }, more: false }
            const request = { url: urlOf(publicUrl.url, feed), size, types }
            return pageMembers(request, formatCursor(feed, cursor), more, gap)
          }
          return { status: 200, document: listDocument(part, members) }
        }),
      stream: ({ again, caller, params, query, x }) =>
        Effect.gen(function* () {
          const feed = yield* feedIn(params)
          const { last, start, types } = yield* all({
            last: readLastEventId(feed, x.header("last-event-id")),
            size: readSize(query),
            start: readStart(feed, query),
            types: readTypes(query, declared),
            wait: readWait(query)
          })
          yield* feeds.authorize(caller, feed)
          const { cursor, gap } = yield* refuseCursor(feeds.locate(feed, last ?? start ?? "next", types))
          return yield* streams.open({
            caller,
            again,
            feed,
            cursor,
            gap,
            wants: wantsOf(types),
            format: new FeedFormat(feed)
          })
        })
    })
  )
})
