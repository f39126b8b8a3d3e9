/**
 * The port through which the suite operates a receiver, and how it sees from outside whether one is there: ready after a start,
 * gone after an end. Commands and other people's code start and end it, and may do nothing.
 */
import { Deferred, Effect, Fiber, Option, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { accepts, socketTo } from "../http/Ask.ts"
import { ask } from "../http/Wire.ts"

/** A hook did not do what it was asked for, or the receiver did not come back. */
export class HookFailed extends Schema.TaggedError<HookFailed>()("HookFailed", {
  /** Which hook, what came of it, what to do. */
  message: Schema.String,
  /** Why the receiver is not there although the hook did its part; missing where the hook may be at fault. */
  down: Schema.optionalKey(Schema.String)
}) {}

type Act = Effect.Effect<void, HookFailed>

export interface Hooks {
  /** Ends the receiver if it runs, and starts it. */
  readonly restart: Act | null
  /** SIGKILL, and nothing more. */
  readonly kill: Act | null
  /** SIGSTOP and SIGCONT, or what comes to the same. */
  readonly pause: Act | null
  readonly resume: Act | null
  /** Moves the receiver's clock forward by this many milliseconds. */
  readonly advance: ((milliseconds: number) => Act) | null
  /** Makes the receiver record one more effect of an event, to find out a probe that can't count past one. */
  readonly double: ((webhookId: string) => Act) | null
  /** Waits until the receiver is ready again after a restart. */
  readonly ready: Act
  /** Whether what starts the receiver has started it before: one that does not start then does so by its own fault. */
  readonly startsIt: boolean
  /** How each hook is called, for reports: by its name. */
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
/** How long one that was killed may keep its port: its shell may end before it does. */
const longestEnd = 5_000
/** How long the port may still accept connections when those of the process have ended. */
const longestPort = 250
/** How long one try may take, between two, and between two questions that a proxy may answer. */
const oneTry = 2_000
export const between = 20
const betweenQuestions = 50

/** Whether something accepts connections there. */
export const isThere = (url: URL): Effect.Effect<boolean> => Effect.isSuccess(Effect.timeout(accepts(url), oneTry))

const answers = (url: URL): Effect.Effect<void, Error> =>
  Effect.flatMap(ask(url, "GET", startPatience), ({ status }) =>
    status < 200 || status > 299 ? Effect.fail(new Error(`it answered status ${status}`)) : Effect.void
  )

/** What to say of a receiver that hooks did not start. */
const byHooks = {
  what: "The receiver was not ready again",
  advice:
    "Does the hook start it, in the background? --restart-cmd must end and start it; --ready-url says when it is ready."
}

/**
 * Waits until the receiver at `url` accepts connections, or its ready URL answers with a 2xx status where there is one.
 * Fails with what was heard last.
 */
export const awaitReady = (url: URL, readyUrl: URL | null, words = byHooks): Effect.Effect<void, HookFailed> =>
  Effect.suspend(() => {
    let why = "it did not answer"
    return (readyUrl === null ? accepts(url) : answers(readyUrl)).pipe(
      Effect.tapError((error) => Effect.sync(() => (why = detailOf(error)))),
      Effect.timeout(oneTry),
      Effect.retry(Schedule.spaced(between)),
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
  Effect.flip(accepts(url)).pipe(Effect.retry(Schedule.spaced(between)), Effect.asVoid, Effect.orDie)

const within = (gone: Effect.Effect<unknown>): Effect.Effect<boolean> =>
  Effect.map(Effect.timeoutOption(gone, longestEnd), Option.isSome)

/**
 * Waits until nothing accepts connections at `url` any more; whether that is so. Where something still does after a
 * while, it is another's, and waiting longer is of no use.
 */
export const awaitGone = (url: URL): Effect.Effect<boolean> => within(refused(url))

/** What a proxy answers for a receiver that it does not reach. */
export const isOfProxy = (status: number): boolean => status === 502 || status === 503 || status === 504

/** Waits until something answers that the receiver is not there. */
const answeredFor = (url: URL): Effect.Effect<unknown> =>
  ask(url, "GET", longestEnd).pipe(
    Effect.map(({ status }) => isOfProxy(status)),
    Effect.orElseSucceed(() => false),
    Effect.delay(betweenQuestions),
    Effect.repeat({ until: (isGone) => isGone })
  )

/**
 * Watches a receiver that is about to be ended: by a connection of its own, which breaks when the process ends, however
 * soon a supervisor has another in its place; by new ones, which are refused; and by questions, which a proxy answers that
 * goes on in between. `cut` is what else shows that. Answers an effect that waits for any of it, for a while at most, and
 * says whether it came: what was killed may accept connections some moments longer, and is not to be taken for what was
 * started after it.
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
  yield* Effect.raceFirst(Deferred.await(opened), Deferred.await(closed)).pipe(Effect.timeoutOption(oneTry))
  // The port may outlive the connections by some moments. What accepts after those is a supervisor's next.
  const replaced = Effect.raceAllFirst([Deferred.await(closed), cut, answeredFor(url)]).pipe(
    Effect.andThen(Effect.sleep(longestPort))
  )
  const gone = yield* Effect.raceFirst(refused(url), replaced).pipe(
    // One that ends by and by waits for its connections to be closed.
    Effect.andThen(Effect.sync(() => kept.destroy())),
    Effect.forkScoped
  )
  return within(Fiber.join(gone))
})
