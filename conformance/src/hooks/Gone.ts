/**
 * Whether a receiver that is being ended does end, as far as that shows from outside: what is to end it is a command or
 * another's code, and may do nothing.
 */
import { Deferred, Effect, Fiber, Schedule } from "effect"
import type { Scope } from "effect"
import { ask } from "../http/Wire.ts"
import { accepts, socketTo } from "../Knocking.ts"
import { between, oneTry } from "./Ready.ts"

/** How long a receiver that was killed may keep its port, in milliseconds: its shell may end before it does. */
const longestEnd = 5_000

/** How long the port may still accept connections when those of the process have ended, in milliseconds. */
const longestPort = 250

/** Between two questions that a proxy may answer, in milliseconds. */
const betweenQuestions = 50

const refused = (url: URL): Effect.Effect<void> =>
  Effect.flip(accepts(url)).pipe(Effect.retry(Schedule.spaced(between)), Effect.asVoid, Effect.orDie)

const within = (gone: Effect.Effect<unknown>): Effect.Effect<boolean> =>
  Effect.as(gone, true).pipe(Effect.timeoutOrElse({ duration: longestEnd, orElse: () => Effect.succeed(false) }))

/**
 * Waits until nothing accepts connections at `url` any more; whether that is so. Where something still does after a
 * while, it is another's, and waiting longer is of no use.
 */
export const awaitGone = (url: URL): Effect.Effect<boolean> => within(refused(url))

/** What a proxy answers for a receiver that it does not reach. */
export const isOfProxy = (status: number): boolean => status === 502 || status === 503 || status === 504

/** Waits until something answers that the receiver is not there. */
const answeredFor = (url: URL): Effect.Effect<void> =>
  ask(url, "GET", longestEnd).pipe(
    Effect.map(({ status }) => isOfProxy(status)),
    Effect.orElseSucceed(() => false),
    Effect.delay(betweenQuestions),
    Effect.repeat({ until: (isGone) => isGone }),
    Effect.asVoid
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
