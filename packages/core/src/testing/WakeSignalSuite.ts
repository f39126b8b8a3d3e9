/**
 * The contract of `WakeSignal`. `cases` are for every one; `inOneProcess` for one whose signals have arrived when they are given;
 * `betweenProcesses` for one that wakes dispatchers elsewhere too, which takes the time it takes: with the system's clock.
 */
import type { Scope } from "effect"
import { Context, Effect, Fiber } from "effect"
import { WakeSignal } from "../ports/WakeSignal.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { expectEqual } from "./SuiteCase.ts"

/** Processes over one store, which is another for each case. */
export class WakeProcesses extends Context.Service<
  WakeProcesses,
  {
    /** The `WakeSignal` of one more process, which hears from now on, and has been woken by nothing; until the scope ends. */
    readonly join: Effect.Effect<WakeSignal["Service"], never, Scope.Scope>
  }
>()("@doorhook/core/testing/WakeProcesses") {}

/** Lets other fibers run until they wait. */
const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

/** Fails when somebody who waits has been woken. */
const expectAsleep = Effect.fnUntraced(function* (what: string, waiting: Fiber.Fiber<unknown>) {
  yield* settleDown
  return yield* expectEqual(`${what}: woken`, waiting.pollUnsafe() !== undefined, false)
})

export const cases: ReadonlyArray<SuiteCase<WakeSignal>> = [
  {
    name: "a signal wakes who waits, and nothing else does",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const waiting = yield* Effect.forkChild(wake.wait)
      yield* expectAsleep("before a signal", waiting)
      yield* wake.signal
      yield* Fiber.join(waiting)
    })
  },
  {
    name: "a signal while nobody waits is kept, and each that follows a wake-up wakes anew",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      for (const _ of [1, 2, 3]) {
        yield* wake.signal
        yield* wake.wait
      }
      yield* expectAsleep("without another", yield* Effect.forkChild(wake.wait))
    })
  },
  {
    name: "who gives up waiting takes no signal along",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const waiting = yield* Effect.forkChild(wake.wait, { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* wake.signal
      yield* wake.wait
    })
  },
  {
    name: "a signal tells of no change",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const told = yield* Effect.forkChild(wake.changes)
      yield* wake.signal
      yield* wake.wait
      yield* expectAsleep("who waits for changes", told)
    })
  }
]

export const inOneProcess: ReadonlyArray<SuiteCase<WakeSignal>> = [
  {
    name: "signals while nobody waits are kept as one",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      for (const _ of [1, 2, 3]) yield* wake.signal
      yield* wake.wait
      yield* expectAsleep("a second time", yield* Effect.forkChild(wake.wait))
    })
  }
]

export const betweenProcesses: ReadonlyArray<SuiteCase<WakeProcesses>> = [
  {
    name: "every process hears a signal, its own included",
    run: Effect.gen(function* () {
      const { join } = yield* WakeProcesses
      const [a, b, c] = [yield* join, yield* join, yield* join]
      for (const signalling of [a, b, c, a]) {
        yield* signalling.signal
        for (const { wait } of [a, b, c]) yield* wait
      }
    }).pipe(Effect.scoped)
  },
  {
    name: "a signal reaches all who wait at that time",
    run: Effect.gen(function* () {
      const { join } = yield* WakeProcesses
      const [a, b] = [yield* join, yield* join]
      const waiting = yield* Effect.forEach([a, b], ({ wait }) => Effect.forkChild(wait))
      for (const each of waiting) yield* expectAsleep("before a signal", each)
      yield* b.signal
      yield* Fiber.joinAll(waiting)
    }).pipe(Effect.scoped)
  },
  {
    name: "a process that has ended is missed by none",
    run: Effect.gen(function* () {
      const { join } = yield* WakeProcesses
      const a = yield* join
      const b = yield* join
      yield* Effect.scoped(Effect.flatMap(join, ({ signal }) => signal))
      for (const { wait } of [a, b]) yield* wait
      yield* b.signal
      for (const { wait } of [a, b]) yield* wait
    }).pipe(Effect.scoped)
  }
]
