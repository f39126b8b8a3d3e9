/**
 * Helps tests of backups: interrupts a backup, and writes programs that it calls.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, watch, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startDoorhook } from "@doorhook/testkit/Doorhook"

/** Interrupts a backup as Ctrl-C does, once `isReached` returns true for the path of its unfinished file. */
export const interruptWhen = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  folder: string,
  isReached: (part: string) => boolean,
  env: Readonly<Record<string, string>> = {}
) {
  const changes = yield* Effect.acquireRelease(
    Effect.sync(() => watch(folder)),
    (watcher) => Effect.sync(() => watcher.close())
  )
  const { child, finished } = yield* startDoorhook(args, env)
  const reached = new Promise<void>((resolve) =>
    changes.on("change", () => {
      const part = readdirSync(folder).find((name) => name.endsWith(".part"))
      if (part !== undefined && isReached(join(folder, part))) resolve()
    })
  )
  yield* Effect.promise(() => Promise.race([reached, finished]))
  child.kill("SIGINT")
  const { code, stderr, stdout } = yield* Effect.promise(() => finished)
  assert.deepStrictEqual([code, stdout, stderr], [130, "", ""])
})

export const writeProgram = (path: string, text: string): void => writeFileSync(path, text, { mode: 0o700 })
