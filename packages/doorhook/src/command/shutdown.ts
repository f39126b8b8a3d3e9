/**
 * Prints one line when shutdown begins, and one when it is complete.
 */
import { Console, Effect } from "effect"
import type { Scope } from "effect"
import { onSighup } from "../service/Sighup.ts"

/** Prints a line when the scope begins to close, before resources acquired earlier are released. */
export const logStopping = (name: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Console.log(`${name} stopping: finishing work in progress`))

/** Treats SIGHUP like SIGTERM if there is no directory file to reload. A closing terminal sends SIGHUP. */
export const stopOnSighup = (directory: string | undefined): Effect.Effect<void, never, Scope.Scope> =>
  directory === undefined ? onSighup(() => process.kill(process.pid, "SIGTERM")) : Effect.void

/** Prints a line once an interruption is complete. */
export const logStopped = (name: string) => Effect.onInterrupt(() => Console.log(`${name} stopped`))
