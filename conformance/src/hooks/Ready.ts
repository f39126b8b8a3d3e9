/**
 * Waits until a receiver is there: it accepts connections, or its ready URL answers with a 2xx status.
 */
import { Effect, Schedule } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { ask } from "../http/Wire.ts"
import { accepts } from "../Knocking.ts"
import { HookFailed } from "./Hooks.ts"

/** How long a receiver may take to start, in milliseconds. */
const startPatience = 30_000
/** Between two tries, in milliseconds. */
export const between = 20
/** How long one may take. */
export const oneTry = 2_000

/** Whether something accepts connections there. */
export const isThere = (url: URL): Effect.Effect<boolean> => Effect.isSuccess(Effect.timeout(accepts(url), oneTry))

const answers = (url: URL): Effect.Effect<void, HookFailed> =>
  ask(url, "GET", startPatience).pipe(
    Effect.mapError((error) => new HookFailed({ message: detailOf(error) })),
    Effect.flatMap(({ status }) =>
      status < 200 || status > 299
        ? Effect.fail(new HookFailed({ message: `it answered status ${status}` }))
        : Effect.void
    )
  )

/** What to say of a receiver that hooks did not start. */
const byHooks = {
  what: "The receiver was not ready again",
  advice:
    "Does the hook start it, in the background? --restart-cmd must end and start it; --ready-url says when it is ready."
}

/** Waits for the receiver at `url`, or for its ready URL where there is one. Fails with what was heard last. */
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
