/** Arguments of `npm run simulate:seeds`. */
import { startNode } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const seeds = fileURLToPath(new URL("../src/main.ts", import.meta.url))

describe("simulate:seeds", () => {
  it.live.each([
    [["10000", "--seed", "5"], "--seed 5 runs a single seed: leave out 10000. Usage: "],
    [["--seed", "5", "--from", "3"], "leave out --from 3. Usage: "],
    [["10", "20"], "Unexpected argument 20 after the number of seeds. Usage: "],
    [["--sed", "5"], "Unknown option '--sed'. Usage: "],
    [["many"], "many is not a whole number. Usage: "],
    [["--store", "paper"], "paper is not a store. Usage: "]
  ] as const)("refuses %j and prints the usage", ([args, says]) =>
    Effect.gen(function* () {
      const { finished } = yield* startNode(["--conditions=source", seeds, ...args])
      const { code, stderr, stdout } = yield* Effect.promise(() => finished)
      assert.deepStrictEqual([code, stdout], [3, ""])
      assert.include(stderr, says)
    })
  )
})
