/**
 * A run that is interrupted while it operates the receiver leaves the receiver running.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { accessLog } from "../src/history/Events.ts"
import type { Operation } from "../src/history/Operations.ts"
import { HookFailed, noHooks } from "../src/hooks/Hooks.ts"
import type { Hooks } from "../src/hooks/Hooks.ts"
import { acknowledge, receiver } from "./support/receiver.ts"
import { executeIn, settingOf } from "./support/setting.ts"

type Doing = "pause" | "resume" | "kill" | "restart" | "ready"

/** Records the calls of hooks in order. The first call of the hook `slow` lasts until `letGo` is completed. */
const slowAt = Effect.fnUntraced(function* (slow: Doing) {
  const done: Array<Doing> = []
  const begun = yield* Deferred.make<void>()
  const letGo = yield* Deferred.make<void>()
  const act = (doing: Doing): Effect.Effect<void> =>
    Effect.suspend(() =>
      doing === slow && !done.includes(doing)
        ? Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(letGo))
        : Effect.void
    ).pipe(Effect.tap(() => Effect.sync(() => done.push(doing))))
  return { act, begun, done, letGo }
})

const executed = Effect.fnUntraced(function* (operation: Operation, hooks: Partial<Hooks>) {
  const { url } = yield* receiver(acknowledge)
  return yield* executeIn(
    { v: 1, ops: [operation] },
    settingOf(new URL(url), { hooks: { ...noHooks, ...hooks }, comeback: 1_000 })
  )
})

/** Interrupts a run in the middle of the hook `slow`. Returns all hooks that were called before the run ended. */
const interruptedAt = Effect.fnUntraced(function* (slow: Doing, operation: Operation, has: ReadonlyArray<Doing>) {
  const { act, begun, done, letGo } = yield* slowAt(slow)
  const hooks = { ...Object.fromEntries(has.map((doing) => [doing, act(doing)])), ready: act("ready") }
  const running = yield* Effect.forkScoped(executed(operation, hooks))
  yield* Deferred.await(begun)
  const interrupting = yield* Effect.forkScoped(Fiber.interrupt(running), { startImmediately: true })
  yield* Deferred.succeed(letGo, undefined)
  yield* Fiber.join(interrupting)
  return done
})

const pause: Operation = { k: "pause_during", events: [accessLog] }
const kill: Operation = { k: "kill_amid", event: accessLog, workers: 1, after: 5 }

describe("a receiver is left running", () => {
  it.live("by a run that is interrupted while pausing it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* interruptedAt("pause", pause, ["pause", "resume"]), ["pause", "resume"])
    })
  )

  it.live("by a run whose pause command fails, perhaps after pausing it", () =>
    Effect.gen(function* () {
      let resumed = 0
      const hooks: Partial<Hooks> = {
        pause: Effect.fail(new HookFailed({ message: "--pause-cmd did not end within 30 s" })),
        resume: Effect.sync(() => void resumed++)
      }
      const { broke } = yield* executed(pause, hooks)
      assert.match(broke?.message ?? "", /^--pause-cmd did not end/)
      assert.strictEqual(resumed, 1)
    })
  )

  it.live("by a run whose kill command fails, perhaps after killing it, if a hook can restart it", () =>
    Effect.gen(function* () {
      let restarted = 0
      const { broke } = yield* executed(kill, {
        kill: Effect.fail(new HookFailed({ message: "--kill-cmd ended with 1" })),
        restart: Effect.sync(() => void restarted++)
      })
      assert.match(broke?.message ?? "", /^--kill-cmd ended with 1/)
      assert.strictEqual(restarted, 1)
    })
  )

  it.live("by a run that is interrupted while killing it, if a hook can restart it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* interruptedAt("kill", kill, ["kill", "restart"]), ["kill", "restart"])
    })
  )

  it.live("by a run that is interrupted while restarting it", () =>
    Effect.gen(function* () {
      for (const operation of [kill, { k: "restart" } as const]) {
        assert.deepStrictEqual(yield* interruptedAt("restart", operation, ["restart"]), ["restart"])
      }
    })
  )
})
