/**
 * Looks up, lists and purges events and deliveries.
 */
import type {
  DeliveryFilter,
  DeliveryStore,
  DeliverySummary,
  Event,
  EventFilter,
  EventId,
  EventPage,
  EventPart,
  FeedEvent,
  FeedItem,
  FeedPart,
  FeedPlace,
  FeedRequest,
  FigureFilter,
  FoundDelivery,
  IntegrationId,
  LastAttempt,
  ListedDelivery,
  NewScopes,
  NotificationFilter,
  Purged,
  PurgeRequest,
  Scope
} from "@doorhook/core"
import { DeliveryId, excerptChars, noDeliveries, StoreRules } from "@doorhook/core"
import { Effect } from "effect"
import type { Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { EventRow } from "../DeliveryRows.ts"
import {
  decodeAttempts,
  decodeDeliveries,
  decodeEvents,
  decodeExcerpts,
  decodeFigures,
  decodeLastAttempts,
  decodeNewEvents,
  scanOf
} from "../DeliveryRows.ts"
import { fromRows as notificationsFromRows } from "../NotificationRows.ts"
import { recordStatements } from "../statements/RecordStatements.ts"
import { deliveryWatermark, eventWatermark, notificationWatermark } from "./Watermarks.ts"
import type { Sql, StateCount, Tally } from "./DeliveryTables.ts"
import { count, cancelLocked, idsOf, writeTally } from "./DeliveryTables.ts"
import { fromStored } from "./NulText.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import * as Lists from "./statements/ListStatements.ts"
import type { TallyName } from "./statements/TallyStatements.ts"
import { deliveryCounts } from "./statements/TallyStatements.ts"

const records = recordStatements(postgres)

interface StoredAttempt {
  readonly response_excerpt: string | null
  readonly detail: string | null
}

/** The position of an event in a scope's list. */
interface Place {
  readonly created_at: number
  readonly event_seq: number
}

/** An event of a page, with its position. `bytes` is the size of the data up to and including this event. */
interface PlacedRow extends EventRow {
  readonly listed_at: number
  readonly event_seq: number
  readonly bytes: number
}

/**
 * An old event that may be purged. The ids of its deliveries, if any, are between `first_delivery` and `last_delivery`.
 * Deliveries of other events may have ids in the same range.
 */
interface OldEvent {
  readonly seq: number
  readonly id: EventId
  readonly created_at: number
  readonly first_delivery: number | null
  readonly last_delivery: number | null
}

export const find = Effect.fnUntraced(function* (sql: Sql, id: DeliveryId) {
  const [delivery] = yield* decodeDeliveries(yield* sql.unsafe(Lists.deliveryById, [id]))
  if (delivery === undefined) return null
  const [event] = yield* decodeEvents(yield* sql.unsafe<EventRow>(Lists.eventById, [delivery.event_id]))
  const attempts = yield* sql.unsafe<StoredAttempt>(Lists.attemptsOf, [id])
  return {
    delivery,
    event: event ?? null,
    attempts: yield* decodeAttempts(
      attempts.map((row) => ({
        ...row,
        response_excerpt: fromStored(row.response_excerpt),
        detail: fromStored(row.detail)
      }))
    )
  } satisfies FoundDelivery
})

export const findEvent = Effect.fnUntraced(function* (sql: Sql, id: EventId) {
  const [event] = yield* decodeEvents(yield* sql.unsafe<EventRow>(Lists.eventById, [id]))
  return event ?? null
})

export const list = Effect.fnUntraced(function* (sql: Sql, filter: DeliveryFilter) {
  const { params, text } = Lists.list(filter)
  const deliveries = yield* decodeDeliveries(yield* sql.unsafe(text, params))
  if (deliveries.length === 0) return []
  const ids = int8s(deliveries.map(({ id }) => id))
  const rows = yield* sql.unsafe<{ readonly detail: string | null }>(Lists.lastAttempts, [ids])
  const attempts = yield* decodeLastAttempts(rows.map((row) => ({ ...row, detail: fromStored(row.detail) })))
  const last = new Map<DeliveryId, LastAttempt>(attempts.map(({ delivery_id, ...attempt }) => [delivery_id, attempt]))
  const types = yield* sql.unsafe<Pick<Event, "id" | "resource_type">>(Lists.typesById, [
    texts([...new Set(deliveries.map(({ event_id }) => event_id))])
  ])
  const typeOf = new Map(types.map(({ id, resource_type }) => [id, resource_type]))
  return deliveries.map((delivery): ListedDelivery => ({
    ...delivery,
    resource_type: typeOf.get(delivery.event_id) ?? null,
    last_attempt: last.get(delivery.id) ?? null
  }))
})

export const excerpts = Effect.fnUntraced(function* (sql: Sql, ids: ReadonlyArray<EventId>) {
  return yield* decodeExcerpts(yield* sql.unsafe(Lists.excerptsById, [texts([...new Set(ids)]), excerptChars]))
})

export const figures = Effect.fnUntraced(function* (sql: Sql, { before, from, integration_id, step }: FigureFilter) {
  const of = integration_id === undefined ? [] : [integration_id]
  return yield* decodeFigures(yield* sql.unsafe(Lists.figures(of.length > 0), [from, before, step, ...of]))
})

/** An event read by its key. `bytes` is the size of the data up to and including this event. */
interface KeyedRow extends EventRow {
  readonly id: EventId
  readonly seq: number
  readonly bytes: number
}

/**
 * Makes part of a feed of its examined items, all in order. `more`: whether items follow the examined ones. Reads the
 * events of the matching items up to the request's limits.
 */
const feedPart = Effect.fnUntraced(function* <Examined, Item>(
  { after, limit, maxBytes = Number.MAX_SAFE_INTEGER }: FeedRequest,
  of: {
    readonly examined: ReadonlyArray<Examined>
    readonly more: boolean
    readonly matching: ReadonlyArray<Examined>
    readonly positionOf: (item: Examined) => number
    readonly readEvents: (
      items: ReadonlyArray<Examined>,
      maxBytes: number
    ) => Effect.Effect<ReadonlyArray<KeyedRow>, SqlError.SqlError>
    readonly toItem: (item: Examined, eventOf: (key: EventId | number) => Event | undefined) => Item | undefined
  }
): Effect.fn.Return<FeedPart<Item>, SqlError.SqlError | Schema.SchemaError> {
  const chosen = of.matching.slice(0, limit)
  const rows = chosen.length === 0 ? [] : yield* of.readEvents(chosen, maxBytes)
  const events = yield* decodeEvents(rows)
  const found = new Map<EventId | number, Event>()
  rows.forEach(({ id, seq }, at) => {
    const event = events[at]
    if (event !== undefined) found.set(id, event).set(seq, event)
  })
  // A missing event was just purged, or is beyond the size.
  const items = chosen.flatMap((each) => {
    const item = of.toItem(each, (key) => found.get(key))
    return item === undefined ? [] : [{ each, item }]
  })
  const last = items.at(-1)?.each
  const isCut = last !== undefined && (rows.at(-1)?.bytes ?? 0) >= maxBytes && last !== of.examined.at(-1)
  const isFull = chosen.length < of.matching.length
  const end = isCut ? last : isFull ? chosen.at(-1) : of.examined.at(-1)
  return {
    items: items.map(({ item }) => item),
    upTo: end === undefined ? after : of.positionOf(end),
    more: isCut || isFull || of.more
  }
})

export const feed = Effect.fnUntraced(function* (
  sql: Sql,
  request: FeedRequest & { readonly integration_id: IntegrationId }
) {
  const { after, integration_id, types } = request
  const end = yield* deliveryWatermark(sql)
  const limit = scanOf(request)
  const { params, text } = Lists.list({ integration_id, limit, ...(after > 0 && { after: DeliveryId.make(after) }) })
  const rows = yield* sql.unsafe<{ readonly id: number }>(text, params)
  const examined = yield* decodeDeliveries(rows.filter(({ id }) => id <= end))
  let matching = examined
  if (types !== undefined) {
    const ids = texts(new Set(examined.map(({ event_id }) => event_id)))
    const found = yield* sql.unsafe<Pick<Event, "id" | "resource_type">>(Lists.typesById, [ids])
    const wanted = new Set(found.filter(({ resource_type }) => types.includes(resource_type)).map(({ id }) => id))
    matching = examined.filter(({ event_id }) => wanted.has(event_id))
  }
  return yield* feedPart(request, {
    examined,
    more: examined.length === limit,
    matching,
    positionOf: ({ id }) => id,
    readEvents: (items, maxBytes) =>
      sql.unsafe<KeyedRow>(Lists.eventsById, [texts(items.map(({ event_id }) => event_id)), maxBytes]),
    toItem: (delivery, eventOf): FeedItem | undefined => {
      const event = eventOf(delivery.event_id)
      return event === undefined ? undefined : { delivery, event }
    }
  })
})

/** The feed of a building or tenant, as in `Lists.feedOf`. The service has none. */
const feedOf = ({ id, type }: { readonly id: number; readonly type: Scope["type"] }): number =>
  type === "building" ? id : type === "tenant" ? -id : 0

export const eventFeed = Effect.fnUntraced(function* (sql: Sql, request: FeedRequest & { readonly scope: Scope }) {
  const { after, scope, types } = request
  const end = yield* eventWatermark(sql)
  const limit = scanOf(request)
  const examined = yield* sql.unsafe<{ readonly event_seq: number; readonly resource_type: Event["resource_type"] }>(
    Lists.eventFeed,
    [feedOf(scope), after, end, limit]
  )
  return yield* feedPart(request, {
    examined,
    more: examined.length === limit,
    matching: examined.filter(({ resource_type }) => types?.includes(resource_type) !== false),
    positionOf: ({ event_seq }) => event_seq,
    readEvents: (items, maxBytes) =>
      sql.unsafe<KeyedRow>(Lists.eventsBySeq, [int8s(items.map(({ event_seq }) => event_seq)), maxBytes]),
    toItem: ({ event_seq: seq }, eventOf): FeedEvent | undefined => {
      const event = eventOf(seq)
      return event === undefined ? undefined : { seq, event }
    }
  })
})

export const feedPlace = Effect.fnUntraced(function* (
  sql: Sql,
  { after, since, source }: Parameters<DeliveryStore["Service"]["feedPlace"]>[0]
) {
  const rows =
    source.type === "integration"
      ? sql.unsafe<FeedPlace>(Lists.deliveryPlace, [source.id, after, since])
      : sql.unsafe<FeedPlace>(Lists.eventPlace, [feedOf(source), after, since])
  return (yield* rows)[0] ?? null
})

export const lastPurged = Effect.fnUntraced(function* (
  sql: Sql,
  { source, types }: Parameters<DeliveryStore["Service"]["lastPurged"]>[0]
) {
  const ofTypes = types === undefined ? [] : [texts(types)]
  const statement = records.lastPurged(types !== undefined)
  const [row] = yield* sql.unsafe<{ readonly [Name in keyof FeedPlace]: number | null }>(statement, [
    source.type,
    source.id,
    ...ofTypes
  ])
  const { created_at = null, position = null } = row ?? {}
  return position === null || created_at === null ? null : { position, created_at }
})

export const newScopes = Effect.fnUntraced(function* (
  sql: Sql,
  { after, limit }: Parameters<DeliveryStore["Service"]["newScopes"]>[0]
) {
  const end = yield* eventWatermark(sql)
  const rows =
    end <= after
      ? []
      : yield* decodeNewEvents(yield* sql.unsafe<Pick<EventRow, "tenant_ids">>(records.newScopes, [after, end, limit]))
  return {
    scopes: StoreRules.scopesOf(rows),
    upTo: rows.length < limit ? Math.max(after, end) : (rows.at(-1)?.seq ?? after),
    more: rows.length === limit
  } satisfies NewScopes
})

/** Reads events from a position on, given as the parameters of `readable`. */
const partOf = Effect.fnUntraced(function* (
  sql: Sql,
  place: ReadonlyArray<unknown>,
  limit: number,
  most = Number.MAX_SAFE_INTEGER
) {
  const rows = yield* sql.unsafe<PlacedRow>(Lists.eventsOf, [...place, limit, most])
  const last = rows.length < limit ? rows.at(-1) : undefined
  return {
    items: yield* decodeEvents(rows),
    next: last !== undefined && last.bytes >= most ? { created_at: last.listed_at, seq: last.event_seq - 1 } : null
  } satisfies EventPart
})

export const eventsFrom = (
  sql: Sql,
  { from, limit, maxBytes, resource_type, scope, since }: Parameters<DeliveryStore["Service"]["eventsFrom"]>[0]
) => {
  const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER]
  return partOf(sql, [...of, from.created_at, from.seq], limit, maxBytes)
}

// The three statements don't share a snapshot, so events stored or purged between the statements may change the count.
export const events = Effect.fnUntraced(function* (
  sql: Sql,
  { countUpTo, limit, maxBytes, offset, resource_type, scope, since, until }: EventFilter
) {
  const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER]
  const head = [...of, until ?? Number.MAX_SAFE_INTEGER, 0]
  const countFrom = (place: ReadonlyArray<unknown>, most: number) =>
    Effect.map(
      sql.unsafe<{ readonly count: number | null }>(records.countOf, [...place, most, ...place]),
      ([row]) => row?.count ?? null
    )
  const page = (part: EventPart, total: number | null): EventPage => ({
    ...part,
    total: total ?? countUpTo,
    isCapped: total === null
  })
  if (offset === 0) {
    const part = yield* partOf(sql, head, limit, maxBytes)
    return page(part, yield* countFrom(head, countUpTo))
  }
  const [first] = yield* sql.unsafe<Place>(records.eventBehind, [...head, offset])
  if (first === undefined) return page({ items: [], next: null }, yield* countFrom(head, offset))
  const place = [...of, first.created_at, first.event_seq]
  const part = yield* partOf(sql, place, limit, maxBytes)
  const rest = yield* countFrom(place, countUpTo - offset)
  return page(part, rest === null ? null : offset + rest)
})

export const notifications = Effect.fnUntraced(function* (sql: Sql, filter: NotificationFilter) {
  const { after, integration_id, limit, order } = filter
  const end = yield* notificationWatermark(sql)
  const from = order === "newest" ? Math.min(after ?? Number.MAX_SAFE_INTEGER, end + 1) : (after ?? 0)
  const rows = yield* sql.unsafe<{ readonly id: number }>(
    records.notifications(filter),
    integration_id === undefined ? [from, limit] : [integration_id, from, limit]
  )
  return yield* notificationsFromRows(rows.filter(({ id }) => id <= end))
})

/** Returns all ids between the first and the last delivery of each event. Some may be deliveries of other events. */
const deliveriesOf = (old: ReadonlyArray<OldEvent>): ReadonlySet<number> => {
  const ids = new Set<number>()
  for (const { first_delivery: first, last_delivery: last } of old) {
    if (first === null || last === null) continue
    for (let id = first; id <= last; id++) ids.add(id)
  }
  return ids
}

/** Returns the events with a delivery that is active or has just ended. Locks the ended deliveries of all events. */
const withActive = Effect.fnUntraced(function* (sql: Sql, old: ReadonlyArray<OldEvent>) {
  const params = [int8s(deliveriesOf(old)), texts(old.map(({ id }) => id))]
  const kept = yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Lists.lockEndedOf, params))
  const rows = yield* sql.unsafe<{ readonly event_id: EventId }>(Lists.withUnkept, [...params, int8s(kept)])
  return new Set(rows.map(({ event_id }) => event_id))
})

/** Deletes events, their deliveries and attempts. Returns the deleted deliveries with their states. */
const deleteEvents = Effect.fnUntraced(function* (sql: Sql, old: ReadonlyArray<OldEvent>) {
  const params = [int8s(deliveriesOf(old)), texts(old.map(({ id }) => id))]
  const seqs = int8s(old.map(({ seq }) => seq))
  yield* sql.unsafe(Lists.notePurgedDeliveries, params)
  yield* sql.unsafe(records.notePurgedEvents, [seqs, seqs])
  const deleted = yield* sql.unsafe<{ readonly id: DeliveryId; readonly state: StateCount["state"] }>(
    Lists.deleteEndedOf,
    params
  )
  yield* sql.unsafe(Lists.deleteAttempts, [int8s(deleted.map(({ id }) => id))])
  yield* sql.unsafe(Lists.deleteOfScopes, [seqs])
  yield* sql.unsafe(records.deleteEvents, [seqs])
  return deleted
})

/** Deletes old events whose deliveries have all ended, and these deliveries. Runs in a transaction. */
export const purge = Effect.fnUntraced(function* (sql: Sql, request: PurgeRequest) {
  const { after, before, limit, now } = request
  yield* sql.unsafe(records.deleteNotifications, [now, limit, before])
  // Reads one more than the limit, to learn whether there are further events.
  const found = yield* sql.unsafe<OldEvent>(records.oldEvents, [after, limit + 1])
  const { next, old } = StoreRules.purgePage(found, request)
  if (old.length === 0) return { events: 0, deliveries: 0, next } satisfies Purged
  // Deliveries that a cancellation covers count as ended.
  const params = [int8s(deliveriesOf(old)), texts(old.map(({ id }) => id))]
  const ended = yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Lists.cancelledOf, params))
  if (ended.length > 0) yield* cancelLocked(sql, ended)
  const active = yield* withActive(sql, old)
  const done = old.filter(({ id }) => !active.has(id))
  if (done.length === 0) return { events: 0, deliveries: 0, next } satisfies Purged
  const deleted = yield* deleteEvents(sql, done)
  const tally: Tally = new Map([["events", -done.length]])
  for (const { state } of deleted) count(tally, state, -1)
  yield* writeTally(sql, tally)
  return { events: done.length, deliveries: deleted.length, next } satisfies Purged
})

/** Reads all counts. Deliveries that a cancellation covers count as cancelled. */
export const summary = Effect.fnUntraced(function* (sql: Sql, due: number | null, now: number) {
  const [sums] = yield* sql.unsafe<Record<TallyName, number>>(deliveryCounts)
  const { events: stored, ...states } = sums ?? { events: 0, ...noDeliveries }
  return { events: stored, states, oldest_due_at: due !== null && due <= now ? due : null } satisfies DeliverySummary
})
