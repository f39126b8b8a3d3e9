/**
 * Lists of events on SQLite. The thread that sends deliveries reads these lists too, so reading must leave time for
 * other work.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const { building, enqueue, newEvent, record } = StoreFixtures

describe("pages of events", () => {
  it.live("that are requested at the same time are read one per turn of the event loop", () =>
    Effect.gen(function* () {
      yield* enqueue(record(newEvent(1)))
      const store = yield* DeliveryStore
      const page = { scope: building(1), resource_type: "access_log", offset: 0, limit: 10, countUpTo: 10 } as const
      let turn = 0
      let ticking = true
      const tick = () => {
        turn++
        if (ticking) setImmediate(tick)
      }
      tick()
      const turns = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => Effect.map(store.events(page), () => turn),
        { concurrency: "unbounded" }
      )
      ticking = false
      assert.lengthOf(new Set(turns), 10)
    }).pipe(Effect.provide(SqliteStore.layer({ filename: ":memory:" })))
  )
})
