/**
 * What runs until it is told to stop: being told is then no failure, and what it does is told to a collector meanwhile.
 */
import { Context, Effect } from "effect"
import * as Otlp from "../telemetry/Otlp.ts"

/** How this process may end. The command that was understood says so: the arguments may begin with flags of any command. */
export const Process = Context.Reference<{ runsUntilStopped: boolean }>("doorhook/command/Process", {
  defaultValue: () => ({ runsUntilStopped: false })
})

export const untilStopped = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Process, (process) => {
    process.runsUntilStopped = true
    return Effect.provide(work, Otlp.layer())
  })
