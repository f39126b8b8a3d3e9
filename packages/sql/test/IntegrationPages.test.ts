/**
 * Pages of an integration's deliveries on SQLite. Deliveries are added to the table `deliveries_of` in batches of
 * thousands, so a page can mix deliveries from that table with newer ones.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

const { building, createIntegration, enqueue, records } = StoreFixtures

it.effect("feeds and lists contain both added and new deliveries", () =>
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const [one, other] = [yield* createIntegration(), yield* createIntegration()]
    yield* enqueue(...records(1, 3, one), ...records(4, 6, other))
    // This call adds the new deliveries to `deliveries_of`.
    yield* store.events({ scope: building(1), resource_type: "access_log", offset: 0, limit: 1, countUpTo: 1 })
    yield* enqueue(...records(7, 8, other), ...records(9, 10, one))
    const of = { integration_id: one.id } as const
    const pageOf = (...args: Parameters<typeof store.list>) =>
      Effect.map(store.list(...args), (found) => found.map(({ id }) => Number(id)))
    assert.deepEqual(yield* pageOf({ ...of, limit: 10 }), [1, 2, 3, 9, 10])
    assert.deepEqual(yield* pageOf({ ...of, limit: 4 }), [1, 2, 3, 9])
    assert.deepEqual(yield* pageOf({ ...of, limit: 3, order: "newest" }), [10, 9, 3])
    const [, , third] = yield* store.list({ ...of, limit: 3 })
    assert.deepEqual(yield* pageOf({ ...of, limit: 4, ...(third && { after: third.id }) }), [9, 10])
    const { items } = yield* store.feed({ ...of, after: 0, limit: 4 })
    assert.deepEqual(
      items.map(({ delivery }) => Number(delivery.id)),
      [1, 2, 3, 9]
    )
  }).pipe(Effect.provide(SqliteStore.layer({ filename: ":memory:" })))
)
