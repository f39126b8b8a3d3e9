/**
 * Makes a failing history shorter. fast-check's shrinker drops operations in large pieces; delta debugging then tries each
 * that is left, so that no operation is there for nothing; then what is unusual about the rest is made usual.
 */
import { Clock, Effect } from "effect"
import * as fc from "fast-check"
import { accessLog } from "../history/Events.ts"
import type { History, Operation } from "../history/History.ts"

/** Whether a history still fails. */
export type StillFails<R> = (history: History) => Effect.Effect<boolean, never, R>

const withOps = (ops: ReadonlyArray<Operation>): History => ({ v: 1, ops })

/** Lets fast-check drop operations, by their places. */
const dropPieces = Effect.fnUntraced(function* <R>(history: History, fails: StillFails<R>, until: number) {
  const context = yield* Effect.context<R>()
  const places = history.ops.map((_, place) => place)
  const pick = (chosen: ReadonlyArray<number>): History => withOps(chosen.flatMap((place) => history.ops[place] ?? []))
  const left = until - (yield* Clock.currentTimeMillis)
  if (left <= 0 || places.length < 2) return history
  const propertyUntil = (signal: AbortSignal) =>
    fc.asyncProperty(
      fc.subarray(places, { minLength: 1 }),
      async (chosen) => !(await Effect.runPromiseWith(context)(fails(pick(chosen)), { signal }))
    )
  const details = yield* Effect.promise((signal) =>
    Promise.resolve(
      fc.check(propertyUntil(signal), { examples: [[places]], numRuns: 1, interruptAfterTimeLimit: left, seed: 0 })
    )
  )
  const [smallest] = details.counterexample ?? []
  return smallest === undefined ? history : pick(smallest)
})

/** Tries without each operation, until none can be spared. */
const dropEach = Effect.fnUntraced(function* <R>(history: History, fails: StillFails<R>, until: number) {
  let best = history
  let at = best.ops.length - 1
  while (at >= 0 && best.ops.length > 1 && (yield* Clock.currentTimeMillis) < until) {
    const without = withOps(best.ops.toSpliced(at, 1))
    if (yield* fails(without)) {
      best = without
      at = Math.min(at, best.ops.length)
    }
    at -= 1
  }
  return best
})

/** The same operation with one thing less unusual about it; null when there is nothing. */
const simpler = (operation: Operation): Operation | null => {
  if ("event" in operation && operation.event !== accessLog) return { ...operation, event: accessLog }
  if ("copies" in operation && operation.copies > 2) return { ...operation, copies: 2 }
  if (operation.k === "again" && operation.how.length > 0) return { ...operation, how: operation.how.slice(0, -1) }
  return null
}

const simplifyEach = Effect.fnUntraced(function* <R>(history: History, fails: StillFails<R>, until: number) {
  let best = history
  for (let at = 0; at < best.ops.length; at++) {
    for (;;) {
      const operation = best.ops[at]
      const simple = operation === undefined ? null : simpler(operation)
      if (simple === null || (yield* Clock.currentTimeMillis) >= until) break
      const candidate = withOps(best.ops.with(at, simple))
      if (!(yield* fails(candidate))) break
      best = candidate
    }
  }
  return best
})

/** The shortest history found in the time that still fails. */
export const shrink = Effect.fnUntraced(function* <R>(history: History, fails: StillFails<R>, until: number) {
  const pieces = yield* dropPieces(history, fails, until)
  const each = yield* dropEach(pieces, fails, until)
  return yield* simplifyEach(each, fails, until)
})
