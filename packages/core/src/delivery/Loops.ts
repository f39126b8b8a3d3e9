/**
 * Loops that run until their scope closes, and turns of the event loop.
 */
import { Effect, Latch, Option, Semaphore } from "effect"
import type { Clock } from "effect"

/** Pause of a loop after a defect, in milliseconds. */
const defaultRest = 1_000

/** Logs a defect. Never fails, because a logger that throws must not end the loop. */
export const logDefect = (text: string, defect: unknown): Effect.Effect<void> =>
  Effect.catchDefect(Effect.logError(text, defect), () => Effect.void)

/**
 * Repeats a step forever. Each step must wait for something. A defect is logged, and the loop continues after `rest`
 * milliseconds.
 */
export const runForever = <R>(
  what: string,
  step: Effect.Effect<unknown, never, R>,
  rest = defaultRest
): Effect.Effect<never, never, R> =>
  Effect.forever(
    step.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(logDefect(`${what} failed; it continues`, defect), Effect.sleep(rest))
      )
    ),
    // Each step waits anyway. An additional yield between steps would delay work that has arrived.
    { disableYield: true }
  )

/** Work that takes turns on an event loop. */
interface EventLoop {
  readonly turns: Semaphore.Semaphore
  readonly urgentWork: Set<object>
  /** Open while there is no urgent work. */
  readonly isCalm: Latch.Latch
}

/**
 * One event loop for each clock: a process has one of each. Tests have several clocks in a process, and a test that ends
 * in the middle of urgent work must not delay others, whose clocks may stand still.
 */
const eventLoops = new WeakMap<Clock.Clock, EventLoop>()

const eventLoopOf = (clock: Clock.Clock): EventLoop => {
  const known = eventLoops.get(clock)
  if (known !== undefined) return known
  const made = { turns: Semaphore.makeUnsafe(1), urgentWork: new Set<object>(), isCalm: Latch.makeUnsafe(true) }
  eventLoops.set(clock, made)
  return made
}

/** Longest time for which urgent work delays a piece of other work, in milliseconds. */
const longestDelay = 5

/** Begins urgent work, which delays `inTurn` until the returned function is called. */
export const beginUrgent = (clock: Clock.Clock): (() => void) => {
  const { isCalm, urgentWork } = eventLoopOf(clock)
  const work = {}
  urgentWork.add(work)
  isCalm.closeUnsafe()
  return () => {
    urgentWork.delete(work)
    if (urgentWork.size === 0) isCalm.openUnsafe()
  }
}

const awaitCalm = ({ isCalm, urgentWork }: EventLoop): Effect.Effect<void> =>
  Effect.suspend(() =>
    urgentWork.size === 0
      ? Effect.void
      : Effect.map(Effect.timeoutOption(isCalm.await, longestDelay), (calm) => {
          // Work that takes long delays only one piece.
          if (Option.isNone(calm)) urgentWork.clear()
        })
  )

/**
 * Begins a piece of work that blocks the event loop for about a millisecond in its own turn, after urgent work that is
 * under way, but at most 5 ms later. Urgent work then waits for at most one piece, however many clients request such work
 * at the same time. Other pieces can run while it waits, for example for a server.
 */
export const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const loop = eventLoopOf(clock)
    return Effect.andThen(loop.turns.withPermit(Effect.andThen(awaitCalm(loop), Effect.yieldNow)), work)
  })
