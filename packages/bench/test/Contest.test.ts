/**
 * Contests in which a contender fails.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { answersOf, contest, failureOf } from "../src/harness/Contest.ts"

const contenders = { ours: ["ours"], peers: ["slow", "broken"] }

/**
 * Runs three rounds in which the contender `failing` fails from its turn `from` on. Returns the outcome and the order
 * of turns.
 */
const play = Effect.fnUntraced(function* (failing: string, from: number) {
  const played: Array<string> = []
  const outcome = yield* contest<string, number, string, never>(
    contenders,
    3,
    (name) => {
      played.push(name)
      const turns = played.filter((one) => one === name).length
      return name === failing && turns >= from ? Effect.fail("no more") : Effect.succeed(turns)
    },
    String
  )
  return { outcome, played }
})

describe("a contest", () => {
  it.effect("lets contenders take turns", () =>
    Effect.gen(function* () {
      const { outcome, played } = yield* play("nobody", 1)
      assert.deepEqual(played, ["ours", "slow", "broken", "ours", "slow", "broken", "ours", "slow", "broken"])
      assert.deepEqual(answersOf(outcome, "slow"), [1, 2, 3])
    })
  )

  it.effect("continues without a failed peer, whose earlier results do not count", () =>
    Effect.gen(function* () {
      const { outcome, played } = yield* play("broken", 2)
      assert.deepEqual(played, ["ours", "slow", "broken", "ours", "slow", "broken", "ours", "slow"])
      assert.deepEqual(answersOf(outcome, "broken"), [])
      assert.deepEqual(failureOf(outcome, "broken"), { failed: "no more" })
      assert.deepEqual(failureOf(outcome, "slow"), {})
      assert.deepEqual(answersOf(outcome, "ours"), [1, 2, 3])
    })
  )

  it.effect("fails when one of our contenders fails", () =>
    Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(play("ours", 2))))
    })
  )
})
