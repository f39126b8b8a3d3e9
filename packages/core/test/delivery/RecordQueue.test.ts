/**
 * The record queue records every added result once, in batches. Each batch is one transaction.
 */
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { RecordQueue } from "../../src/delivery/RecordQueue.ts"
import { settleExpired } from "../../src/delivery/Settlements.ts"
import { makeLeased } from "../fixtures.ts"

describe("RecordQueue", () => {
  it("returns every result once, in limited batches of one worker each", () => {
    const step = fc.record({
      kind: fc.constantFrom("outcome", "release"),
      worker: fc.constantFrom("a", "a", "b"),
      count: fc.integer({ min: 1, max: 2_000 }),
      take: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const queue = new RecordQueue()
        const added = { a: Array<number>(), b: Array<number>() }
        const taken = { a: Array<number>(), b: Array<number>() }
        let nextId = 1
        const take = (): void => {
          const batch = queue.take()
          if (batch === undefined) return assert.strictEqual(queue.waiting, 0)
          assert.isAtMost(batch.outcomes.length, 150)
          assert.isAtMost(batch.releases.length, 1_500)
          const ofBatch = batch.worker === "a" ? taken.a : taken.b
          for (const { delivery, worker } of batch.outcomes) {
            assert.strictEqual(worker, batch.worker)
            ofBatch.push(delivery.id)
          }
          ofBatch.push(...batch.releases.map(({ delivery_id }) => delivery_id))
          assert.include(queue.ids(), ofBatch.at(-1), "held until it is recorded")
          queue.over(0)
        }
        for (const { count, kind, take: takes, worker } of steps) {
          for (let n = 0; n < count; n++) {
            const delivery = makeLeased(nextId++)
            const of = worker === "a" ? added.a : added.b
            of.push(delivery.id)
            if (kind === "release") queue.release(worker, { delivery_id: delivery.id, due_at: 0 })
            else queue.record({ delivery, settlement: settleExpired(delivery), worker, countsForHealth: false }, 0)
          }
          if (takes) take()
        }
        assert.strictEqual(queue.ids().length + taken.a.length + taken.b.length, nextId - 1)
        while (!queue.isEmpty) take()
        const sorted = (ids: ReadonlyArray<number>) => ids.toSorted((a, b) => a - b)
        assert.deepStrictEqual({ a: sorted(taken.a), b: sorted(taken.b) }, added)
        assert.strictEqual(queue.unsettled, 0)
        assert.isNull(queue.unsettledSince)
      }),
      { numRuns: 30 }
    )
  })

  it("sets results aside in limited batches", () => {
    const queue = new RecordQueue()
    for (const first of [1, 1_001]) {
      const ids = Array.from({ length: 1_000 }, (_, at) => makeLeased(first + at).id)
      for (const delivery_id of ids) queue.release("a", { delivery_id, due_at: 0 })
      queue.take()
      queue.postpone(new Set(ids), 0)
      queue.over(0)
    }
    queue.resume(1_000)
    assert.deepEqual([queue.take()?.releases.length, queue.take()?.releases.length], [1_000, 1_000])
  })

  it("reports since when outcomes wait without progress", () => {
    const queue = new RecordQueue()
    const record = (id: number, worker: string, now: number) => {
      const delivery = makeLeased(id)
      return queue.record({ delivery, settlement: settleExpired(delivery), worker, countsForHealth: true }, now)
    }
    record(1, "a", 1_000)
    record(2, "b", 2_000)
    assert.strictEqual(queue.unsettledSince, 1_000)
    queue.take()
    queue.over(3_000)
    assert.strictEqual(queue.unsettledSince, 3_000, "the first batch is recorded")
    assert.strictEqual(queue.unsettled, 1)
  })
})
