/**
 * Waits until a receiver is there: it accepts connections, or its ready URL answers with a 2xx status.
 */
import { UrlPolicy } from "@doorhook/core"
import { Effect, Schedule } from "effect"
import { connect } from "node:net"
import { request } from "undici"
import { portOf } from "../PortOf.ts"
import { HookFailed } from "./Hooks.ts"

/** How long a receiver may take to start, in milliseconds. */
export const startPatience = 30_000
/** Between two tries, in milliseconds. */
export const between = 20
/** How long one may take. */
export const oneTry = 2_000

const notYet = (error: unknown): HookFailed => new HookFailed({ message: String(error) })

/** Fails where nothing accepts connections. */
export const accepts = (url: URL): Effect.Effect<void, HookFailed> =>
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
      const { body, statusCode } = await request(url, { reset: true, signal })
      await body.dump()
      if (statusCode < 200 || statusCode > 299) throw new Error(`status ${statusCode}`)
    },
    catch: notYet
  })

/** What is told of a receiver that hooks did not start. */
const byHooks = {
  what: "The receiver was not ready again",
  advice:
    "Does the hook start it, in the background? --restart-cmd must end and start it; --ready-url says when it is ready."
}

/** Waits for the receiver at `url`, or for its ready URL where there is one. */
export const awaitReady = (url: URL, readyUrl: URL | null, told = byHooks): Effect.Effect<void, HookFailed> =>
  (readyUrl === null ? accepts(url) : answers(readyUrl)).pipe(
    Effect.timeout(oneTry),
    Effect.retry(Schedule.spaced(between)),
    Effect.timeout(startPatience),
    Effect.mapError(
      () =>
        new HookFailed({
          down: `it was not ready within ${startPatience / 1_000} s`,
          message: `${told.what} within ${startPatience / 1_000} s at ${(readyUrl ?? url).origin}. ${told.advice}`
        })
    )
  )
