/**
 * The hooks with which the suite operates a receiver. Hooks are commands and code of users and may fail silently.
 * Therefore this module also checks from outside whether the receiver is ready after a start, or gone after a stop.
 */
import { Deferred, Effect, Fiber, Option, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { accepts, ask, socketTo } from "../http/Ask.ts"

/** A hook failed, or the receiver was not ready again. */
export class HookFailed extends Schema.TaggedError<HookFailed>()("HookFailed", {
  /** The hook, the result, and what to do. */
  message: Schema.String,
  /** Why the receiver is down although the hook worked; missing if the hook may be at fault. */
  down: Schema.optionalKey(Schema.String)
}) {}

type Act = Effect.Effect<void, HookFailed>

export interface Hooks {
  /** Stops the receiver if it is running, and starts it. */
  readonly restart: Act | null
  /** Kills the receiver (SIGKILL) and does not start it. */
  readonly kill: Act | null
  /** Pauses and resumes the receiver (SIGSTOP and SIGCONT). */
  readonly pause: Act | null
  readonly resume: Act | null
  /** Moves the receiver's clock forward by this many milliseconds. */
  readonly advance: ((milliseconds: number) => Act) | null
  /** Makes the receiver record one more effect of an event, to detect a probe that can't count past one. */
  readonly double: ((webhookId: string) => Act) | null
  /** Waits until the receiver is ready again after a restart. */
  readonly ready: Act
  /** Whether the hooks have already started the receiver. The receiver is then at fault if it does not start again. */
  readonly startsIt: boolean
  /** The hooks' names in reports. */
  readonly names: Readonly<Record<string, string>>
}

/** Hooks of a receiver that the suite can't operate. */
export const noHooks: Hooks = {
  restart: null,
  kill: null,
  pause: null,
  resume: null,
  advance: null,
  double: null,
  ready: Effect.void,
  startsIt: false,
  names: {}
}

/** Time limit for a receiver to start, in milliseconds. */
const startPatience = 30_000
/**
 * Time limit for a killed receiver to release its port, in milliseconds. The shell may end before the receiver does.
 */
const longestEnd = 5_000
/** How long a port may still accept connections after the killed process's connections were closed, in milliseconds. */
const longestPort = 250
/** Timeout of one try to reach the receiver, in milliseconds. */
const tryTimeout = 2_000
/** Pause between tries, in milliseconds. */
export const retryInterval = 20
/** Pause between requests that check whether a proxy answers, in milliseconds. */
const betweenQuestions = 50

/** Whether something accepts connections at the host and port of the URL. */
export const acceptsConnections = (url: URL): Effect.Effect<boolean> =>
  Effect.isSuccess(Effect.timeout(accepts(url), tryTimeout))

const answers = (url: URL): Effect.Effect<void, Error> =>
  Effect.flatMap(ask(url, "GET", startPatience), ({ status }) =>
    status < 200 || status > 299 ? Effect.fail(new Error(`it answered status ${status}`)) : Effect.void
  )

/** Error texts for a receiver that was not ready after hooks restarted it. */
const byHooks = {
  what: "The receiver was not ready again",
  advice:
    "Does the hook start it in the background? --restart-cmd must stop and start it; --ready-url shows when it is ready."
}

/**
 * Waits until the receiver's ready URL answers with a 2xx status or, without one, until `url` accepts connections.
 * Fails with the last error when the time is up.
 */
export const awaitReady = (url: URL, readyUrl: URL | null, words = byHooks): Effect.Effect<void, HookFailed> =>
  Effect.suspend(() => {
    let why = "it did not answer"
    return (readyUrl === null ? accepts(url) : answers(readyUrl)).pipe(
      Effect.tapError((error) => Effect.sync(() => (why = detailOf(error)))),
      Effect.timeout(tryTimeout),
      Effect.retry(Schedule.spaced(retryInterval)),
      Effect.timeout(startPatience),
      Effect.mapError(() => {
        const within = `within ${startPatience / 1_000} s`
        return new HookFailed({
          down: `it was not ready ${within}: ${why}`,
          message: `${words.what} ${within} at ${(readyUrl ?? url).origin} (${why}). ${words.advice}`
        })
      })
    )
  })

const refused = (url: URL): Effect.Effect<void> =>
  Effect.flip(accepts(url)).pipe(Effect.retry(Schedule.spaced(retryInterval)), Effect.asVoid, Effect.orDie)

const within = (gone: Effect.Effect<unknown>): Effect.Effect<boolean> =>
  Effect.map(Effect.timeoutOption(gone, longestEnd), Option.isSome)

/**
 * Waits until nothing accepts connections at `url` any more, for `longestEnd` at most. Returns whether that happened;
 * if not, another process has the port.
 */
export const awaitGone = (url: URL): Effect.Effect<boolean> => within(refused(url))

/** Whether the status may come from a proxy that can't reach the receiver. */
export const isProxyError = (status: number): boolean => status === 502 || status === 503 || status === 504

/** Waits until a proxy answers instead of a receiver that is down. */
const answeredFor = (url: URL): Effect.Effect<unknown> =>
  ask(url, "GET", longestEnd).pipe(
    Effect.map(({ status }) => isProxyError(status)),
    Effect.orElseSucceed(() => false),
    Effect.delay(betweenQuestions),
    Effect.repeat({ until: (isGone) => isGone })
  )

/**
 * Watches a receiver that is about to be stopped. Any of these shows that it stopped:
 *
 * - An open connection breaks, even if a supervisor replaces the process immediately.
 * - New connections are refused.
 * - A proxy answers instead of the receiver.
 * - `cut`: a request was cut off.
 *
 * Returns an effect that waits for any of these signs, for `longestEnd` at most, and returns whether one appeared. A
 * killed process may still accept connections for some moments and must not be mistaken for its successor.
 */
export const watchEnd = Effect.fnUntraced(function* (
  url: URL,
  cut: Effect.Effect<void>
): Effect.fn.Return<Effect.Effect<boolean>, never, Scope.Scope> {
  const closed = yield* Deferred.make<void>()
  const opened = yield* Deferred.make<void>()
  const kept = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const socket = socketTo(url)
      socket.on("connect", () => Deferred.doneUnsafe(opened, Effect.void))
      // A `close` event follows every error.
      socket.on("error", () => undefined)
      socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
      return socket.resume()
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  yield* Effect.raceFirst(Deferred.await(opened), Deferred.await(closed)).pipe(Effect.timeoutOption(tryTimeout))
  // The dead process's port may accept connections for some moments longer. Later connections reach the supervisor's
  // next process.
  const replaced = Effect.raceAllFirst([Deferred.await(closed), cut, answeredFor(url)]).pipe(
    Effect.andThen(Effect.sleep(longestPort))
  )
  const gone = yield* Effect.raceFirst(refused(url), replaced).pipe(
    // A receiver that stops gracefully waits for its connections to close.
    Effect.andThen(Effect.sync(() => kept.destroy())),
    Effect.forkScoped
  )
  return within(Fiber.join(gone))
})
