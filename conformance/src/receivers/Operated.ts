/**
 * A bundled receiver as a process of its own, started and operated by the hooks that users get.
 */
import { Shell } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { withControl } from "../hooks/Control.ts"
import { freePort } from "../hooks/FreePort.ts"
import type { HookFailed, Hooks } from "../hooks/Hooks.ts"
import { spawned } from "../hooks/Spawned.ts"

/** How to start a receiver. It gets its port in the variable PORT. */
export interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  /** Whether it has the control of the bundled receivers. */
  readonly control: boolean
}

export interface Operated {
  readonly origin: URL
  readonly hooks: Hooks
}

/** Starts it, and ends it with the scope. */
export const operate = Effect.fnUntraced(function* (
  launch: Launch
): Effect.fn.Return<Operated, HookFailed, Scope.Scope> {
  const port = yield* freePort
  const origin = new URL(`http://127.0.0.1:${port}`)
  const command = `exec ${[launch.command, ...launch.args].map(Shell.quote).join(" ")}`
  const ready = new URL("/probe?id=never-sent", origin)
  const hooks = yield* spawned(command, { ...launch.env, PORT: String(port) }, origin, ready)
  return { origin, hooks: launch.control ? yield* withControl(hooks, new URL("/control", origin)) : hooks }
})
