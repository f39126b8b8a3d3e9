/**
 * Waits until a receiver is there: it accepts connections, or its ready URL answers with a 2xx status.
 */
import { UrlPolicy } from "@doorhook/core"
import { Deferred, Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { connect } from "node:net"
import { request } from "undici"
import { portOf } from "../PortOf.ts"
import { HookFailed } from "./Hooks.ts"

/** How long a receiver may take to start, in milliseconds. */
export const startPatience = 30_000
const between = 20
const oneTry = 2_000

const notYet = (error: unknown): HookFailed => new HookFailed({ message: String(error) })

const accepts = (url: URL): Effect.Effect<void, HookFailed> =>
  Effect.callback<void, HookFailed>((resume) => {
    const socket = connect({ host: UrlPolicy.hostOf(url), port: portOf(url) })
    socket.on("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.on("error", (error) => resume(Effect.fail(notYet(error))))
    return Effect.sync(() => socket.destroy())
  })

/** Whether something accepts connections there. */
export const isThere = (url: URL): Effect.Effect<boolean> => Effect.isSuccess(Effect.timeout(accepts(url), oneTry))

const answers = (url: URL): Effect.Effect<void, HookFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const { body, statusCode } = await request(url, { signal })
      await body.dump()
      if (statusCode < 200 || statusCode > 299) throw new Error(`status ${statusCode}`)
    },
    catch: notYet
  })

/** How long a receiver that was killed may keep its port, in milliseconds: its shell may end before it does. */
const longestEnd = 5_000

/** How long the port may still accept connections when those of the process have ended, in milliseconds. */
const longestPort = 250

/**
 * Waits until nothing accepts connections at `url` any more; whether that is so. Where something still does after a
 * while, it is another's, and waiting longer is of no use.
 */
export const awaitGone = (url: URL): Effect.Effect<boolean> =>
  Effect.flip(accepts(url)).pipe(
    Effect.retry(Schedule.spaced(between)),
    Effect.as(true),
    Effect.timeout(longestEnd),
    Effect.orElseSucceed(() => false)
  )

/**
 * Watches a receiver that is about to be killed, by a connection of its own: that breaks when the process ends, however
 * soon a supervisor has another in its place. Answers what waits until the receiver is gone, for a while at most: what was
 * killed may accept connections some moments longer, and is not to be taken for what was started after it.
 */
export const watchEnd = Effect.fnUntraced(function* (
  url: URL
): Effect.fn.Return<Effect.Effect<void>, never, Scope.Scope> {
  const closed = yield* Deferred.make<void>()
  const opened = yield* Deferred.make<void>()
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const socket = connect({ host: UrlPolicy.hostOf(url), port: portOf(url) })
      socket.on("connect", () => Deferred.doneUnsafe(opened, Effect.void))
      // It is told of by `close`.
      socket.on("error", () => undefined)
      socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
      return socket.resume()
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  yield* Effect.raceFirst(Deferred.await(opened), Deferred.await(closed)).pipe(Effect.timeoutOption(oneTry))
  // The port may outlive the connections by some moments. What accepts after those is a supervisor's next.
  const replaced = Effect.andThen(Deferred.await(closed), Effect.sleep(longestPort))
  return Effect.asVoid(Effect.raceFirst(replaced, awaitGone(url)))
})

/** Waits for the receiver at `url`, or for its ready URL where there is one. */
export const awaitReady = (url: URL, readyUrl: URL | null): Effect.Effect<void, HookFailed> =>
  (readyUrl === null ? accepts(url) : answers(readyUrl)).pipe(
    Effect.timeout(oneTry),
    Effect.retry(Schedule.spaced(between)),
    Effect.timeout(startPatience),
    Effect.mapError(
      () =>
        new HookFailed({
          down: `it was not ready within ${startPatience / 1_000} s`,
          message: `The receiver was not ready again within ${startPatience / 1_000} s at ${(readyUrl ?? url).origin}. Does the hook start it, in the background? --restart-cmd must end and start it; --ready-url says when it is ready.`
        })
    )
  )
