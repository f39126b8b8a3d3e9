/**
 * Rules of `DeliveryStore.purge`.
 */
import { Effect } from "effect"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  claim,
  createIntegration,
  enqueue,
  eventId,
  keptEvent,
  newEvent,
  record,
  retryAt,
  settle,
  settlement,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

/** Stores events number 1 to `count`, a second apart, each with a delivery to the same integration. */
const spread = Effect.fnUntraced(function* (count: number) {
  const integration = yield* createIntegration()
  for (let n = 1; n <= count; n++) yield* enqueue(record(newEvent(n, { created_at: start + n * 1_000 }), integration))
  return integration
})

export const purgeCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "`purge` deletes old events with their settled deliveries and attempts, and updates the counts",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* spread(4)
      const now = start + 10_000
      const leased = yield* claim(now)
      yield* settle(now, ...leased.map((each) => settlement(each)))
      const purged = yield* store.purge({ before: start + 3_000, now, after: 0, limit: 100 })
      yield* expectEqual("purged", purged, { events: 2, deliveries: 2, next: null })
      const events = yield* Effect.forEach([1, 2, 3, 4], (n) => keptEvent(newEvent(n)))
      yield* expectEqual(
        "events left",
        events.map((event) => event?.id),
        [undefined, undefined, eventId(3), eventId(4)]
      )
      const left = yield* store.list({ limit: 10 })
      yield* expectEqual(
        "deliveries left",
        left.map(({ event_id }) => event_id),
        [eventId(3), eventId(4)]
      )
      const [first] = leased
      if (first !== undefined) yield* expectEqual("a purged one", yield* store.find(first.id), null)
      const { events: count, states } = yield* store.summary(now)
      yield* expectEqual("counts", [count, states.delivered], [2, 2])
    })
  },
  {
    name: "`purge` keeps unsettled deliveries, however old, with their event and its other deliveries",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const [one, two] = [yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(record(newEvent(1), one, two), record(newEvent(2), one))
      const leased = yield* claim(start)
      const ofTwo = leased.filter(({ integration }) => integration.id === two.id)
      const ofOne = leased.filter(({ integration }) => integration.id === one.id)
      yield* settle(start, ...ofTwo.map((each) => settlement(each)), ...ofOne.map((each) => retryAt(each, start + 5)))
      const purged = yield* store.purge({ before: start + 1_000_000, now: start + 1_000_000, after: 0, limit: 100 })
      yield* expectEqual("purged", purged, { events: 0, deliveries: 0, next: null })
      yield* expectEqual("left", (yield* store.list({ limit: 10 })).length, 3)
      const again = yield* claim(start + 5)
      yield* settle(start + 6, ...again.map((each) => settlement(each)))
      const rest = yield* store.purge({ before: start + 1_000_000, now: start + 1_000_000, after: 0, limit: 100 })
      yield* expectEqual("purged once it is settled", rest, { events: 2, deliveries: 3, next: null })
    })
  },
  {
    name: "each purge continues where the previous purge ended, and skips events with unsettled deliveries",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* spread(7)
      const now = start + 10_000
      const leased = yield* claim(now)
      yield* settle(now, ...leased.map((each, n) => (n === 0 ? retryAt(each, now + 5) : settlement(each))))
      const events: Array<number> = []
      let after: number | null = 0
      while (after !== null) {
        const purged: { readonly events: number; readonly next: number | null } = yield* store.purge({
          before: start + 6_500,
          now,
          after,
          limit: 2
        })
        events.push(purged.events)
        after = purged.next
        if (events.length > 10) break
      }
      yield* expectEqual(
        "events purged in total",
        events.reduce((sum, count) => sum + count, 0),
        5
      )
      yield* expectEqual("no call purges more than its limit", Math.max(...events) <= 2, true)
      const left = yield* store.list({ limit: 10 })
      yield* expectEqual(
        "left",
        left.map(({ event_id }) => event_id),
        [eventId(1), eventId(7)]
      )
    })
  },
  {
    name: "`purge` skips events that are wrongly dated in the future, and stops when no old events are left",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const wrong = start + 365 * 86_400_000
      const times = [1_000, wrong, 2_000, wrong, wrong, 3_000].map((at, n) => newEvent(n + 1, { created_at: at }))
      yield* enqueue(...times.map((event) => record(event)))
      const purge = (after: number) => store.purge({ before: start, now: start, after, limit: 2 })
      const first = yield* purge(0)
      const second = yield* purge(first.next ?? 0)
      const third = yield* purge(second.next ?? 0)
      yield* expectEqual(
        "number of purged events, and whether the round continues",
        [first, second, third].map(({ events, next }) => [events, next !== null]),
        [
          [1, true],
          [1, true],
          [1, false]
        ]
      )
      const again = yield* purge(0)
      const end = yield* purge(again.next ?? 0)
      yield* expectEqual("the next round, without old events", [again.events, end.events, end.next], [0, 0, null])
      yield* expectEqual("left", (yield* store.summary(start)).events, 3)
    })
  },
  {
    name: "`purge` deletes old notifications that follow notifications dated in the future, and no others",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const wrong = start + 365 * 86_400_000
      for (const at of [wrong, wrong, wrong, start, start + 1_000]) {
        const about = { integration_id: null, scope: null, at, ahead_ms: 1, until: at + 1 }
        yield* store.addNotification({ kind: "retention_paused", ...about })
      }
      yield* store.purge({ before: start + 1_000, now: start + 1_000, after: 0, limit: 2 })
      const left = yield* store.notifications({ limit: 10 })
      yield* expectEqual(
        "notifications left",
        left.map(({ at }) => at),
        [wrong, wrong, wrong, start + 1_000]
      )
    })
  }
]
