/**
 * The heap returns the item that is due first, whatever was added and removed.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { DueHeap } from "../../src/memory/DueHeap.ts"

interface Item {
  readonly id: number
  readonly standing: { readonly due_at: number }
  heap_index: number
}

const step = fc.oneof(
  fc.record({ op: fc.constant("add"), due_at: fc.nat(20) }),
  fc.record({ op: fc.constant("remove"), place: fc.nat(100) })
)

describe("DueHeap", () => {
  it("always has the same first item as a sorted list", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const heap = new DueHeap<Item>()
        let items: ReadonlyArray<Item> = []
        steps.forEach((step, id) => {
          if (step.op === "add") {
            const item = { id, standing: { due_at: step.due_at }, heap_index: 0 }
            heap.add(item)
            items = [...items, item].toSorted((a, b) => a.standing.due_at - b.standing.due_at || a.id - b.id)
          } else {
            const item = items[step.place % Math.max(1, items.length)]
            if (item !== undefined) heap.remove(item)
            items = items.filter((other) => other !== item)
          }
          assert.strictEqual(heap.first, items[0])
          assert.strictEqual(heap.size, items.length)
        })
      })
    )
  })
})
