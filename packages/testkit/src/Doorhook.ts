/**
 * Runs the `doorhook` command in a separate process, as a user does. It and the other programs that tests start are
 * bundled from the sources before each run (`.ci/test-programs.ts`).
 */
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { startNode } from "./Process.ts"
import type { Finished } from "./Process.ts"

const bundled = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/.cache/programs/${name}.js`, import.meta.url))

export const doorhookProgram = bundled("doorhook")
export const demoProgram = bundled("demo")
export const conformanceProgram = bundled("conformance")

/** A faulty or correct receiver of the suite's own tests (`conformance/test/mutants`). */
export const receiverProgram = bundled("receiver")

/** A move that kills itself (`packages/sql/test/MoveProgram.ts`). */
export const moveProgram = bundled("move")

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
