/**
 * When an integration with many open deliveries is removed or disabled, every call immediately returns them as
 * cancelled. Their rows are updated later.
 */
import { deliveryStates, DeliveryStore, IntegrationStore } from "@doorhook/core"
import type { Integration } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { CancellationBatch } from "../src/stores/Cancellations.ts"
import { onStore } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claim, createIntegration, enqueue, nextDue, records, release, start } = StoreFixtures

const many = 3_000

/** Makes batches so small that the updates take longer than a call on a slow disk. */
const slowly = Effect.provideService(CancellationBatch, 3)

/** Counts the open rows and the unfinished cancellations in a file. */
const rowsIn = (filename: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(filename)
    const count = (query: string) => Number(db.prepare(`SELECT count(*) AS n FROM ${query}`).get()?.["n"])
    const counts = { open: count("deliveries WHERE state IN (0, 2)"), cancellations: count("cancellations") }
    db.close()
    return counts
  })

/** Creates an integration with many deliveries, the first three of them leased, and one with a single delivery. */
const fill = Effect.gen(function* () {
  const dead = yield* createIntegration()
  const well = yield* createIntegration()
  const ids = yield* enqueue(...records(1, many, dead))
  yield* enqueue(...records(many + 1, many + 1, well))
  const leased = yield* claim(start, { limit: 3, limits: StoreFixtures.nothingOf(well) })
  return { dead, well, ids, leased }
})

/** Checks that all reads return the integration's deliveries as cancelled. None of them may still be leased. */
const expectAllCancelled = Effect.fnUntraced(function* (ofDead: Integration, ids: ReadonlyArray<number>) {
  const store = yield* DeliveryStore
  const { states } = yield* store.summary(start)
  assert.deepEqual([states.cancelled, states.pending, states.delivering], [many, 1, 0])
  const list = yield* store.list({ integration_id: ofDead.id, limit: 10 })
  assert.deepEqual(
    list.map(({ id }) => id),
    ids.slice(0, 10)
  )
  assert.isTrue(list.every(({ next_attempt_at, state }) => state === "cancelled" && next_attempt_at === null))
  const byState = yield* Effect.forEach(deliveryStates, (state) =>
    Effect.map(store.list({ states: [state], integration_id: ofDead.id, limit: many }), ({ length }) => [state, length])
  )
  assert.deepEqual(
    byState.filter(([, length]) => length !== 0),
    [["cancelled", many]]
  )
})

describe("cancelling many deliveries", () => {
  it.effect("shows all of them as cancelled as soon as their integration is removed", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const use = Effect.gen(function* () {
        const { dead, ids, leased, well } = yield* fill
        assert.isTrue(yield* (yield* IntegrationStore).remove(dead))
        // When the removal returns, at most the first rows are updated.
        const left = yield* rowsIn(filename)
        assert.strictEqual(left.cancellations, 1)
        assert.isAbove(left.open, 1)
        const others = yield* claim(start)
        assert.deepEqual(
          others.map(({ integration }) => integration.id),
          [well.id]
        )
        assert.isNull(yield* nextDue(start))
        yield* release(start, start, [...leased, ...others])
        yield* expectAllCancelled(dead, ids)
        while ((yield* rowsIn(filename)).cancellations > 0) yield* Effect.yieldNow
        assert.strictEqual((yield* rowsIn(filename)).open, 1)
        yield* expectAllCancelled(dead, ids)
      })
      yield* slowly(onStore({ filename }, use))
    })
  )

  it.effect("updates their rows when the file is opened again, if the update failed before", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const filled = yield* onStore(
        { filename },
        Effect.tap(fill, ({ dead }) => IntegrationStore.use((store) => store.remove(dead)))
      )
      assert.strictEqual((yield* rowsIn(filename)).cancellations, 1)
      const moved = Effect.gen(function* () {
        while ((yield* rowsIn(filename)).cancellations > 0) yield* Effect.yieldNow
        assert.strictEqual((yield* rowsIn(filename)).open, 1)
        yield* expectAllCancelled(filled.dead, filled.ids)
      })
      yield* onStore({ filename }, moved)
    })
  )
})
