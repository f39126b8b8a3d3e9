/**
 * Runs the `doorhook` command in a separate process, as a user does.
 */
import { startNode } from "./Process.ts"
import type { Finished } from "./Process.ts"
import { doorhookProgram } from "./Programs.ts"
import { Effect } from "effect"

/** Starts `doorhook` with arguments, and with the size of the thread pool that `bin/doorhook.js` sets. */
export const startDoorhook = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  startNode([doorhookProgram, ...args], { env: { UV_THREADPOOL_SIZE: "64", ...env } })

/** Runs `doorhook` with arguments until it ends. */
export const runDoorhook = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Finished> =>
  Effect.scoped(Effect.flatMap(startDoorhook(args, env), ({ finished }) => Effect.promise(() => finished)))

export const operatorKey = "operator-key-of-tests-0123456789abcdef"

/** Starts `doorhook serve` and waits until it is ready. Returns its URL. */
export const startService = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) {
  const running = yield* startDoorhook(["serve", "--port", "0", ...args], {
    DOORHOOK_OPERATOR_KEY: operatorKey,
    ...env
  })
  const [, url = ""] = yield* Effect.promise(() => running.printed(/doorhook listening on (http:\S+)/))
  return { ...running, url }
})
