/**
 * Wrong receivers must fail their requirements, and right ones must fail none: a random sample of them in each run, all
 * with `DOORHOOK_WHOLE=1`. `CONFORMANCE_SEEDS=20` tests all right receivers on all requirements up to level 3, with 20
 * seeds.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { sample } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { faults, survival, tryRight } from "./mutants/Faults.ts"
import { rightReceivers } from "./mutants/Right.ts"
import { assertRight } from "./support/right.ts"

const { CONFORMANCE_SEEDS } = process.env
const whole = CONFORMANCE_SEEDS !== undefined
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

describe.concurrent("a wrong receiver fails its requirement", () => {
  const titled = faults.map((fault) => ({ ...fault, title: `${fault.requirement}, ${fault.name}: ${fault.does}` }))
  it.live.each(sample(titled, 16))("$title", (fault) =>
    Effect.gen(function* () {
      assert.isNull(yield* survival(fault, false))
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe.concurrent("a right but unusual receiver does not fail", () => {
  it.live.each(whole ? rightReceivers : sample(rightReceivers, 5))(
    "$name",
    (receiver) =>
      Effect.gen(function* () {
        for (const seed of seeds) assertRight(yield* tryRight(receiver, { whole, seed }), receiver.warned)
      }).pipe(Effect.provide(NodePlatform.layer)),
    seeds.length * 300_000
  )
})
