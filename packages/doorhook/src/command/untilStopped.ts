/**
 * Marks commands that run until they are stopped: stopping them is not a failure, and they export telemetry.
 */
import { Context, Effect } from "effect"
import * as Otlp from "../telemetry/Otlp.ts"

/**
 * Whether this process runs until it is stopped. The command sets this once it is parsed, because flags might precede
 * its name in the arguments.
 */
export const Process = Context.Reference<{ runsUntilStopped: boolean }>("doorhook/command/Process", {
  defaultValue: () => ({ runsUntilStopped: false })
})

export const untilStopped = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Process, (process) => {
    process.runsUntilStopped = true
    return Effect.provide(work, Otlp.layer())
  })
