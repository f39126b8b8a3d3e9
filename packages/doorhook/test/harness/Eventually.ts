/**
 * What comes true by itself, sooner or later.
 */
import { Effect, Schedule } from "effect"

/** How long that may take: what takes longer never will. */
const patience = "2 minutes"

/** How long a test with such conditions may take, in milliseconds. */
export const testPatience = 300_000

/** Fails, saying what did not come and what is known of it, when that takes longer than it ever may. */
export const within = <A, E, R>(
  what: string,
  coming: Effect.Effect<A, E, R>,
  known: () => string
): Effect.Effect<A, E, R> =>
  Effect.timeoutOrElse(coming, {
    duration: patience,
    orElse: () => Effect.die(new Error(`${what}: not within ${patience}; ${known()}`))
  })

/** Reads again and again until what is read is so; fails with what was read last when it never is. */
export const eventually = <A, E, R>(
  what: string,
  read: Effect.Effect<A, E, R>,
  isSo: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let last: A | undefined
    const reading = read.pipe(
      Effect.tap((value) => Effect.sync(() => (last = value))),
      Effect.repeat({ until: isSo, schedule: Schedule.spaced("50 millis") })
    )
    return within(what, reading, () => `last was ${JSON.stringify(last)}`)
  })
