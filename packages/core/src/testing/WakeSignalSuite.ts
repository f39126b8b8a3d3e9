/**
 * The contract of `WakeSignal`. `cases` apply to all implementations. `inOneProcess` is for implementations whose
 * signals have arrived when `signal` returns. `betweenProcesses` is for implementations that also wake other processes.
 * The cases of `betweenProcesses` need the system's clock, because signals between processes take time.
 */
import type { Scope } from "effect"
import { Context, Effect, Fiber } from "effect"
import { WakeSignal } from "../ports/WakeSignal.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { expectEqual } from "./SuiteCase.ts"

/** Several processes over one store. Each case has its own store. */
export class WakeProcesses extends Context.Service<
  WakeProcesses,
  {
    /**
     * Starts another process, which ends with the scope, and returns its `WakeSignal`. The new process does not receive
     * earlier signals.
     */
    readonly join: Effect.Effect<WakeSignal["Service"], never, Scope.Scope>
  }
>()("@doorhook/core/testing/WakeProcesses") {}

/** Lets other fibers run until they wait. */
const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

/** Fails if a waiting fiber was woken. */
const expectAsleep = Effect.fnUntraced(function* (what: string, waiting: Fiber.Fiber<unknown>) {
  yield* settleDown
  return yield* expectEqual(`${what}: woken`, waiting.pollUnsafe() !== undefined, false)
})

export const cases: ReadonlyArray<SuiteCase<WakeSignal>> = [
  {
    name: "a signal wakes a waiting dispatcher, and nothing else does",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const waiting = yield* Effect.forkChild(wake.wait)
      yield* expectAsleep("before a signal", waiting)
      yield* wake.signal
      yield* Fiber.join(waiting)
    })
  },
  {
    name: "a signal is kept until a dispatcher waits, and every later signal wakes it again",
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
    name: "an interrupted wait consumes no signal",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const waiting = yield* Effect.forkChild(wake.wait, { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* wake.signal
      yield* wake.wait
    })
  },
  {
    name: "a signal does not end a wait for changed integrations",
    run: Effect.gen(function* () {
      const wake = yield* WakeSignal
      const waiting = yield* Effect.forkChild(wake.changes)
      yield* wake.signal
      yield* wake.wait
      yield* expectAsleep("the fiber waiting for changes", waiting)
    })
  }
]

export const inOneProcess: ReadonlyArray<SuiteCase<WakeSignal>> = [
  {
    name: "several signals sent while no dispatcher waits wake a dispatcher once",
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
    name: "a signal reaches every process, including its own",
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
    name: "a signal reaches all waiting processes",
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
    name: "a process that has ended does not affect the others",
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
