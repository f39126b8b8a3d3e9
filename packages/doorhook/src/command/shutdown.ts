/**
 * Prints one line when shutdown begins, and one when it is complete.
 */
import { Console, Effect } from "effect"
import type { Scope } from "effect"
import { onSighup } from "../service/Sighup.ts"

/** Prints a line when the scope begins to close, before earlier resources are released. */
export const logStopping = (name: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Console.log(`${name} stopping: finishing open work`))

/**
 * Stops the process at SIGHUP, as at SIGTERM, when there is no directory file to read again. A closing terminal sends
 * SIGHUP.
 */
export const stopOnSighup = (directory: string | undefined): Effect.Effect<void, never, Scope.Scope> =>
  directory === undefined ? onSighup(() => process.kill(process.pid, "SIGTERM")) : Effect.void

/** Prints a line when an interruption is complete. */
export const logStopped = (name: string) => Effect.onInterrupt(() => Console.log(`${name} stopped`))
