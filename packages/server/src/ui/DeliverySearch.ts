/**
 * Searches deliveries by properties without an index: the receiver, the resource type, the data and the time. A search
 * reads a limited number of rows and returns the position at which to continue.
 */
import type {
  DeliveryFilter,
  EventExcerpt,
  IntegrationId,
  ListedDelivery,
  ResourceType,
  StoreError,
  IntegrationWithHealth,
  UnreadableIntegration
} from "@doorhook/core"
import { Deliveries, DeliveryId, DeliveryStore, inTurn, isUnreadable, OperatorIntegrations } from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import type { LabelMaker } from "./Labels.ts"
import { hostOf, nameOf } from "./Labels.ts"

/** Maximum number of rows to read per search, and per query. */
const mostRead = 5_000
const chunk = 250

/** Maximum number of deliveries to count. */
const mostCounted = 10_000

/**
 * Limits for searches by receiver. At most `mostSurveyed` integrations are compared, `surveyChunk` at a time.
 * If at most `mostIntegrations` of them match, a search reads the deliveries of each. If more match, it reads and
 * filters all deliveries.
 */
const mostIntegrations = 20
const mostSurveyed = 10_000
const surveyChunk = 1_000

/** Filters and position of a search, which returns the newest deliveries first. Absent members do not filter. */
export interface Search {
  readonly states?: DeliveryFilter["states"]
  readonly integrations?: ReadonlyArray<IntegrationId>
  readonly resource_type?: ResourceType
  /** An id or a text in the event's data. Only the beginning of long data is searched. */
  readonly text?: string
  /** Creation time in milliseconds since the epoch: at or after `since`, and before `until`. */
  readonly since?: number
  readonly until?: number
  readonly after?: DeliveryId
  readonly limit: number
}

/** A delivery with the beginning of its event's data; null if the event is missing. */
export interface FoundOne extends ListedDelivery {
  readonly excerpt: EventExcerpt | null
}

/** The result of a search. */
export interface Found {
  readonly items: ReadonlyArray<FoundOne>
  /** The cursor at which to continue; null at the end. */
  readonly next: DeliveryId | null
  /** Creation time of the last row read, if the search stopped at its limit of rows; otherwise null. */
  readonly searched_to: number | null
}

const unescaped = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/**
 * Returns a function that says whether JSON text contains a text. A number matches only whole, so that 471 does not find
 * 4711.
 */
const matcherOf = (text: string): ((data: string) => boolean) => {
  const part = JSON.stringify(text.toLowerCase()).slice(1, -1)
  const whole = /^\d+$/.test(text) ? new RegExp(`(?<![\\d.])${text}(?![\\d.])`) : null
  return (data) => {
    // Hosts may have escaped characters that need no escape.
    const plain = Option.match(unescaped(data), { onNone: () => data, onSome: (value) => JSON.stringify(value) })
    return whole === null ? plain.toLowerCase().includes(part) : whole.test(data)
  }
}

export const makeSearch = Effect.fnUntraced(function* (labels: LabelMaker) {
  const store = yield* DeliveryStore
  const deliveries = yield* Deliveries
  const integrations = yield* OperatorIntegrations

  /**
   * Finds the id below which all deliveries were created before a time. Ids grow with time, so this is a binary search.
   */
  const placeOf = Effect.fnUntraced(function* (time: number) {
    const before = (id: number) =>
      Effect.map(deliveries.list({ order: "newest", limit: 1, after: DeliveryId.make(id) }), ([found]) => found ?? null)
    const [newest] = yield* deliveries.list({ order: "newest", limit: 1 })
    let [low, high] = [1, (newest?.id ?? 0) + 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const found = yield* before(middle)
      if (found === null || found.created_at < time) low = middle
      else high = found.id
    }
    return DeliveryId.make(low)
  })

  /** Reads the next deliveries, with the filters that the store supports. */
  const read = ({ integrations: of, states }: Search, after: DeliveryId | undefined, limit: number) => {
    const filter = {
      order: "newest",
      limit,
      ...(states !== undefined && { states }),
      ...(after !== undefined && { after })
    } as const
    if (of === undefined || of.length > mostIntegrations) return deliveries.list(filter)
    return Effect.map(
      Effect.forEach(of, (integration_id) => deliveries.list({ ...filter, integration_id })),
      (lists) =>
        lists
          .flat()
          .toSorted((a, b) => b.id - a.id)
          .slice(0, limit)
    )
  }

  /** Adds the beginning of the events' data to deliveries. */
  const withExcerpts = (rows: ReadonlyArray<ListedDelivery>): Effect.Effect<ReadonlyArray<FoundOne>, StoreError> =>
    Effect.map(store.excerpts(rows.map(({ event_id }) => event_id)), (excerpts) => {
      const byId = new Map(excerpts.map((excerpt) => [excerpt.id, excerpt]))
      return rows.map((row) => ({ ...row, excerpt: byId.get(row.event_id) ?? null }))
    })

  const find = Effect.fnUntraced(function* (search: Search): Effect.fn.Return<Found, StoreError> {
    const { integrations: of, limit, resource_type, since, text, until } = search
    const wanted = of === undefined ? null : new Set(of)
    const isWanted = (one: ListedDelivery): boolean =>
      (wanted === null || wanted.has(one.integration_id)) &&
      (resource_type === undefined || one.resource_type === resource_type) &&
      (until === undefined || one.created_at < until)
    const contains = text === undefined ? () => true : matcherOf(text)
    const items: Array<FoundOne> = []
    const start = until === undefined ? undefined : yield* placeOf(until)
    let after = search.after === undefined || (start !== undefined && start < search.after) ? start : search.after
    const isSparse = resource_type !== undefined || text !== undefined || (of?.length ?? 0) > mostIntegrations
    const size = isSparse ? chunk : limit + 1
    for (let seen = 0; seen < mostRead;) {
      const rows = yield* inTurn(read(search, after, size))
      const recent = since === undefined ? rows : rows.filter(({ created_at }) => created_at >= since)
      for (const row of yield* withExcerpts(recent.filter(isWanted))) {
        if (!contains(row.excerpt?.data ?? "")) continue
        if (items.length === limit) return { items, next: items.at(-1)?.id ?? null, searched_to: null }
        items.push(row)
      }
      if (recent.length < size) return { items, next: null, searched_to: null }
      seen += rows.length
      const last = rows.at(-1)
      after = last?.id
      if (seen >= mostRead && last !== undefined) return { items, next: last.id, searched_to: last.created_at }
    }
    return { items, next: null, searched_to: null }
  })

  /**
   * Finds the integrations whose name, host or client contains a text. `compared` is the number of compared integrations
   * if there are more, otherwise null.
   */
  const integrationsLike = Effect.fnUntraced(function* (text: string, now: number) {
    const found: Array<IntegrationWithHealth> = []
    let after: IntegrationId | 0 = 0
    for (let looked = 0; looked < mostSurveyed; looked += surveyChunk) {
      const page: ReadonlyArray<IntegrationWithHealth | UnreadableIntegration> = yield* inTurn(
        integrations.list({ after, limit: surveyChunk })
      )
      for (const one of page) {
        after = isUnreadable(one) ? one.id : one.integration.id
        if (!isUnreadable(one) && (yield* isLike(one, text, now))) found.push(one)
      }
      if (page.length < surveyChunk) return { found, compared: null }
    }
    const more = yield* integrations.list({ after, limit: 1 })
    return { found, compared: more.length === 0 ? null : mostSurveyed }
  })

  /** Whether the name, the host or the client of an integration contains a text. */
  const isLike = ({ integration }: IntegrationWithHealth, text: string, now: number): Effect.Effect<boolean> =>
    Effect.map(labels.clientOf(integration, now), (client) =>
      `${nameOf(integration)}\n${hostOf(integration.configuration.url)}\n${client ?? ""}`
        .toLowerCase()
        .includes(text.toLowerCase())
    )

  /**
   * Counts the deliveries of an integration in some states that were created at a time or later, up to `mostCounted`.
   * Counts those apart whose event is late.
   */
  const count = Effect.fnUntraced(function* (
    integration_id: IntegrationId,
    states: NonNullable<DeliveryFilter["states"]>,
    since: number,
    isLate: (delivery: ListedDelivery) => boolean
  ) {
    let [n, late] = [0, 0]
    for (let after: DeliveryId | undefined; ;) {
      const rows: ReadonlyArray<ListedDelivery> = yield* inTurn(
        deliveries.list({
          integration_id,
          states,
          order: "newest",
          limit: chunk,
          ...(after !== undefined && { after })
        })
      )
      const recent = rows.filter(({ created_at }) => created_at >= since)
      const lateOnes = recent.filter(isLate).length
      late += lateOnes
      n += recent.length - lateOnes
      after = rows.at(-1)?.id
      if (recent.length < chunk || after === undefined) return { n, late, isCapped: false }
      if (n + late >= mostCounted) return { n, late, isCapped: true }
    }
  })

  return { count, find, integrationsLike, isLike, placeOf }
})
export type Searcher = Effect.Success<ReturnType<typeof makeSearch>>
