/** Deliberate faults in the engine's sources, each detected by the check of the promise that it breaks. */
import { startNode } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { sabotages } from "./Sabotage.ts"

const program = fileURLToPath(new URL("../src/main.ts", import.meta.url))
const hook = new URL("Sabotage.ts", import.meta.url).href

/** Runs a seed of the simulation, with a fault in the engine or without one. */
const simulate = Effect.fnUntraced(function* (seed: number, fault?: string) {
  const env = fault === undefined ? {} : { SABOTAGE: fault }
  const args = ["--conditions=source", "--no-warnings", "--import", hook, program, "--seed", String(seed)]
  const { finished } = yield* startNode(args, { env })
  return yield* Effect.promise(() => finished)
}, Effect.scoped)

describe("the simulation detects that", () => {
  it.live.each(Object.entries(sabotages))("%s", ([fault, { check, seed }]) =>
    Effect.gen(function* () {
      const { code, stdout } = yield* simulate(seed, fault)
      assert.include(stdout, `seed ${seed} breaks ${check} `)
      assert.strictEqual(code, 1)
      const sound = yield* simulate(seed)
      assert.strictEqual(sound.code, 0, sound.stdout)
    })
  )
})
