/**
 * The port through which the suite operates a receiver, and how it sees from outside whether one is there: ready after a start,
 * gone after an end. Commands and other people's code start and end it, and may do nothing.
 */
import { Deferred, Effect, Fiber, Option, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { accepts, ask, socketTo } from "../http/Ask.ts"

/** A hook failed, or the receiver was not ready again. */
export class HookFailed extends Schema.TaggedError<HookFailed>()("HookFailed", {
  /** The hook, the result, and what to do. */
  message: Schema.String,
  /** Why the receiver is down although the hook did its part; missing if the hook may be at fault. */
  down: Schema.optionalKey(Schema.String)
}) {}

type Act = Effect.Effect<void, HookFailed>

export interface Hooks {
  /** Ends the receiver if it runs, and starts it. */
  readonly restart: Act | null
  /** Ends the receiver at once (SIGKILL) and does not start it. */
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
  /** Whether the hooks have started the receiver before, so that it is at fault if it does not start again. */
  readonly startsIt: boolean
  /** The hooks' names in reports. */
  readonly names: Readonly<Record<string, string>>
}

/** A receiver that can't be operated. */
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

/** How long a receiver may take to start, in milliseconds. */
const startPatience = 30_000
/** How long a killed receiver may keep its port, in milliseconds: its shell may end before it does. */
const longestEnd = 5_000
/** How long the port may accept connections after the process's own have ended, in milliseconds. */
const longestPort = 250
/** Timeout of one try, pause between two, and pause between requests that a proxy may answer, in milliseconds. */
const tryTimeout = 2_000
export const retryInterval = 20
const betweenQuestions = 50

/** Whether something accepts connections there. */
export const acceptsConnections = (url: URL): Effect.Effect<boolean> =>
  Effect.isSuccess(Effect.timeout(accepts(url), tryTimeout))

const answers = (url: URL): Effect.Effect<void, Error> =>
  Effect.flatMap(ask(url, "GET", startPatience), ({ status }) =>
    status < 200 || status > 299 ? Effect.fail(new Error(`it answered status ${status}`)) : Effect.void
  )

/** The message about a receiver that hooks did not start. */
const byHooks = {
  what: "The receiver was not ready again",
  advice:
    "Does the hook start it in the background? --restart-cmd must end and start it; --ready-url shows when it is ready."
}

/**
 * Waits until the receiver's ready URL, if there is one, answers with a 2xx status, or else until `url` accepts connections.
 * Fails with the last error.
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
 * Waits until nothing accepts connections at `url` any more, for a while at most; returns whether that came. After that time
 * another process has the port.
 */
export const awaitGone = (url: URL): Effect.Effect<boolean> => within(refused(url))

/** Whether a proxy may have answered for a receiver that it does not reach. */
export const isProxyError = (status: number): boolean => status === 502 || status === 503 || status === 504

/** Waits until a proxy answers for a receiver that is down. */
const answeredFor = (url: URL): Effect.Effect<unknown> =>
  ask(url, "GET", longestEnd).pipe(
    Effect.map(({ status }) => isProxyError(status)),
    Effect.orElseSucceed(() => false),
    Effect.delay(betweenQuestions),
    Effect.repeat({ until: (isGone) => isGone })
  )

/**
 * Watches a receiver that is about to be ended. Three things show its end: an open connection breaks, even if a supervisor
 * replaces the process at once; new connections are refused; a proxy answers for it. `cut` is a fourth: a request that was cut
 * off. Returns an effect that waits for any of them, for a while at most, and says whether it came. A killed process may accept
 * connections for some moments and must not be taken for its successor.
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
      // `close` follows.
      socket.on("error", () => undefined)
      socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
      return socket.resume()
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  yield* Effect.raceFirst(Deferred.await(opened), Deferred.await(closed)).pipe(Effect.timeoutOption(tryTimeout))
  // The port may outlive the connections by some moments. Later connections reach the supervisor's next process.
  const replaced = Effect.raceAllFirst([Deferred.await(closed), cut, answeredFor(url)]).pipe(
    Effect.andThen(Effect.sleep(longestPort))
  )
  const gone = yield* Effect.raceFirst(refused(url), replaced).pipe(
    // A receiver that ends gracefully waits for its connections to close.
    Effect.andThen(Effect.sync(() => kept.destroy())),
    Effect.forkScoped
  )
  return within(Fiber.join(gone))
})
