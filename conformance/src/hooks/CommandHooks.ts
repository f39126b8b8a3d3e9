/**
 * Hooks that are commands of the user's, and what a control URL adds to them.
 */
import { Effect } from "effect"
import type { Hooks } from "./Hooks.ts"
import { noHooks } from "./Hooks.ts"
import { awaitReady } from "./Ready.ts"
import { runHook } from "./ShellCommand.ts"

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
