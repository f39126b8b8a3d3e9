/**
 * The memory of a plan does not grow with the plan's length.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { runProgram } from "../src/harness/Processes.ts"

const program = fileURLToPath(new URL("planHeap.ts", import.meta.url))

interface Heap {
  readonly events: number
  readonly used: ReadonlyArray<number>
}

describe("plans", () => {
  it.live("of a hundred buildings take no more memory for fifteen days than for five", () =>
    Effect.gen(function* () {
      const { events, used } = yield* runProgram<Heap>("the long plan", program, ["15"])
      assert.isAbove(events, 100_000)
      assert.isAtLeast(used.length, 4)
      const [first = 0] = used
      for (const bytes of used) assert.isBelow(bytes, first + 4_000_000, used.join(" "))
    })
  )
})
