/**
 * The last answer to a question that every request asks, kept for a moment: however many ask, one look at a time is made.
 */
import { Clock, Effect } from "effect"

interface ShortMemory<A, E> {
  /** What was kept, or found now. Callers that come while a look is under way share it. */
  readonly get: Effect.Effect<A, E>
  /** Keeps another answer from now on. */
  readonly keep: (answer: A) => Effect.Effect<void>
}

/** Keeps answers for `millis` milliseconds by the monotonic clock; failures are not kept. */
export const makeShortMemory = Effect.fnUntraced(function* <A, E, R>(look: Effect.Effect<A, E, R>, millis: number) {
  const services = yield* Effect.context<R>()
  let last: { readonly answer: A; readonly until: bigint } | null = null
  const keep = (answer: A) =>
    Effect.map(Clock.monotonicTimeNanos, (now) => {
      last = { answer, until: now + BigInt(millis) * 1_000_000n }
    })
  // Nothing is cached by the wall clock, which may be set back: this shares a look that is under way.
  const shared = yield* Effect.cachedWithTTL(Effect.provideContext(Effect.tap(look, keep), services), 0)
  const get = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    last !== null && now < last.until ? Effect.succeed(last.answer) : shared
  )
  return { get, keep } satisfies ShortMemory<A, E>
})
