/**
 * Commands of the user's, run by a shell.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { HookFailed } from "./Hooks.ts"
import { signalGroup } from "./ProcessGroup.ts"

/** How long a hook may take, in milliseconds. */
export const hookPatience = 30_000

/**
 * Runs a command until it ends; one that takes too long, or is not waited for any longer, is killed with all it started.
 * What one that has ended left running in the background stays: nothing is read from it, so that a receiver it starts may
 * write to its output for ever.
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
