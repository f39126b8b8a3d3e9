/**
 * Hooks that are commands of the user's, run by a shell; and what is left of a shell when a signal is sent to it.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import type { Hooks } from "./Hooks.ts"
import { HookFailed, noHooks } from "./Hooks.ts"
import { awaitReady } from "./Ready.ts"

/** How long a hook may take, in milliseconds. */
export const hookPatience = 30_000

export const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

/**
 * Sends a signal to a process that was started `detached`, and to all that it started: a signal to a shell alone would
 * leave the rest behind.
 */
export const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // It has ended in this moment, or the system knows no groups.
    child.kill(signal)
  }
}

/** Whether anything that it started is left. Where nothing is, its number may soon be another's. */
export const isLeft = ({ pid }: ChildProcess): boolean => {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}

/**
 * Runs a command until it ends; one that takes too long, or is interrupted, is killed with all it started. What one that
 * has ended left running in the background stays: nothing is read from it, so that a receiver it starts may write to its
 * output for as long as it runs.
 */
export const runHook = (
  name: string,
  command: string,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<void, HookFailed> =>
  Effect.callback<void, HookFailed>((resume) => {
    const failed = (what: string): HookFailed =>
      new HookFailed({ message: `${name} ${what}: ${command}. Run it by hand to see why.` })
    const child = spawn(command, { shell: true, detached: true, stdio: "ignore", env: { ...process.env, ...env } })
    child.on("error", (error) => resume(Effect.fail(failed(`could not be run (${error.message})`))))
    child.on("exit", (code, signal) =>
      resume(code === 0 ? Effect.void : Effect.fail(failed(`ended with ${code ?? signal ?? "no code"}`)))
    )
    return Effect.sync(() => signalGroup(child, "SIGKILL"))
  }).pipe(
    Effect.timeoutOrElse({
      duration: hookPatience,
      orElse: () =>
        Effect.fail(
          new HookFailed({
            message: `${name} did not end within ${hookPatience / 1_000} s: ${command}. It must end; what it starts must stay in the background.`
          })
        )
    })
  )

/** Each null where it was not given. */
export interface HookCommands {
  readonly restart: string | null
  readonly kill: string | null
  readonly pause: string | null
  readonly resume: string | null
  readonly advance: string | null
}

export const commandHooks = (commands: HookCommands, url: URL, readyUrl: URL | null): Hooks => {
  const { advance, kill, pause, restart, resume } = commands
  const of = (flag: string, command: string | null) => (command === null ? null : runHook(flag, command))
  const names = Object.fromEntries(
    Object.entries(commands).flatMap(([name, command]) => (command === null ? [] : [[name, `--${name}-cmd`]]))
  )
  return {
    ...noHooks,
    restart: of("--restart-cmd", restart),
    kill: of("--kill-cmd", kill),
    pause: of("--pause-cmd", pause),
    resume: of("--resume-cmd", resume),
    advance:
      advance === null
        ? null
        : (milliseconds) =>
            runHook("--advance-cmd", advance, {
              ADVANCE_MS: String(milliseconds),
              ADVANCE_SECONDS: String(Math.ceil(milliseconds / 1_000))
            }),
    ready: Effect.suspend(() => awaitReady(url, readyUrl)),
    names
  }
}
