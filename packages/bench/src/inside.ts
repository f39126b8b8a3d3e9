/**
 * Instruments the measured server that loads this module with `--import`. Counts the statements that reach the SQLite
 * driver, and runs the profiler at the parent process's request.
 */
import { Effect } from "effect"
import { DatabaseSync, StatementSync } from "node:sqlite"
import type { Observed, Question } from "./harness/ServerProcess.ts"
import { isControl } from "./harness/ServerProcess.ts"

const counted: Record<keyof Observed, number> = { queries: 0, controls: 0 }

const count = (statement: string): void => {
  if (isControl(statement)) counted.controls++
  else counted.queries++
}

/** Wraps a method so that each call first calls `observe`. */
const before = (
  prototype: object,
  method: string,
  observe: (self: unknown, args: ReadonlyArray<unknown>) => void
): void => {
  const original: unknown = Reflect.get(prototype, method)
  if (typeof original !== "function") throw new TypeError(`there is no method ${method}`)
  Reflect.set(prototype, method, function (this: unknown, ...args: ReadonlyArray<unknown>): unknown {
    observe(this, args)
    return Reflect.apply(original, this, args)
  })
}

for (const method of ["all", "get", "iterate", "run"]) {
  before(StatementSync.prototype, method, (self) => count(self instanceof StatementSync ? self.sourceSQL : ""))
}
before(DatabaseSync.prototype, "exec", (_, [statement]) => count(String(statement)))

/** Ends the running profile. Resolves after its tables are printed. */
let endProfile: () => Promise<unknown> = () => Promise.resolve()

const profile = async (name: string): Promise<void> => {
  const { profiled } = await import("./harness/Profile.ts")
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const during = Effect.promise(() => {
    begin()
    return ended
  })
  const shown = Effect.runPromise(profiled(name)(during))
  endProfile = () => {
    end()
    return shown
  }
  await begun
}

process.on("message", (question: Question) => {
  void (async () => {
    if (question.ask === "profile") await profile(question.name)
    if (question.ask === "end profile") await endProfile()
    process.send?.(counted)
  })()
})
