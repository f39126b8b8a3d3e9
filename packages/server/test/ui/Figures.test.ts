import { DeliveryId, DeliveryStore, EventId, IntegrationId, MemoryStore } from "@doorhook/core"
import type { FigureFilter, FigureRow } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeFigures } from "../../src/ui/Figures.ts"

const now = 1_000_000_000

/** The row that a query returns for its range of ids: one delivery for each id, all in the step before now. */
const rowOf = ({ before, from, step }: FigureFilter): FigureRow => ({
  at: now - (now % step),
  state: "delivered",
  latency: 0,
  count: before - from
})

describe("the figures of deliveries", () => {
  it.live("are counted a few thousand ids at a time, and other work has a turn before each query", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const asked: Array<FigureFilter & { readonly turn: number }> = []
      let turn = 0
      let isOver = false
      const next = (): void => {
        turn += 1
        if (!isOver) setImmediate(next)
      }
      next()
      const counting = DeliveryStore.of({
        ...store,
        list: () => Effect.succeed([newest]),
        figures: (filter) =>
          Effect.sync(() => {
            asked.push({ ...filter, turn })
            return [rowOf(filter)]
          })
      })
      const search = { placeOf: () => Effect.succeed(DeliveryId.make(1)) }
      const figures = yield* Effect.provideService(makeFigures(search), DeliveryStore, counting)
      const { counted_from, total } = yield* figures.of(null, "day", now)
      isOver = true
      assert.deepStrictEqual([total, counted_from], [12_000, null])
      assert.deepStrictEqual(
        asked.map(({ before, from }) => [from, before]),
        [
          [7_001, 12_001],
          [2_001, 7_001],
          [1, 2_001]
        ]
      )
      assert.isTrue(asked.every((one, at) => one.turn > (asked[at - 1]?.turn ?? 0)))
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})

/** The newest of 12,000 deliveries. */
const newest = {
  id: DeliveryId.make(12_000),
  event_id: EventId.make(`evt_${"0".repeat(20)}`),
  integration_id: IntegrationId.make(1),
  state: "delivered",
  reason: null,
  attempts: 1,
  next_attempt_at: null,
  created_at: now,
  resource_type: "call",
  last_attempt: null
} as const
