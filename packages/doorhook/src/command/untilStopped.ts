/**
 * For commands that run until they are stopped. Stopping is then not a failure, and telemetry is exported while they run.
 */
import { Context, Effect } from "effect"
import * as Otlp from "../telemetry/Otlp.ts"

/** How this process may end. The parsed command sets it, because arguments may begin with flags of any command. */
export const Process = Context.Reference<{ runsUntilStopped: boolean }>("doorhook/command/Process", {
  defaultValue: () => ({ runsUntilStopped: false })
})

export const untilStopped = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Process, (process) => {
    process.runsUntilStopped = true
    return Effect.provide(work, Otlp.layer())
  })
