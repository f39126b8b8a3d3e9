/**
 * Every wrong receiver must fail its requirement, and every right one must fail none. `CONFORMANCE_SEEDS=20` tests the
 * right receivers on all requirements up to level 3, with 20 seeds.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { faults, survival, tryRight } from "./mutants/Faults.ts"
import { rightReceivers } from "./mutants/Right.ts"
import { assertRight } from "./support/right.ts"

const { CONFORMANCE_SEEDS } = process.env
const whole = CONFORMANCE_SEEDS !== undefined
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

describe.concurrent("a wrong receiver fails its requirement", () => {
  it.live.each(faults.map((fault) => ({ ...fault, title: `${fault.requirement}, ${fault.name}: ${fault.does}` })))(
    "$title",
    (fault) =>
      Effect.gen(function* () {
        assert.isNull(yield* survival(fault, false))
      }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe.concurrent("a right but unusual receiver does not fail", () => {
  it.live.each(rightReceivers)(
    "$name",
    (receiver) =>
      Effect.gen(function* () {
        for (const seed of seeds) assertRight(yield* tryRight(receiver, { whole, seed }), receiver.warned)
      }).pipe(Effect.provide(NodePlatform.layer)),
    seeds.length * 300_000
  )
})
