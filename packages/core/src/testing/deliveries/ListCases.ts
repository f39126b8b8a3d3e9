/**
 * Rules for `DeliveryStore.list`, `events` and `summary`.
 */
import { Effect, Layer } from "effect"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { DeliverySettings } from "../../delivery/DeliverySettings.ts"
import type { Delivery } from "../../model/Delivery.ts"
import { deliveryStates } from "../../model/Delivery.ts"
import type { Event } from "../../model/Event.ts"
import { BuildingId, DeliveryId, TenantId } from "../../model/Ids.ts"
import type { Scope } from "../../model/Integration.ts"
import { JsonText } from "../../model/JsonText.ts"
import type { ResourceType } from "../../model/ResourceType.ts"
import type { DeliveryFilter, EventPart, ListedDelivery } from "../../ports/DeliveryStore.ts"
import { DeliveryStore, excerptChars, latencyBounds, latencyClassOf } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import { WakeSignal } from "../../ports/WakeSignal.ts"
import {
  attempt,
  attemptsOf,
  building,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  eventId,
  idsOf,
  newEvent,
  pending,
  record,
  records,
  recover,
  release,
  resend,
  retryAt,
  settle,
  settlement,
  sizedEvent,
  start,
  tenant
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

/** Stores deliveries of two integrations in every state. */
const everyState = Effect.gen(function* () {
  const a = yield* createIntegration()
  const b = yield* createIntegration()
  yield* enqueue(...records(1, 8, a, b))
  const leased = yield* claim(start, { limit: 12 })
  const states = ["delivered", "exhausted", "expired", "cancelled", "retrying"] as const
  yield* settle(
    start + 1,
    ...leased.slice(0, 10).map((delivery, index) => {
      const state = states[index % states.length] ?? "delivered"
      return settlement(delivery, { state, next_attempt_at: state === "retrying" ? start + 500 : null })
    })
  )
  const skipped = newEvent(9)
  const initial = { state: "skipped", reason: "integration_disabled" } as const
  yield* enqueue({ event: skipped, deliveries: [{ ...pending(b, skipped), initial }] })
  return { a, b }
})

/** State filters: all states, each single state, and groups of states. */
const stateFilters: ReadonlyArray<DeliveryFilter["states"]> = [
  undefined,
  ...deliveryStates.map((state) => [state] as const),
  ["retrying", "pending"],
  ["expired", "delivered", "exhausted"],
  ["skipped", "cancelled", "retrying"],
  ["delivering", "delivered", "pending", "retrying", "exhausted", "expired", "cancelled", "skipped"]
]

/** Computes the expected result of a filter by searching all deliveries. */
const selected = (all: ReadonlyArray<ListedDelivery>, filter: DeliveryFilter): ReadonlyArray<ListedDelivery> =>
  all
    .filter(
      (delivery) =>
        (filter.states === undefined || filter.states.includes(delivery.state)) &&
        (filter.integration_id === undefined || delivery.integration_id === filter.integration_id) &&
        (filter.event_id === undefined || delivery.event_id === filter.event_id) &&
        (filter.after === undefined ||
          (filter.order === "newest" ? delivery.id < filter.after : delivery.id > filter.after))
    )
    .toSorted((a, b) => (filter.order === "newest" ? b.id - a.id : a.id - b.id))
    .slice(0, filter.limit)

/** Builds the service that explains events over the store of the case. */
const explaining = Deliveries.layer.pipe(Layer.provide([DeliverySettings.layer(), WakeSignal.layerLocal]))

export const listCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "an event is found by its id, with all its data, until it is purged",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const data = JsonText.make('{ "b":1.0,"a":12345678901234567890,"a":"\\u0000ü" }')
      const event = newEvent(1, { tenant_ids: [TenantId.make(3), TenantId.make(3)], data })
      yield* enqueue(record(event), ...records(2, 3))
      yield* expectEqual("found", yield* store.findEvent(eventId(1)), event)
      yield* expectEqual("unknown", yield* store.findEvent(eventId(9)), null)
      yield* store.purge({ before: start + 1, now: start + 1, after: 0, limit: 100 })
      yield* expectEqual("purged", yield* store.findEvent(eventId(1)), null)
    })
  },
  {
    name: "the explanation of an event names each integration of its building and tenants, and a lost right",
    run: Effect.gen(function* () {
      const unbound = [{ resource_type: "call", actions: ["create"] }]
      const sent = yield* createIntegration()
      const lost = yield* createIntegration({ scope: tenant(3) })
      const other = yield* createIntegration({ bindings: unbound })
      const elsewhere = yield* createIntegration({ scope: building(2) })
      const event = newEvent(1, { tenant_ids: [TenantId.make(3)] })
      const [, ended] = yield* enqueue(record(event, sent, lost))
      const leased = yield* claim(start)
      yield* settle(
        start,
        ...leased.map((one) =>
          one.id === ended
            ? settlement(one, { state: "cancelled", reason: "right_lost", attempt: null })
            : settlement(one)
        )
      )
      const explained = Effect.fnUntraced(function* (...asked: Parameters<Deliveries["Service"]["explainEvent"]>) {
        const { integrations } = yield* (yield* Deliveries).explainEvent(...asked)
        return integrations.map(({ integration_id, verdict }) => [integration_id, verdict])
      }, Effect.provide(explaining))
      yield* expectEqual("all", yield* explained(event.id), [
        [sent.id, "delivered"],
        [lost.id, "right_lost"],
        [other.id, "no_binding"]
      ])
      yield* expectEqual("one", yield* explained(event.id, lost.id), [[lost.id, "right_lost"]])
      yield* expectEqual("elsewhere", yield* explained(event.id, elsewhere.id), [[elsewhere.id, "other_building"]])
      yield* expectEqual("unknown", yield* explained(eventId(9)), [])
    })
  },
  {
    name: "`list` returns deliveries in ascending order of ids, after a given id, up to a limit",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const ids = yield* enqueue(...records(1, 10, yield* createIntegration()))
      const pages: Array<ReadonlyArray<number>> = []
      let after = ids[0]
      while (after !== undefined) {
        const page: ReadonlyArray<Delivery> = yield* store.list({ after, limit: 4 })
        pages.push(idsOf(page))
        after = page.at(-1)?.id
      }
      yield* expectEqual("pages", pages, [ids.slice(1, 5), ids.slice(5, 9), ids.slice(9), []])
      yield* expectEqual("from the beginning", idsOf(yield* store.list({ limit: 100 })), ids)
      const newest = idsOf(yield* store.list({ order: "newest", limit: 100 }))
      yield* expectEqual("from the end", newest, ids.toReversed())
      const [first] = yield* store.list({ limit: 1 })
      yield* expectEqual("type of the event", first?.resource_type, "access_log")
    })
  },
  {
    name: "`list` filters by state, integration and event, separately and together",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { a, b } = yield* everyState
      const all = yield* store.list({ limit: 1_000 })
      yield* expectEqual("deliveries", all.length, 17)
      const after = all[4]?.id
      for (const states of stateFilters) {
        for (const integration_id of [undefined, a.id, b.id]) {
          for (const event_id of [undefined, eventId(1), eventId(6), eventId(9), eventId(99)]) {
            for (const limit of [1, 100]) {
              for (const from of [undefined, after]) {
                for (const order of ["oldest", "newest"] as const) {
                  const filter: DeliveryFilter = {
                    ...(states !== undefined && { states }),
                    ...(integration_id !== undefined && { integration_id }),
                    ...(event_id !== undefined && { event_id }),
                    ...(from !== undefined && { after: from }),
                    order,
                    limit
                  }
                  yield* expectEqual(JSON.stringify(filter), yield* store.list(filter), selected(all, filter))
                }
              }
            }
          }
        }
      }
    })
  },
  {
    name: "a listed delivery includes its last attempt, without the answer's body",
    run: Effect.gen(function* () {
      const ids = yield* enqueue(...records(1, 3, yield* createIntegration()))
      const last = Effect.map(lastOf(ids), (attempts) => attempts.map((made) => made && [made.number, made.outcome]))
      yield* expectEqual("before any", yield* last, [null, null, null])
      yield* settle(start, settlement(yield* claimOne(start)))
      const again = yield* claimOne(start)
      yield* settle(start, retryAt(again, start + 100))
      yield* expectEqual("after one", yield* last, [[1, "acknowledged"], [1, "bad_status"], null])
      yield* claimOne(start)
      yield* settle(start + 100, settlement(yield* claimOne(start + 100)))
      yield* expectEqual("after a retry", yield* last, [[1, "acknowledged"], [2, "acknowledged"], null])
    })
  },
  {
    name: "a resent delivery is listed with its last attempt until the next attempt",
    run: Effect.gen(function* () {
      const [id] = yield* enqueue(...records(1, 1, yield* createIntegration()))
      if (id === undefined) return yield* expectEqual("stored", 0, 1)
      yield* settle(start, retryAt(yield* claimOne(start), start + 10))
      yield* settle(start + 10, settlement(yield* claimOne(start + 10)))
      const expectLast = Effect.fnUntraced(function* (what: string, number: number) {
        const attempt = (yield* attemptsOf(id)).at(-1)
        yield* expectEqual(`${what}: number`, attempt?.number, number)
        const { response_excerpt: _, ...expected } = attempt ?? { response_excerpt: null }
        yield* expectEqual(what, yield* lastOf([id]), [expected])
      })
      yield* expectLast("ended", 2)
      yield* resend(id, start + 20)
      yield* expectLast("resent", 2)
      yield* settle(start + 20, retryAt(yield* claimOne(start + 20), start + 30))
      yield* expectLast("sent again", 3)
    })
  },
  {
    name: "`excerpts` returns the beginning of the data of existing events",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const long = newEvent(1, { data: JsonText.make(`{"text":"${"ä".repeat(excerptChars)}"}`) })
      const short = newEvent(2, { data: JsonText.make('{"id":2}') })
      for (const event of [long, short]) yield* enqueue({ event, deliveries: [pending(integration, event)] })
      const found = yield* store.excerpts([short.id, eventId(99), long.id, short.id])
      const expected = [long, short].map(({ action, created_at, data, id }) => ({
        id,
        action,
        created_at,
        data: data.slice(0, excerptChars)
      }))
      const inOrder = found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      yield* expectEqual("excerpts", inOrder, expected)
      yield* expectEqual("of nothing", yield* store.excerpts([]), [])
    })
  },
  {
    name: "`figures` counts deliveries by creation time, state and latency, of one integration and of all",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { a, b } = yield* everyState
      const durations = latencyBounds.flatMap((bound) => [bound, bound + 1])
      yield* enqueue(...records(30, 29 + durations.length, b))
      const timed = (yield* claim(start, { limit: 100 })).filter(({ event }) => event.id >= eventId(30))
      yield* settle(
        start + 1,
        ...timed.map((one, n) => settlement(one, { attempt: attempt(1, { duration_ms: durations[n] ?? 0 }) }))
      )
      const later = newEvent(20, { created_at: start + 70_000 })
      yield* enqueue({ event: later, deliveries: [pending(a, later)] })
      const all = yield* store.list({ limit: 1_000 })
      const [first, last] = [all[0]?.id, all.at(-1)?.id]
      if (first === undefined || last === undefined) return yield* Effect.die("no deliveries")
      const step = 60_000
      /** Computes the expected rows, as texts in order. */
      const expected = (wanted: (one: ListedDelivery) => boolean) => {
        const counts = new Map<string, number>()
        for (const { created_at, last_attempt, state } of all.filter(wanted)) {
          const at = Math.floor(created_at / step) * step
          const latency = state === "delivered" && last_attempt !== null ? latencyClassOf(last_attempt.duration_ms) : -1
          const key = `${at} ${state === "delivering" ? "pending" : state} ${latency}`
          counts.set(key, (counts.get(key) ?? 0) + 1)
        }
        return [...counts].map(([key, count]) => `${key} ${count}`).toSorted()
      }
      const rows = (filter: Parameters<typeof store.figures>[0]) =>
        Effect.map(store.figures(filter), (found) =>
          found.map(({ at, count, latency, state }) => `${at} ${state} ${latency} ${count}`).toSorted()
        )
      const whole = { from: first, before: DeliveryId.make(last + 1), step }
      yield* expectEqual(
        "all",
        yield* rows(whole),
        expected(() => true)
      )
      for (const { id } of [a, b]) {
        const own = expected(({ integration_id }) => integration_id === id)
        yield* expectEqual("of one integration", yield* rows({ ...whole, integration_id: id }), own)
      }
      const part = { ...whole, from: DeliveryId.make(first + 2), before: last }
      yield* expectEqual(
        "a range of ids",
        yield* rows(part),
        expected(({ id }) => id >= first + 2 && id < last)
      )
      yield* expectEqual("of nothing", yield* rows({ ...whole, before: first }), [])
    })
  },
  {
    name: "`summary` counts events, and deliveries by state",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const none = { events: 0, states: countsOf([]), oldest_due_at: null }
      yield* expectEqual("of nothing", yield* store.summary(start), none)
      const { a } = yield* everyState
      const counted = Effect.gen(function* () {
        const { states } = yield* store.summary(start)
        yield* expectEqual("states", states, countsOf(yield* store.list({ limit: 1_000 })))
      })
      yield* counted
      yield* expectEqual("events", (yield* store.summary(start)).events, 9)
      yield* recover(a.id, 0, start + 10)
      yield* counted
      yield* claim(start + 100_000)
      yield* counted
      yield* (yield* IntegrationStore).remove(a)
      yield* counted
    })
  },
  {
    name: "`summary` returns the due time of the delivery that has been overdue longest",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const oldestDue = (now: number) => Effect.map(store.summary(now), (summary) => summary.oldest_due_at)
      yield* enqueue(
        record(newEvent(1, { created_at: start + 50 }), integration),
        record(newEvent(2, { created_at: start + 20, resource_type: "call" }), integration)
      )
      yield* expectEqual("before any is due", yield* oldestDue(start + 19), null)
      yield* expectEqual("once one is", yield* oldestDue(start + 20), start + 20)
      yield* expectEqual("later", yield* oldestDue(start + 1_000), start + 20)
      const leased = yield* claim(start + 20)
      yield* expectEqual("while that delivery is leased", yield* oldestDue(start + 100), start + 50)
      yield* claim(start + 50)
      yield* expectEqual("with both leased", yield* oldestDue(start + 100), null)
      yield* release(start + 60, start + 60, leased)
      yield* expectEqual("with one released", yield* oldestDue(start + 600), start + 60)
    })
  },
  {
    name: "events are listed for their building and tenants, by type, newest first, with a total",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const tenant_ids = (...ids: ReadonlyArray<number>) => ({ tenant_ids: ids.map((id) => TenantId.make(id)) })
      const events = [
        newEvent(1, tenant_ids(101)),
        newEvent(2, tenant_ids(101, 102, 101)),
        newEvent(3, { ...tenant_ids(101), resource_type: "call" }),
        newEvent(4, { ...tenant_ids(103), building_id: BuildingId.make(2) }),
        newEvent(5, tenant_ids())
      ] as const
      yield* enqueue(...events.map((event) => record(event)))
      const list = (scope: Scope, resource_type: ResourceType, offset = 0, limit = 10) =>
        Effect.map(store.events({ scope, resource_type, offset, limit, countUpTo: 10 }), ({ items, total }) => ({
          items,
          total
        }))
      const [one, two, three, four, five] = events
      yield* expectEqual("of a building", yield* list(building(1), "access_log"), { items: [five, two, one], total: 3 })
      yield* expectEqual("a page", yield* list(building(1), "access_log", 1, 1), { items: [two], total: 3 })
      yield* expectEqual("beyond", yield* list(building(1), "access_log", 3), { items: [], total: 3 })
      yield* expectEqual("calls", yield* list(building(1), "call"), { items: [three], total: 1 })
      yield* expectEqual("another building", yield* list(building(2), "access_log"), { items: [four], total: 1 })
      yield* expectEqual("of a tenant", yield* list(tenant(101), "access_log"), { items: [two, one], total: 2 })
      yield* expectEqual("a tenant's page", yield* list(tenant(101), "access_log", 1), { items: [one], total: 2 })
      yield* expectEqual("another tenant", yield* list(tenant(102), "access_log"), { items: [two], total: 1 })
      yield* expectEqual("a tenant without any", yield* list(tenant(1), "access_log"), { items: [], total: 0 })
    })
  },
  {
    name: "events are listed by publication time, not in storage order, and can be limited to a time range",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const times = [30, 10, 20, 20, 40, 10]
      const events = times.map((time, index) => newEvent(index + 1, { created_at: start + time }))
      for (const event of events) yield* enqueue(record(event))
      const latestFirst = events
        .toSorted((a, b) => a.created_at - b.created_at || events.indexOf(a) - events.indexOf(b))
        .toReversed()
      for (const since of [undefined, 0, 10, 11, 20, 40, 41]) {
        for (const until of [undefined, 0, 10, 20, 21, 40, 41]) {
          const wanted = latestFirst.filter(
            ({ created_at }) =>
              (since === undefined || created_at >= start + since) &&
              (until === undefined || created_at < start + until)
          )
          const pages: Array<Event> = []
          for (let offset = 0; offset < 8; offset += 2) {
            const { isCapped, items, total } = yield* store.events({
              scope: building(1),
              resource_type: "access_log",
              ...(since !== undefined && { since: start + since }),
              ...(until !== undefined && { until: start + until }),
              offset,
              limit: 2,
              countUpTo: 100
            })
            pages.push(...items)
            const count = { total, isCapped }
            yield* expectEqual(`since ${since} until ${until}`, count, { total: wanted.length, isCapped: false })
          }
          yield* expectEqual(`pages since ${since} until ${until}`, pages, wanted)
        }
      }
    })
  },
  {
    name: "a page of events that is read in parts has each of its events once, whatever their sizes",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const list = { scope: building(1), resource_type: "access_log", since: start + 1 } as const
      const stored = Array.from({ length: 40 }, (_, at) => sizedEvent(at + 1, { created_at: start + (at >> 2) }))
      for (const event of stored) yield* enqueue(record(event))
      for (const maxBytes of [1, 200, 3_000, 20_000, 1_000_000]) {
        for (const [offset, limit] of [[0, 100] as const, [0, 4] as const, [3, 17] as const, [31, 10] as const]) {
          const wanted = stored.filter(({ created_at }) => created_at > start).toReversed()
          const page = yield* store.events({ ...list, offset, limit, maxBytes, countUpTo: 1_000 })
          yield* expectEqual("total", page.total, wanted.length)
          const items = [...page.items]
          for (let part: EventPart = page; part.next !== null;) {
            // An event that is published during the read shifts the offsets of the page, but is not part of it.
            const later = sizedEvent(stored.length + 1, { created_at: start + stored.length })
            stored.push(later)
            yield* enqueue(record(later))
            part = yield* store.eventsFrom({ ...list, from: part.next, limit: limit - items.length, maxBytes })
            items.push(...part.items)
          }
          const label = `${limit} from ${offset} in parts of ${maxBytes} bytes`
          yield* expectEqual(label, items, wanted.slice(offset, offset + limit))
        }
      }
    })
  },
  {
    name: "a part of a page ends with the event whose data reaches the limit of bytes",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      // 100 bytes in fewer characters.
      const data = JsonText.make(`{"id":"${"é".repeat(45)}x"}`)
      const integration = yield* createIntegration()
      yield* enqueue(...Array.from({ length: 10 }, (_, at) => record(newEvent(at + 1, { data }), integration)))
      for (const [maxBytes, length] of [
        [1, 1],
        [100, 1],
        [101, 2],
        [500, 5],
        [901, 10],
        [2_000, 10]
      ] as const) {
        const of = { scope: building(1), resource_type: "access_log", limit: 10, maxBytes } as const
        const page = yield* store.events({ ...of, offset: 0, countUpTo: 10 })
        const feed = yield* store.feed({ integration_id: integration.id, after: 0, limit: 10, maxBytes })
        yield* expectEqual(`${maxBytes} bytes`, [page.items.length, feed.items.length], [length, length])
        yield* expectEqual(`ended early at ${maxBytes}`, [page.next !== null, feed.more], [length < 10, length < 10])
      }
    })
  },
  {
    name: "events are counted up to a limit, whatever the page",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const events = Array.from({ length: 7 }, (_, index) => newEvent(index + 1, { created_at: start + index }))
      yield* enqueue(...events.map((event) => record(event)))
      const latestFirst = events.toReversed()
      for (const countUpTo of [5, 6, 7, 8]) {
        for (let offset = 0; offset < countUpTo; offset++) {
          const page = yield* store.events({
            scope: building(1),
            resource_type: "access_log",
            offset,
            limit: 4,
            countUpTo
          })
          yield* expectEqual(`up to ${countUpTo}, from ${offset}`, page, {
            items: latestFirst.slice(offset, offset + 4),
            next: null,
            total: Math.min(7, countUpTo),
            isCapped: countUpTo < 7
          })
        }
      }
    })
  }
]

/** Returns the last attempt of each delivery, as `list` returns it. */
const lastOf = Effect.fnUntraced(function* (ids: ReadonlyArray<DeliveryId>) {
  const listed = yield* (yield* DeliveryStore).list({ limit: 100 })
  return ids.map((id) => listed.find((delivery) => delivery.id === id)?.last_attempt)
})

const countsOf = (deliveries: ReadonlyArray<Delivery>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    deliveryStates.map((state) => [state, deliveries.filter((delivery) => delivery.state === state).length])
  )
