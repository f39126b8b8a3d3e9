/**
 * Waits for conditions that become true later.
 */
import { Effect, Schedule } from "effect"

/** How long to wait for a condition before the test fails. */
const patience = "2 minutes"

/** Runs an effect. Fails after the time limit, with a message that contains `what` and the result of `known`. */
export const within = <A, E, R>(
  what: string,
  coming: Effect.Effect<A, E, R>,
  known: () => string
): Effect.Effect<A, E, R> =>
  Effect.timeoutOrElse(coming, {
    duration: patience,
    orElse: () => Effect.die(new Error(`${what}: not within ${patience}; ${known()}`))
  })

/** Reads a value repeatedly until it satisfies a condition. After the time limit, fails with the last value. */
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
