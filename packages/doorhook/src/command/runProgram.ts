/**
 * Runs another program to its end. It is killed when the command is interrupted.
 */
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

/** A program that could not be started, or that failed. */
export class ProgramFailed extends Schema.TaggedError<ProgramFailed>()("ProgramFailed", {
  program: Schema.String,
  /** Whether there is no such program. */
  isMissing: Schema.Boolean,
  /** What it wrote to standard error, on one line. */
  said: Schema.String
}) {
  override get message(): string {
    return `${this.program}: ${this.said}`
  }
}

interface RunOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Takes standard output line by line. */
  readonly onLine: (line: string) => void
}

const start = (program: string, args: ReadonlyArray<string>, { env, onLine }: RunOptions) => {
  const child = spawn(program, [...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let stderr = ""
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  createInterface({ input: child.stdout }).on("line", onLine)
  return { child, ended: once(child, "close"), said: () => stderr.trim().replaceAll(/\s*\n\s*/g, "; ") }
}

/** Fails when the program does not exit with 0. */
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
