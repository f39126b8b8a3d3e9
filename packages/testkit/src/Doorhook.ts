/**
 * The command as a user starts it: a process of its own, with a clock, a disk and a signal handler of its own.
 */
import { startNode } from "./Process.ts"
import type { Finished } from "./Process.ts"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const bin = fileURLToPath(new URL("../../doorhook/bin/doorhook.js", import.meta.url))

/** Starts `doorhook` with these arguments. */
export const startDoorhook = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  startNode([bin, ...args], { env })

/** Runs `doorhook` with these arguments to its end. */
export const runDoorhook = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Finished> =>
  Effect.scoped(Effect.flatMap(startDoorhook(args, env), ({ finished }) => Effect.promise(() => finished)))

export const operatorKey = "operator-key-of-tests-0123456789abcdef"

/** A service that is ready, and where. */
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
