/**
 * Waits until a receiver is there: it accepts connections, or its ready URL answers with a 2xx status.
 */
import { UrlPolicy } from "@doorhook/core"
import { Effect, Schedule } from "effect"
import { connect } from "node:net"
import { request } from "undici"
import { HookFailed } from "./Hooks.ts"

/** How long a receiver may take to start, in milliseconds. */
export const startPatience = 30_000
const between = 20
const oneTry = 2_000

const notYet = (error: unknown): HookFailed => new HookFailed({ message: String(error) })

const accepts = (url: URL): Effect.Effect<void, HookFailed> =>
  Effect.callback<void, HookFailed>((resume) => {
    const port = Number(url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port)
    const socket = connect({ host: UrlPolicy.hostOf(url), port })
    socket.on("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.on("error", (error) => resume(Effect.fail(notYet(error))))
    return Effect.sync(() => socket.destroy())
  })

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
