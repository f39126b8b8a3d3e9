/**
 * Holds the elements of a stream back until they are due.
 */
import type { Array } from "effect"
import { Clock, Effect, Stream } from "effect"

const sleepUntil = Effect.fnUntraced(function* (time: number) {
  // A timer can ring a little early.
  for (let now = yield* Clock.currentTimeMillis; now < time; now = yield* Clock.currentTimeMillis) {
    yield* Effect.sleep(time - now)
  }
})

/**
 * Emits elements when their time has come, never earlier, in the order of the stream; each chunk is what is due at that
 * moment. Open loop: the times do not depend on how fast the consumer is. A consumer that falls behind finds all that is
 * overdue in its next chunks, and nothing is dropped.
 *
 * `dueAt` is in milliseconds since the epoch and must not fall from one element to the next.
 */
export const pace =
  <A>(dueAt: (element: A) => number) =>
  <E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
    Stream.transformPull(stream, (pull) =>
      Effect.sync(() => {
        let chunk: ReadonlyArray<A> = []
        let place = 0
        return Effect.gen(function* () {
          let first = chunk[place]
          if (first === undefined) {
            chunk = yield* pull
            place = 0
            first = chunk[0]
          }
          if (first === undefined) return yield* Effect.die("a stream never emits an empty chunk")
          yield* sleepUntil(dueAt(first))
          const now = yield* Clock.currentTimeMillis
          const due: Array.NonEmptyArray<A> = [first]
          for (let next = chunk[++place]; next !== undefined && dueAt(next) <= now; next = chunk[++place])
            due.push(next)
          return due
        })
      })
    )
