/**
 * Rules of `DeliveryStore.feed`.
 */
import { Effect } from "effect"
import type { Event } from "../../model/Event.ts"
import type { DeliveryId } from "../../model/Ids.ts"
import type { FeedPart } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  claimOne,
  createIntegration,
  enqueue,
  findDelivery,
  newEvent,
  record,
  records,
  settle,
  settlement,
  sizedEvent,
  start
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
        let after: DeliveryId | 0 = 0
        for (let part: FeedPart = { items: [], isCut: true }; part.isCut;) {
          part = yield* store.feed({ integration_id: integration.id, after, limit: 40 - found.length, maxBytes })
          found.push(...part.items.map(({ event }) => event))
          after = part.items.at(-1)?.delivery.id ?? after
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
  }
]
