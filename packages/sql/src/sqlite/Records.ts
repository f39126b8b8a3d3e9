/**
 * Looks up, lists, counts and purges events, deliveries and notifications.
 */
import type {
  DeliveryFilter,
  DeliveryId,
  DeliveryStore,
  DeliverySummary,
  EventExcerpt,
  EventFilter,
  EventId,
  EventPage,
  EventPart,
  FeedPart,
  FeedPlace,
  FeedRequest,
  FigureFilter,
  FigureRow,
  FoundDelivery,
  IntegrationId,
  ListedDelivery,
  NewScopes,
  NotificationFilter,
  Purged,
  PurgeRequest
} from "@doorhook/core"
import { Attempt, Delivery, Event, excerptChars, inTurn, StoreRules } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { StatementSync } from "node:sqlite"
import { decodeExcerpts, decodeFigures, decodeNewEvents, LastAttempt, scanOf } from "../DeliveryRows.ts"
import { fromRows as notificationsFromRows } from "../NotificationRows.ts"
import { recordStatements } from "../statements/RecordStatements.ts"
import { sqlite } from "../Dialect.ts"
import { failAs } from "../StoreFailure.ts"
import type { SqliteCancellations } from "./Cancellations.ts"
import type { Claim } from "./Claim.ts"
import type { Row } from "./Columns.ts"
import { attemptFrom, deliveryId, eventFrom, eventIdOf, integrationId } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import { codes, storedStates } from "./DeliverySql.ts"
import type { Enqueue } from "./Enqueue.ts"
import type { FileOwner } from "./FileOwner.ts"
import { isOpen } from "./FileOwnerState.ts"

const records = recordStatements(sqlite)

const decodeEvents = Schema.decodeUnknownEffect(Schema.Array(Event))
const decodeListed = Schema.decodeUnknownEffect(
  Schema.Array(
    Schema.Struct({
      ...Delivery.fields,
      // Not validated, so that a list can include damaged rows.
      resource_type: Schema.NullOr(Schema.String),
      last_attempt: Schema.NullOr(LastAttempt)
    })
  )
)
const decodeFound = Schema.decodeUnknownEffect(
  Schema.NullOr(Schema.Struct({ delivery: Delivery, event: Schema.NullOr(Event), attempts: Schema.Array(Attempt) }))
)
const decodeEventFeed = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ seq: Schema.Int, event: Event })))
const decodeFeed = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ delivery: Delivery, event: Event })))

type Records = Pick<
  DeliveryStore["Service"],
  | "find"
  | "findEvent"
  | "list"
  | "excerpts"
  | "feed"
  | "eventFeed"
  | "feedPlace"
  | "feedEnds"
  | "lastPurged"
  | "newScopes"
  | "events"
  | "eventsFrom"
  | "notifications"
  | "purge"
  | "summary"
  | "figures"
>
type EventsFrom = Parameters<Records["eventsFrom"]>[0]

/** Reads rows until the event data in a column reaches a number of bytes. */
const rowsUpToBytes = (
  rows: Iterable<Row>,
  column: number,
  most = Number.MAX_SAFE_INTEGER
): { readonly found: ReadonlyArray<Row>; readonly isCut: boolean } => {
  const found: Array<Row> = []
  let bytes = 0
  for (const row of rows) {
    found.push(row)
    bytes += Buffer.byteLength(String(row[column]))
    if (bytes >= most) return { found, isCut: true }
  }
  return { found, isCut: false }
}

const typeList = (types: FeedRequest["types"]): string | null => (types === undefined ? null : JSON.stringify(types))

/**
 * Makes part of a feed of rows whose first column is the position. The columns of their events begin at index `event`.
 * Events of other types have no data.
 */
const feedPart = <Item>(
  request: FeedRequest,
  rows: Iterable<Row>,
  event: number,
  toItem: (row: Row) => Item
): FeedPart<Item> => {
  const { after, limit, maxBytes = Number.MAX_SAFE_INTEGER } = request
  const items: Array<Item> = []
  let [upTo, examined, bytes] = [after, 0, 0]
  for (const row of rows) {
    if (items.length === limit || bytes >= maxBytes) return { items, upTo, more: true }
    upTo = Number(row[0])
    examined++
    const data = row[event + 5]
    if (data === null) continue
    items.push(toItem(row))
    bytes += Buffer.byteLength(String(data))
  }
  return { items, upTo, more: examined === scanOf(request) }
}

export const makeRecords = (
  { change, read, state, turns }: FileOwner,
  { finishFor }: SqliteCancellations,
  { listNew }: Enqueue,
  { nextDue }: Claim
): Records => {
  const { cancellations, leases } = state
  const q = {
    findDelivery: turns.prepare(Sql.findDelivery),
    attemptsOf: turns.prepare(Sql.attemptsOf),
    lastAttempt: turns.prepare(Sql.lastAttempt),
    findEvent: turns.prepare(Sql.findEvent),
    figures: turns.prepare(Sql.figures),
    excerpt: turns.prepare(Sql.excerpt),
    findEventById: turns.prepare(Sql.findEventById),
    rangeOfEvent: turns.prepare(Sql.rangeOfEvent),
    feed: turns.prepare(Sql.feed),
    eventFeed: turns.prepare(Sql.eventFeed),
    deliveryPlace: turns.prepare(Sql.deliveryPlace),
    eventPlace: turns.prepare(Sql.eventPlace),
    lastPurged: turns.prepare(records.lastPurged(false)),
    lastPurgedOf: turns.prepare(records.lastPurged(true)),
    newScopes: turns.prepare(records.newScopes),
    notePurgedEvents: turns.prepare(records.notePurgedEvents),
    notePurgedDeliveries: turns.prepare(Sql.notePurgedDeliveries),
    eventBehind: turns.prepare(records.eventBehind),
    eventsOf: turns.prepare(Sql.eventsOf),
    countOf: turns.prepare(records.countOf),
    oldEvents: turns.prepare(records.oldEvents),
    deliveriesOfEvent: turns.prepare(Sql.deliveriesOfEvent),
    deleteDelivery: turns.prepare(Sql.deleteDelivery),
    unlistDelivery: turns.prepare(Sql.unlistDelivery),
    deleteAttempts: turns.prepare(Sql.deleteAttempts),
    deleteOfBuildings: turns.prepare(Sql.deleteOfBuildings),
    deleteOfTenants: turns.prepare(Sql.deleteOfTenants),
    deleteEvents: turns.prepare(records.deleteEvents),
    deleteNotifications: turns.prepare(records.deleteNotifications)
  }
  const lists = new Map<string, StatementSync>()
  const listed = (text: string): StatementSync => {
    const statement = lists.get(text) ?? turns.prepare(text)
    lists.set(text, statement)
    return statement
  }

  const isCancelled = (id: number, integration: IntegrationId): boolean =>
    id <= (cancellations.get(integration)?.last ?? -1)

  /** Converts a row to a delivery for callers, not decoded yet. */
  const shownOf = (row: Row) => {
    const [id, code, due] = [deliveryId(row[0]), Number(row[4]), row[7]]
    const integration = integrationId(row[3])
    const lease = leases.get(id)
    const isLeased = lease !== undefined && isOpen(lease.state)
    const ending = isOpen(code) && !isLeased && isCancelled(id, integration)
    return {
      id,
      event_id: row[2] ?? eventIdOf(row[1]),
      integration_id: integration,
      state: isLeased ? "delivering" : ending ? "cancelled" : storedStates[code],
      reason: ending ? cancellations.get(integration)?.reason : row[5],
      attempts: row[6],
      next_attempt_at: isLeased || ending ? null : due,
      created_at: row[8] ?? 0
    }
  }

  const endingAttemptOf = (row: Row): object | null =>
    row[11] === null
      ? null
      : {
          number: row[6],
          started_at: row[9],
          duration_ms: row[10],
          outcome: row[11],
          status: row[12],
          detail: row[13],
          response_excerpt: row[14]
        }

  const find = (id: DeliveryId) => {
    const row = q.findDelivery.get(id)
    if (row === undefined) return null
    const event = q.findEvent.get(Number(row[1]))
    const last = endingAttemptOf(row)
    const attempts = q.attemptsOf.all(id).map((each) => attemptFrom(each, 0))
    return {
      delivery: shownOf(row),
      event: event === undefined ? null : eventFrom(event, 0),
      attempts: last === null ? attempts : [...attempts, last]
    }
  }

  /** Returns the first leased deliveries that a filter selects, of one event or of all. */
  const listLeased = (
    { integration_id, limit, order }: DeliveryFilter,
    beyond: number,
    ofEvent: { readonly seq: number; readonly first: number; readonly last: number } | null
  ): ReadonlyArray<Row> => {
    const isNewest = order === "newest"
    const ids: Array<DeliveryId> = []
    for (const { id, integration, state: code } of leases.values()) {
      if (!isOpen(code) || (integration_id ?? integration) !== integration) continue
      if (isNewest ? id >= beyond : id <= beyond) continue
      if (ofEvent === null || (id >= ofEvent.first && id <= ofEvent.last)) ids.push(id)
    }
    const first = ids.toSorted((a, b) => (isNewest ? b - a : a - b)).slice(0, limit)
    return first.flatMap((id): ReadonlyArray<Row> => {
      const row = q.findDelivery.get(id)
      return row === undefined || (ofEvent !== null && row[1] !== ofEvent.seq) ? [] : [row]
    })
  }

  const list = (filter: DeliveryFilter): ReadonlyArray<object> => {
    const { after, event_id, integration_id, limit, order, states = [undefined] } = filter
    const isNewest = order === "newest"
    const beyond = after ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0)
    const range = event_id === undefined ? undefined : q.rangeOfEvent.get(event_id)
    if (event_id !== undefined && range === undefined) return []
    const ofEvent =
      range === undefined ? null : { seq: Number(range[0]), first: Number(range[1]), last: Number(range[2]) }
    const found: Array<Row> = []
    for (const each of states) {
      if (each === "delivering") {
        found.push(...listLeased(filter, beyond, ofEvent))
        continue
      }
      const isWaiting = each === "pending" || each === "retrying"
      const params: Record<string, number> = { "?1": beyond, "?2": isWaiting ? -1 : limit }
      if (integration_id !== undefined) params["?3"] = integration_id
      if (ofEvent !== null) Object.assign(params, { "?4": ofEvent.first, "?5": ofEvent.last, "?6": ofEvent.seq })
      let count = 0
      for (const row of listed(Sql.list(each, filter)).iterate(params)) {
        if (isWaiting && leases.has(deliveryId(row[0]))) continue
        found.push(row)
        if (++count === limit) break
      }
    }
    return found
      .toSorted((a, b) => (isNewest ? Number(b[0]) - Number(a[0]) : Number(a[0]) - Number(b[0])))
      .slice(0, limit)
      .map((row) => {
        const before = row[11] === null && row[6] !== 0 ? q.lastAttempt.get(deliveryId(row[0])) : undefined
        const last_attempt = before === undefined ? endingAttemptOf(row) : attemptFrom(before, 0)
        return { ...shownOf(row), resource_type: row[15], last_attempt }
      })
  }

  const figures = ({ before, from, integration_id, step }: FigureFilter): ReadonlyArray<object> =>
    q.figures
      .all({ "?1": from, "?2": before, "?3": step, "?4": integration_id ?? null })
      .map((row) => ({ at: row[0], state: storedStates[Number(row[1])], latency: row[2], count: row[3] }))

  const excerpts = (ids: ReadonlyArray<EventId>): ReadonlyArray<object> =>
    [...new Set(ids)].flatMap((id) => {
      const row = q.excerpt.get(excerptChars, id)
      return row === undefined ? [] : [{ id: row[0], action: row[1], created_at: row[2], data: row[3] }]
    })

  const feed = (request: Parameters<Records["feed"]>[0]) => {
    const { after, integration_id, types } = request
    const rows = q.feed.iterate(after, scanOf(request), integration_id, typeList(types))
    return feedPart(request, rows, 15, (row) => ({ delivery: shownOf(row), event: eventFrom(row, 15) }))
  }

  const eventFeed = (request: Parameters<Records["eventFeed"]>[0]) => {
    const { after, scope, types } = request
    const rows = q.eventFeed.iterate(after, scanOf(request), scope.type, scope.id, typeList(types))
    return feedPart(request, rows, 1, (row) => ({ seq: row[0], event: eventFrom(row, 1) }))
  }

  const feedPlace = ({ after, since, source }: Parameters<Records["feedPlace"]>[0]): FeedPlace | null => {
    const row =
      source.type === "integration"
        ? q.deliveryPlace.get(after, since, source.id)
        : q.eventPlace.get(after, since, source.type, source.id)
    return row === undefined ? null : { position: Number(row[0]), created_at: Number(row[1]) }
  }

  const lastPurged = ({ source, types }: Parameters<Records["lastPurged"]>[0]): FeedPlace | null => {
    const row =
      types === undefined
        ? q.lastPurged.get(source.type, source.id)
        : q.lastPurgedOf.get(source.type, source.id, JSON.stringify(types))
    return row === undefined || row[0] === null ? null : { position: Number(row[0]), created_at: Number(row[1]) }
  }

  const newScopes = ({ after, limit }: Parameters<Records["newScopes"]>[0]) =>
    state.event <= after
      ? []
      : q.newScopes.all(after, Number.MAX_SAFE_INTEGER, limit).map((row) => ({
          seq: row[0],
          building_id: row[1],
          tenant_ids: String(row[2])
        }))

  /** Reads events from a position on. */
  const eventsFrom = ({ from, limit, maxBytes, resource_type, scope, since }: EventsFrom) => {
    const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER] as const
    const { found, isCut } = rowsUpToBytes(q.eventsOf.iterate(...of, from.created_at, from.seq, limit), 5, maxBytes)
    const last = isCut && found.length < limit ? found.at(-1) : undefined
    return {
      items: found.map((row) => eventFrom(row, 0)),
      next: last === undefined ? null : { created_at: Number(last[7]), seq: Number(last[8]) - 1 }
    }
  }

  const events = (filter: EventFilter) => {
    const { countUpTo, offset, resource_type, scope, since, until } = filter
    const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER] as const
    const countFrom = (due: number, seq: number, most: number): number | null => {
      const place = [...of, due, seq] as const
      const count = q.countOf.get(...place, most, ...place)?.[0]
      return count === null || count === undefined ? null : Number(count)
    }
    const page = (created_at: number, seq: number) => eventsFrom({ ...filter, from: { created_at, seq } })
    const head = until ?? Number.MAX_SAFE_INTEGER
    if (offset === 0) return { ...page(head, 0), total: countFrom(head, 0, countUpTo) }
    const place = q.eventBehind.get(...of, head, 0, offset)
    if (place === undefined) return { items: [], next: null, total: countFrom(head, 0, offset) }
    const [due, seq] = [Number(place[0]), Number(place[1])]
    const rest = countFrom(due, seq, countUpTo - offset)
    return { ...page(due, seq), total: rest === null ? null : offset + rest }
  }

  const purge = (request: PurgeRequest): Purged => {
    const { after, before, limit, now } = request
    q.deleteNotifications.run(now, limit, before)
    // Reads one more than the limit, to learn whether there are further events.
    const found = q.oldEvents.all(after, limit + 1).map((row) => ({
      seq: Number(row[0]),
      created_at: Number(row[2]),
      range: row[3] === null ? null : ([Number(row[3]), Number(row[4])] as const)
    }))
    const { next, old } = StoreRules.purgePage(found, request)
    if (old.length === 0) return { events: 0, deliveries: 0, next }
    // New events must be in the lists before any of them is deleted.
    listNew()
    let purged = 0
    const ended: Array<{ readonly seq: number; readonly deliveries: ReadonlyArray<Row> }> = []
    for (const { range, seq } of old) {
      const deliveries = range === null ? [] : q.deliveriesOfEvent.all(...range, seq)
      const isActive = ([id, integration, code]: ReadonlyArray<unknown>) =>
        isOpen(Number(code)) && !isCancelled(Number(id), integrationId(integration))
      if (!deliveries.some((each) => isActive(Object.values(each)))) ended.push({ seq, deliveries })
    }
    const seqs = JSON.stringify(ended.map(({ seq }) => seq))
    q.notePurgedDeliveries.run(seqs)
    q.notePurgedEvents.run(seqs, seqs)
    for (const { deliveries } of ended) {
      for (const [id, integration, code] of deliveries.map((each) => Object.values(each))) {
        const delivery = deliveryId(id)
        q.unlistDelivery.run(Number(integration), delivery)
        q.deleteAttempts.run(delivery)
        q.deleteDelivery.run(delivery)
        state.count(isOpen(Number(code)) ? codes.cancelled : Number(code), -1)
        const lease = leases.get(delivery)
        if (lease !== undefined) state.unlease([lease])
      }
      purged += deliveries.length
    }
    q.deleteOfBuildings.run(seqs)
    q.deleteOfTenants.run(seqs)
    q.deleteEvents.run(seqs)
    state.events -= ended.length
    state.isChanged = true
    return { events: ended.length, deliveries: purged, next }
  }

  const summary = (now: number): DeliverySummary => {
    const [pending = 0, delivered = 0, retrying = 0, exhausted = 0, expired = 0, cancelled = 0, skipped = 0] =
      state.counts
    const held = { pending: 0, retrying: 0 }
    for (const lease of leases.values()) {
      if (lease.state === codes.pending) held.pending++
      else if (lease.state === codes.retrying) held.retrying++
    }
    const due = nextDue()
    return {
      events: state.events,
      states: {
        pending: pending - held.pending,
        delivering: held.pending + held.retrying,
        retrying: retrying - held.retrying,
        delivered,
        exhausted,
        expired,
        cancelled,
        skipped
      },
      oldest_due_at: due !== null && due <= now ? due : null
    }
  }

  const notifications = (filter: NotificationFilter): ReadonlyArray<object> => {
    const { after, integration_id, limit, order } = filter
    const from = after ?? (order === "newest" ? Number.MAX_SAFE_INTEGER : 0)
    const statement = listed(records.notifications(filter))
    const rows = integration_id === undefined ? statement.all(from, limit) : statement.all(integration_id, from, limit)
    return rows.map(Object.values).map(([id, kind, integration, scope_type, scope_id, at, details]) => ({
      id,
      kind,
      integration_id: integration,
      scope_type,
      scope_id,
      at,
      details
    }))
  }

  return {
    find: (id) =>
      Effect.flatMap(
        read(() => find(id)),
        (found): Effect.Effect<FoundDelivery | null, Schema.SchemaError> => decodeFound(found)
      ).pipe(failAs("DeliveryStore.find")),

    findEvent: (id) =>
      Effect.flatMap(
        read(() => {
          const row = q.findEventById.get(id)
          return row === undefined ? [] : [eventFrom(row, 0)]
        }),
        (rows) => Effect.map(decodeEvents(rows), ([event]) => event ?? null)
      ).pipe(failAs("DeliveryStore.findEvent")),

    list: (filter) =>
      finishFor(filter).pipe(
        Effect.andThen(read(() => list(filter))),
        Effect.flatMap((rows): Effect.Effect<ReadonlyArray<ListedDelivery>, Schema.SchemaError> => decodeListed(rows)),
        failAs("DeliveryStore.list")
      ),

    figures: (filter) =>
      Effect.flatMap(
        read(() => figures(filter)),
        (rows): Effect.Effect<ReadonlyArray<FigureRow>, Schema.SchemaError> => decodeFigures(rows)
      ).pipe(failAs("DeliveryStore.figures")),

    excerpts: (ids) =>
      Effect.flatMap(
        read(() => excerpts(ids)),
        (rows): Effect.Effect<ReadonlyArray<EventExcerpt>, Schema.SchemaError> => decodeExcerpts(rows)
      ).pipe(failAs("DeliveryStore.excerpts")),

    feed: (filter) =>
      Effect.flatMap(
        read(() => feed(filter)),
        ({ items, ...part }): Effect.Effect<FeedPart, Schema.SchemaError> =>
          Effect.map(decodeFeed(items), (decoded) => ({ ...part, items: decoded }))
      ).pipe(failAs("DeliveryStore.feed")),

    eventFeed: (filter) =>
      Effect.flatMap(
        read(() => eventFeed(filter)),
        ({ items, ...part }) => Effect.map(decodeEventFeed(items), (decoded) => ({ ...part, items: decoded }))
      ).pipe(failAs("DeliveryStore.eventFeed")),

    feedPlace: (of) => failAs("DeliveryStore.feedPlace")(read(() => feedPlace(of))),

    feedEnds: failAs("DeliveryStore.feedEnds")(
      read(() => {
        const endAt = (id: number) => ({ complete: id, assigned: id })
        return { deliveries: endAt(state.delivery), events: endAt(state.event) }
      })
    ),

    lastPurged: (of) => failAs("DeliveryStore.lastPurged")(read(() => lastPurged(of))),

    newScopes: ({ after, limit }) =>
      Effect.flatMap(
        read(() => newScopes({ after, limit })),
        (rows): Effect.Effect<NewScopes, Schema.SchemaError> =>
          Effect.map(decodeNewEvents(rows), (events) => ({
            scopes: StoreRules.scopesOf(events),
            upTo: events.at(-1)?.seq ?? after,
            more: events.length === limit
          }))
      ).pipe(failAs("DeliveryStore.newScopes")),

    events: Effect.fnUntraced(function* (
      filter: EventFilter
    ): Effect.fn.Return<EventPage, Schema.SchemaError | SqlError.SqlError> {
      if (state.event > state.listedEvent) yield* turns.change({ run: listNew, isDurable: false, rows: 1 })
      const { items, next, total } = yield* inTurn(turns.read(() => events(filter)))
      return { items: yield* decodeEvents(items), next, total: total ?? filter.countUpTo, isCapped: total === null }
    }, failAs("DeliveryStore.events")),

    eventsFrom: Effect.fnUntraced(function* (
      filter: EventsFrom
    ): Effect.fn.Return<EventPart, Schema.SchemaError | SqlError.SqlError> {
      const { items, next } = yield* inTurn(turns.read(() => eventsFrom(filter)))
      return { items: yield* decodeEvents(items), next }
    }, failAs("DeliveryStore.eventsFrom")),

    notifications: (filter) =>
      Effect.flatMap(
        turns.read(() => notifications(filter)),
        notificationsFromRows
      ).pipe(failAs("DeliveryStore.notifications")),

    purge: (request) => change("purge", () => purge(request), request.limit),

    summary: (now) => failAs("DeliveryStore.summary")(read(() => summary(now)))
  }
}
