/**
 * Loops that run until their scope closes.
 */
import { assert, describe, it } from "@effect/vitest"
import { runForever } from "@doorhook/core"
import { Clock, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"

const rounds = (log: (line: string) => void) =>
  Effect.gen(function* () {
    const at: Array<number> = []
    const round = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      at.push(now)
      if (at.length === 2) return Effect.logWarning("a line of its own")
      return at.length === 3 ? Effect.die(new Error("a defect")) : Effect.sleep("1 second")
    })
    yield* Effect.forkScoped(runForever("Going round", round))
    yield* TestClock.adjust("5 seconds")
    return at
  }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => log(String(message)))])))

describe("a loop", () => {
  it.effect("logs a defect, pauses, and continues", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      assert.deepStrictEqual(yield* rounds((line) => lines.push(line)), [0, 1_000, 1_000, 2_000, 3_000, 4_000, 5_000])
      assert.match(lines.join("\n"), /Going round failed; it continues/)
    })
  )

  it.effect("continues if the logger throws at every line", () =>
    Effect.gen(function* () {
      const at = yield* rounds(() => {
        throw new Error("write after end")
      })
      assert.deepStrictEqual(at, [0, 1_000, 2_000, 3_000, 4_000, 5_000])
    })
  )
})
