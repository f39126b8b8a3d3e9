/**
 * A short-lived cache of one value. Concurrent callers share one lookup.
 */
import { Clock, Duration, Effect } from "effect"

interface ShortMemory<A, E> {
  /** The cached answer, or the result of a lookup. */
  readonly get: Effect.Effect<A, E>
  /** Replaces the cached answer, and the result of a lookup in progress. */
  readonly keep: (answer: A) => Effect.Effect<void>
}

/** Makes a cache that keeps an answer for `millis` milliseconds of the monotonic clock. Failures are not cached. */
export const makeShortMemory = Effect.fnUntraced(function* <A, E, R>(look: Effect.Effect<A, E, R>, millis: number) {
  const services = yield* Effect.context<R>()
  let last: { readonly answer: A; readonly until: bigint } | null = null
  const hold = (answer: A) =>
    Effect.map(Clock.monotonicTimeNanos, (now) => {
      last = { answer, until: now + BigInt(millis) * 1_000_000n }
      return answer
    })
  const renew = Effect.suspend(() => {
    const before = last
    // An answer that `keep` set during this lookup is newer than the lookup's result.
    return Effect.flatMap(look, (answer) =>
      last === null || last === before ? hold(answer) : Effect.succeed(last.answer)
    )
  })
  // Shares lookups in progress but caches nothing. Effect's cache would use the wall clock, which may be set back.
  const [shared, forget] = yield* Effect.cachedInvalidateWithTTL(
    Effect.provideContext(renew, services),
    Duration.negativeInfinity
  )
  const get = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    last !== null && now < last.until ? Effect.succeed(last.answer) : shared
  )
  const keep = (answer: A) => Effect.andThen(hold(answer), forget)
  return { get, keep } satisfies ShortMemory<A, E>
})
