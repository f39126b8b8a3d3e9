/**
 * Long loops that let others run in between: Ctrl-C works, and progress is shown.
 */
import { Effect } from "effect"

/** How many items are between two turns of others. */
const slice = 2_000

/** Does something with each item; can be interrupted between them. */
export const inTurns = Effect.fnUntraced(function* <A>(items: Iterable<A>, use: (item: A) => void) {
  let left = slice
  for (const item of items) {
    use(item)
    if (--left > 0) continue
    left = slice
    yield* Effect.yieldNow
  }
})
