/**
 * Runs another program until it ends. Interruption kills it.
 */
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

/** Error if a program fails or can't be started. */
export class ProgramFailed extends Schema.TaggedError<ProgramFailed>()("ProgramFailed", {
  program: Schema.String,
  /** Whether the program does not exist. */
  isMissing: Schema.Boolean,
  /** The program's standard error, on one line. */
  said: Schema.String
}) {
  override get message(): string {
    return `${this.program}: ${this.said}`
  }
}

interface RunOptions {
  /** Variables to add to the inherited environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Called with each line of standard output. */
  readonly onLine: (line: string) => void
}

const start = (program: string, args: ReadonlyArray<string>, { env, onLine }: RunOptions) => {
  const child = spawn(program, [...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let stderr = ""
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  createInterface({ input: child.stdout }).on("line", onLine)
  return { child, ended: once(child, "close"), said: () => stderr.trim().replaceAll(/\s*\n\s*/g, "; ") }
}

/** Fails unless the program exits with 0. */
export const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  options: RunOptions
): Effect.Effect<void, ProgramFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => start(program, args, options)),
    ({ ended, said }) =>
      Effect.tryPromise({
        try: () => ended,
        catch: (error) => new ProgramFailed({ program, isMissing: true, said: String(error) })
      }).pipe(
        Effect.flatMap(([code, signal]: ReadonlyArray<unknown>) =>
          code === 0
            ? Effect.void
            : Effect.fail(
                new ProgramFailed({
                  program,
                  isMissing: false,
                  said: said() || `it ended with ${String(code ?? signal)}`
                })
              )
        )
      ),
    ({ child, ended }) =>
      Effect.promise(async () => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        child.kill("SIGTERM")
        await ended
      })
  )
