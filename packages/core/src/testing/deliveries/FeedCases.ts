/**
 * Rules of the feeds of `DeliveryStore`.
 */
import { Effect } from "effect"
import type { Event } from "../../model/Event.ts"
import type { IntegrationId } from "../../model/Ids.ts"
import { BuildingId, TenantId } from "../../model/Ids.ts"
import type { Scope } from "../../model/Integration.ts"
import type { FeedEvent, FeedPart, FeedSource } from "../../ports/DeliveryStore.ts"
import { DeliveryStore, feedScan } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  building,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  eventId,
  findDelivery,
  newEvent,
  record,
  records,
  settle,
  settlement,
  sizedEvent,
  start,
  tenant
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

export const feedCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "a feed has all deliveries of one integration with their events, in order, whatever their states",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      yield* enqueue(...records(1, 2, integration, other))
      yield* settle(start, settlement(yield* claimOne(start)))
      const off = { ...integration, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* (yield* IntegrationStore).update(off, 1)
      yield* enqueue(...records(3, 4, other, integration))
      const { items } = yield* store.feed({ integration_id: integration.id, after: 0, limit: 10 })
      yield* expectEqual(
        "events",
        items.map(({ event }) => event),
        [1, 2, 3, 4].map((n) => newEvent(n))
      )
      const found = yield* Effect.forEach(items, ({ delivery }) => findDelivery(delivery.id))
      yield* expectEqual(
        "deliveries",
        items.map(({ delivery }) => delivery),
        found
      )
      yield* expectEqual(
        "states",
        found.map(({ state }) => state),
        ["delivered", "cancelled", "skipped", "skipped"]
      )
    })
  },
  {
    name: "a feed that is read in parts has each delivery once, whatever the sizes of the events",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const events = Array.from({ length: 40 }, (_, at) => sizedEvent(at + 1))
      yield* enqueue(...events.map((event) => record(event, integration)))
      for (const maxBytes of [1, 200, 3_000, 20_000, 1_000_000]) {
        const found: Array<Event> = []
        for (let part: FeedPart = { items: [], upTo: 0, more: true }; part.more;) {
          const limit = 40 - found.length
          part = yield* store.feed({ integration_id: integration.id, after: part.upTo, limit, maxBytes })
          found.push(...part.items.map(({ event }) => event))
        }
        yield* expectEqual(`in parts of ${maxBytes} bytes`, found, events)
      }
    })
  },
  {
    name: "a feed continues after any delivery, even a purged one",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const ids = yield* enqueue(...records(1, 5, integration))
      const read = Effect.fnUntraced(function* (after: (typeof ids)[number] | 0, limit: number) {
        const { items } = yield* store.feed({ integration_id: integration.id, after, limit })
        return items.map(({ delivery }) => delivery.id)
      })
      yield* expectEqual("first", yield* read(0, 2), ids.slice(0, 2))
      yield* expectEqual("next", yield* read(ids[1] ?? 0, 2), ids.slice(2, 4))
      yield* expectEqual("last", yield* read(ids[3] ?? 0, 2), ids.slice(4))
      yield* expectEqual("nothing new", yield* read(ids[4] ?? 0, 2), [])
      const cancelled = { state: "cancelled", reason: "right_lost", attempt: null } as const
      for (let n = 0; n < 5; n++) yield* settle(start, settlement(yield* claimOne(start), cancelled))
      yield* store.purge({ before: start + 1, now: start + 1, after: 0, limit: 100 })
      yield* expectEqual("purged", yield* read(0, 2), [])
      const [later] = yield* enqueue(record(newEvent(6), integration))
      yield* expectEqual("after a purged one", yield* read(ids[4] ?? 0, 2), [later])
    })
  },
  {
    name: "the feed of a building or tenant has the events that it may see, in storage order, whatever their times",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      yield* enqueue(record(seenBy(1, 1, [1, 2], 50), integration), record(seenBy(2, 2, [1], 10)))
      yield* enqueue(record(seenBy(3, 1, [2, 2], 20)), record(seenBy(4, 1, [], 5), integration))
      const sees = {
        "building 1": [1, 3, 4],
        "building 2": [2],
        "tenant 1": [1, 2],
        "tenant 2": [1, 3],
        "tenant 3": []
      }
      const scopes = [building(1), building(2), tenant(1), tenant(2), tenant(3)]
      yield* expectEqual(
        "events",
        Object.fromEntries(
          yield* Effect.forEach(scopes, (scope) =>
            Effect.map(readEvents(scope, 0), (events) => [`${scope.type} ${scope.id}`, numbersOf(events)])
          )
        ),
        sees
      )
      const { items } = yield* store.eventFeed({ scope: building(1), after: 0, limit: 10 })
      yield* expectEqual("as stored", items[1]?.event, seenBy(3, 1, [2, 2], 20))
    })
  },
  {
    name: "the feed of a building that is read in parts has each event once, whatever the sizes of the events",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const events = Array.from({ length: 40 }, (_, at) => sizedEvent(at + 1))
      for (const event of events.slice(0, 5)) yield* enqueue(record(event))
      yield* enqueue(...events.slice(5).map((event) => record(event)))
      for (const [limit, maxBytes] of [[3], [40, 1], [7, 200], [40, 3_000], [40, 20_000], [50, 1_000_000]] as const) {
        const found: Array<Event> = []
        let reads = 0
        for (let part: FeedPart<FeedEvent> = { items: [], upTo: 0, more: true }; part.more && reads < 50; reads++) {
          const sized = maxBytes === undefined ? {} : { maxBytes }
          part = yield* store.eventFeed({ scope: building(1), after: part.upTo, limit, ...sized })
          found.push(...part.items.map(({ event }) => event))
          yield* expectEqual("the position", part.upTo, part.items.at(-1)?.seq)
        }
        yield* expectEqual(`in parts of ${limit} events or ${maxBytes} bytes`, found, events)
      }
    })
  },
  {
    name: "feeds that are limited to some types examine a bounded number of others, and continue after them",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const bindings = [{ resource_type: "access_log", actions: ["create"] }] as const
      const integration = yield* createIntegration({ bindings })
      const isCall = (n: number) => n === 3 || n > feedScan + 3
      const events = Array.from({ length: feedScan + 5 }, (_, at) =>
        newEvent(at + 1, { resource_type: isCall(at + 1) ? "call" : "access_log" })
      )
      yield* enqueue(...events.map((event) => record(event, integration)))
      const types = ["call"] as const
      const read = Effect.fnUntraced(function* (after: number, limit: number) {
        const part = yield* store.eventFeed({ scope: building(1), after, limit, types })
        const deliveries = yield* store.feed({ integration_id: integration.id, after, limit, types })
        yield* expectEqual(
          "the deliveries",
          deliveries.items.map(({ event }) => event.id),
          part.items.map(({ event }) => event.id)
        )
        yield* expectEqual("whether both end", deliveries.more, part.more)
        yield* expectEqual("the deliveries' end", deliveries.upTo, part.upTo)
        return { found: numbersOf(part.items.map(({ event }) => event)), upTo: part.upTo, more: part.more }
      })
      const first = yield* read(0, 10)
      yield* expectEqual("the first part", first, { found: [3], upTo: feedScan, more: true })
      const second = yield* read(first.upTo, 10)
      yield* expectEqual("the second", second, {
        found: [feedScan + 4, feedScan + 5],
        upTo: feedScan + 5,
        more: false
      })
      const [one] = (yield* store.eventFeed({ scope: building(1), after: first.upTo, limit: 1, types })).items
      yield* expectEqual("one call", one?.event.id, eventId(feedScan + 4))
      yield* expectEqual("nothing new", yield* read(second.upTo, 10), { found: [], upTo: second.upTo, more: false })
    })
  },
  {
    name: "`feedPlace` returns the first item of a feed after a position from a time on",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      yield* enqueue(record(newEvent(1, { created_at: start + 10 }), other, integration))
      yield* enqueue(record(newEvent(2, { created_at: start + 30, building_id: building2 }), other))
      yield* enqueue(record(newEvent(3, { created_at: start + 20 }), integration))
      yield* enqueue(record(newEvent(4, { created_at: start + 15 }), other, integration))
      const sources = [building(1), { type: "integration", id: integration.id }] as const
      for (const source of sources) {
        const place = (after: number, since: number) => store.feedPlace({ source, after, since: start + since })
        const first = yield* place(0, 0)
        yield* expectEqual("the first", first?.created_at, start + 10)
        const second = yield* place(first?.position ?? 0, 0)
        yield* expectEqual("the second", second?.created_at, start + 20)
        const third = yield* place(second?.position ?? 0, 0)
        yield* expectEqual("the third", third?.created_at, start + 15)
        yield* expectEqual("after the last", yield* place(third?.position ?? 0, 0), null)
        yield* expectEqual("from the time of the second", yield* place(0, 20), second)
        yield* expectEqual("from a time before the third", yield* place(second?.position ?? 0, 12), third)
        yield* expectEqual("from a later time", yield* place(0, 21), null)
      }
    })
  },
  {
    name: "`feedEnds` and `newScopes` follow the events that are stored",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const empty = yield* store.feedEnds
      yield* expectEqual("without events", [empty.deliveries.complete, empty.events.complete], [0, 0])
      yield* expectEqual("nothing new", yield* store.newScopes({ after: 0, limit: 10 }), {
        scopes: [],
        upTo: 0,
        more: false
      })
      yield* enqueue(record(seenBy(1, 1, [], 0), integration), record(seenBy(2, 2, [1, 2], 0)))
      const [, last] = yield* enqueue(record(seenBy(3, 1, [2], 0), integration, integration))
      const ends = yield* store.feedEnds
      const events = yield* store.eventFeed({ scope: tenant(2), after: 0, limit: 10 })
      yield* expectEqual("the last event", ends.events, {
        complete: events.upTo,
        assigned: events.upTo
      })
      yield* expectEqual("the last delivery", ends.deliveries, { complete: last, assigned: last })
      const all = yield* store.newScopes({ after: 0, limit: 10 })
      const keys = (scopes: ReadonlyArray<Scope>) => scopes.map(({ id, type }) => `${type} ${id}`).toSorted()
      yield* expectEqual("scopes", keys(all.scopes), ["building 1", "building 2", "tenant 1", "tenant 2"])
      yield* expectEqual("up to the end", [all.upTo, all.more], [events.upTo, false])
      const part = yield* store.newScopes({ after: 0, limit: 1 })
      yield* expectEqual("a part", [keys(part.scopes), part.more], [["building 1"], true])
      const rest = yield* store.newScopes({ after: part.upTo, limit: 10 })
      yield* expectEqual("the rest", keys(rest.scopes), ["building 1", "building 2", "tenant 1", "tenant 2"])
    })
  },
  {
    name: "`lastPurged` is the last item of a feed that a purge deleted, by type",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const busy = yield* createIntegration()
      const call = { resource_type: "call" } as const
      const event = (n: number, fields: Partial<Event> = {}) => newEvent(n, { created_at: start + n, ...fields })
      yield* enqueue(record(event(1, call), integration), record(event(2), integration), record(event(3), busy))
      yield* enqueue(record(event(4, { tenant_ids: [tenant1] })), record(event(5), integration))
      yield* enqueue(record(event(6, { building_id: building2 })))
      const leased = yield* claim(start + 10)
      const ended = leased.filter(({ integration: { id } }) => id === integration.id)
      yield* settle(start + 10, ...ended.map((each) => settlement(each)))
      const ids = yield* readDeliveries(integration.id)
      const events = (yield* store.eventFeed({ scope: building(1), after: 0, limit: 10 })).items
      const seqOf = (n: number) => events.find((each) => each.event.id === eventId(n))?.seq ?? 0
      const lastOf = (source: FeedSource, types?: ReadonlyArray<Event["resource_type"]>) =>
        store.lastPurged({ source, ...(types !== undefined && { types }) })
      const ofIntegration = { type: "integration", id: integration.id } as const
      yield* expectEqual("before a purge", yield* lastOf(building(1)), null)
      yield* store.purge({ before: start + 5, now: start + 10, after: 0, limit: 2 })
      yield* store.purge({ before: start + 5, now: start + 10, after: seqOf(2), limit: 100 })
      // Event 3 is not purged, because its delivery is still active; events 5 and 6 are too young.
      const fourth = { position: seqOf(4), created_at: start + 4 }
      yield* expectEqual("of the building", yield* lastOf(building(1)), fourth)
      yield* expectEqual("of the tenant", yield* lastOf(tenant(1)), fourth)
      yield* expectEqual("of others", [yield* lastOf(building(2)), yield* lastOf(tenant(2))], [null, null])
      yield* expectEqual("calls", yield* lastOf(building(1), ["call"]), { position: seqOf(1), created_at: start + 1 })
      yield* expectEqual("another type", yield* lastOf(building(1), ["door_forced"]), null)
      yield* expectEqual("of both types", yield* lastOf(building(1), ["call", "access_log"]), fourth)
      yield* expectEqual("deliveries", yield* lastOf(ofIntegration), { position: ids[1], created_at: start + 2 })
      yield* expectEqual("calls", yield* lastOf(ofIntegration, ["call"]), { position: ids[0], created_at: start + 1 })
      yield* expectEqual("of the busy one", yield* lastOf({ type: "integration", id: busy.id }), null)
      yield* expectEqual("kept events", numbersOf(yield* readEvents(building(1), 0)), [3, 5])
      yield* store.purge({ before: start + 6, now: start + 10, after: 0, limit: 100 })
      yield* expectEqual("later", yield* lastOf(building(1)), { position: seqOf(5), created_at: start + 5 })
    })
  }
]

const building2 = BuildingId.make(2)
const tenant1 = TenantId.make(1)

const seenBy = (n: number, building_id: number, tenants: ReadonlyArray<number>, after: number): Event =>
  newEvent(n, {
    building_id: BuildingId.make(building_id),
    tenant_ids: tenants.map((id) => TenantId.make(id)),
    created_at: start + after
  })

const readEvents = (scope: Scope, after: number) =>
  Effect.map(
    DeliveryStore.use((store) => store.eventFeed({ scope, after, limit: 100 })),
    ({ items }) => items.map(({ event }) => event)
  )

const readDeliveries = (integration_id: IntegrationId) =>
  Effect.map(
    DeliveryStore.use((store) => store.feed({ integration_id, after: 0, limit: 100 })),
    ({ items }) => items.map(({ delivery }) => delivery.id)
  )

/** The numbers that `newEvent` made events of. */
const numbersOf = (events: ReadonlyArray<Event>): ReadonlyArray<number> =>
  events.map(({ id }) => Number(id.slice("evt_".length)))
