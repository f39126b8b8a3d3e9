/**
 * SIGHUP, which a process hears when its terminal is closed. Node.js ends by it at once, and would leave behind what was
 * started for a run, or stands still: those do not hear it.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

const stop = (): void => void process.kill(process.pid, "SIGTERM")

/** From now on, until the scope is closed, SIGHUP stops the process as SIGTERM does. */
export const stopOnHangup: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", stop)),
    () => Effect.sync(() => process.off("SIGHUP", stop))
  )
)
