/**
 * Runs programs in separate processes, and keeps their output and exit code.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable } from "node:stream"

/** Output and exit code of an ended program. */
export interface Finished {
  /** Exit code; null if a signal ended the program. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A process with its output so far. */
export interface Running {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves with the match once standard output matches. Rejects with all output if the process ends first. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Like `printed`, for standard error. The two streams may arrive in any order. */
  readonly complained: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly finished: Promise<Finished>
}

/** Options in addition to the program's arguments. */
export interface StartOptions {
  /** Variables to add to the environment of the tests. Colours are off unless these variables turn them on. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

const start = (args: ReadonlyArray<string>, { cwd, env }: StartOptions): Running => {
  const child = spawn(process.execPath, [...args], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd !== undefined && { cwd })
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  const finished = once(child, "close").then(([code]: ReadonlyArray<unknown>) => ({
    code: typeof code === "number" ? code : null,
    stdout,
    stderr
  }))
  const shows =
    (stream: Readable, so: () => string) =>
    async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(so())
        if (match !== null) return match
        const ended = await Promise.race([once(stream, "data").then(() => null), finished])
        if (ended !== null && pattern.exec(so()) === null) {
          throw new Error(`ended with ${ended.code} before it printed ${pattern}\n${ended.stdout}\n${ended.stderr}`)
        }
      }
    }
  const printed = shows(child.stdout, () => stdout)
  const complained = shows(child.stderr, () => stderr)
  return { child, stdout: () => stdout, stderr: () => stderr, printed, complained, finished }
}

/** Starts a program with this version of Node.js. Closing the scope kills the program. */
export const startNode = (
  args: ReadonlyArray<string>,
  options: StartOptions = {}
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => start(args, options)),
    ({ child, finished }) =>
      Effect.promise(async () => {
        child.kill("SIGKILL")
        await finished
      })
  )

/** Creates a temporary folder that is removed with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "doorhook-test-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)
