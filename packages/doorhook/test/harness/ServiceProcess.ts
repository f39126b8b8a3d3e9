/**
 * The command as a user starts it: a process of its own, with a clock, a disk and a signal handler of its own.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const bin = fileURLToPath(new URL("../../bin/doorhook.js", import.meta.url))

/** What a command printed, and how it ended. */
export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder that is gone afterwards. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "doorhook-test-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

/** A process with what it has printed so far. */
export interface Running {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when standard output contains the text; rejects, with all output, when the process ends before. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly finished: Promise<Finished>
}

const start = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>): Running => {
  const child = spawn(process.execPath, [...args], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
  const finished = once(child, "close").then(([code]: ReadonlyArray<unknown>) => ({
    code: typeof code === "number" ? code : null,
    stdout,
    stderr
  }))
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(stdout)
      if (match !== null) return match
      const ended = await Promise.race([once(child.stdout, "data").then(() => null), finished])
      if (ended !== null && pattern.exec(stdout) === null) {
        throw new Error(`ended with ${ended.code} before it printed ${pattern}\n${ended.stdout}\n${ended.stderr}`)
      }
    }
  }
  return { child, stdout: () => stdout, stderr: () => stderr, printed, finished }
}

/** Runs a program with Node.js; it is killed when the scope is closed. */
export const startProcess = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => start(args, env)),
    ({ child, finished }) =>
      Effect.promise(async () => {
        child.kill("SIGKILL")
        await finished
      })
  )

/** Starts `doorhook` with these arguments. */
export const startDoorhook = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  startProcess([bin, ...args], env)

/** Runs `doorhook` with these arguments to its end. */
export const runDoorhook = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Finished> =>
  Effect.scoped(Effect.flatMap(startDoorhook(args, env), ({ finished }) => Effect.promise(() => finished)))

export const operatorKey = "test-operator-key"

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
