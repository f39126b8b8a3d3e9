/**
 * Makes a failing history shorter: fast-check shrinks what it has drawn, operations and values alike, from the path of
 * the case; then each operation that is left is tried without.
 */
import { Clock, Effect } from "effect"
import * as fc from "fast-check"
import type { Case, History } from "../history/History.ts"
import type { Samples } from "../history/Samples.ts"

/** Whether a history still fails, tried as often as that takes. */
export type StillFails<R> = (history: History) => Effect.Effect<boolean, never, R>

/** The case that `path` leads to, as short and plain as fast-check finds one that still fails. */
export const shrinkDrawn = Effect.fnUntraced(function* <R>(
  { arbitrary }: Samples,
  { path, seed }: { readonly path: string; readonly seed: number },
  adapt: (one: Case) => Case | null,
  fails: StillFails<R>,
  until: number
): Effect.fn.Return<History | null, never, R> {
  const context = yield* Effect.context<R>()
  const left = until - (yield* Clock.currentTimeMillis)
  if (left <= 0) return null
  const property = (signal: AbortSignal) =>
    fc.asyncProperty(arbitrary, async (one) => {
      const adapted = adapt(one)
      return adapted === null || !(await Effect.runPromiseWith(context)(fails(adapted.history), { signal }))
    })
  const { counterexample } = yield* Effect.promise((signal) =>
    Promise.resolve(fc.check(property(signal), { seed, path, numRuns: 1, interruptAfterTimeLimit: left }))
  )
  const [found] = counterexample ?? []
  return found === undefined ? null : (adapt(found)?.history ?? null)
})

/** The history without each operation that can be spared. */
export const dropEach = Effect.fnUntraced(function* <R>(
  history: History,
  fails: StillFails<R>,
  until: number
): Effect.fn.Return<History, never, R> {
  let best = history
  let at = best.ops.length - 1
  while (at >= 0 && best.ops.length > 1 && (yield* Clock.currentTimeMillis) < until) {
    const without: History = { v: 1, ops: best.ops.toSpliced(at, 1) }
    if (yield* fails(without)) {
      best = without
      at = Math.min(at, best.ops.length)
    }
    at -= 1
  }
  return best
})
