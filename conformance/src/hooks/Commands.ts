/**
 * Hooks that are commands of the user's, run by a shell; and what is left of a shell when a signal is sent to it.
 */
import { Effect, Struct } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import type { Hooks } from "./Hooks.ts"
import { HookFailed, noHooks } from "./Hooks.ts"
import { awaitReady } from "./Liveness.ts"

/** How long a hook may take, in milliseconds. */
export const hookPatience = 30_000

type Environment = Readonly<Record<string, string>>

/** How a shell is started: in a group of its own, so that a signal reaches all that it starts. */
export const inShell = (env: Environment) => ({ shell: true, detached: true, env: { ...process.env, ...env } }) as const

/** Sends a signal to a shell and to all that it started: a signal to it alone would leave the rest behind. */
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
export const runHook = (name: string, command: string, env: Environment = {}): Effect.Effect<void, HookFailed> => {
  const failed = (what: string, help: string) =>
    Effect.fail(new HookFailed({ message: `${name} ${what}: ${command}. ${help}` }))
  const byHand = "Run it by hand to see why."
  return Effect.callback<void, HookFailed>((resume) => {
    const child = spawn(command, { ...inShell(env), stdio: "ignore" })
    child.on("error", (error) => resume(failed(`could not be run (${error.message})`, byHand)))
    child.on("exit", (code, signal) =>
      resume(code === 0 ? Effect.void : failed(`ended with ${code ?? signal ?? "no code"}`, byHand))
    )
    return Effect.sync(() => signalGroup(child, "SIGKILL"))
  }).pipe(
    Effect.timeoutOrElse({
      duration: hookPatience,
      orElse: () =>
        failed(
          `did not end within ${hookPatience / 1_000} s`,
          "It must end; what it starts must stay in the background."
        )
    })
  )
}

/** Each null where it was not given. */
export type HookCommands = Readonly<Record<"restart" | "kill" | "pause" | "resume" | "advance", string | null>>

export const commandHooks = (commands: HookCommands, url: URL, readyUrl: URL | null): Hooks => {
  const { advance } = commands
  const of = (name: keyof HookCommands) => {
    const command = commands[name]
    return command === null ? null : runHook(`--${name}-cmd`, command)
  }
  const given = Struct.keys(commands).filter((name) => commands[name] !== null)
  return {
    ...noHooks,
    restart: of("restart"),
    kill: of("kill"),
    pause: of("pause"),
    resume: of("resume"),
    advance:
      advance === null
        ? null
        : (milliseconds) =>
            runHook("--advance-cmd", advance, {
              ADVANCE_MS: String(milliseconds),
              ADVANCE_SECONDS: String(Math.ceil(milliseconds / 1_000))
            }),
    ready: awaitReady(url, readyUrl),
    names: Object.fromEntries(given.map((name) => [name, `--${name}-cmd`]))
  }
}
