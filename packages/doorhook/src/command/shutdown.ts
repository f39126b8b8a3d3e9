/**
 * What a process that runs until it is told to stop says when it is told: that it heard, and that it is done.
 */
import { Console, Effect } from "effect"
import type { Scope } from "effect"
import { onSighup } from "../service/Sighup.ts"

/** Says so as soon as the scope is closed: before what was acquired earlier is finished and released. */
export const logStopping = (name: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Console.log(`${name} stopping: what is under way is finished first`))

/** With no directory file to read again, SIGHUP is what a closed terminal sends: it stops the process as SIGTERM does. */
export const stopOnSighup = (directory: string | undefined): Effect.Effect<void, never, Scope.Scope> =>
  directory === undefined ? onSighup(() => process.kill(process.pid, "SIGTERM")) : Effect.void

/** Says so when all of it has ended because it was told to. */
export const logStopped = (name: string) => Effect.onInterrupt(() => Console.log(`${name} stopped`))
