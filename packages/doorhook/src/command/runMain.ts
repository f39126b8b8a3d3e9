/**
 * Runs a command as the whole of a process: its services, its voice, its exit code.
 */
import "./threads.ts"
import "./closedOutput.ts"
import "./lifeline.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Stdio } from "effect"
import type { Command } from "effect/cli"
import { exitCodeOf, reported } from "./ending.ts"
import { runOn } from "./givenArguments.ts"
import type { Platform } from "./platform.ts"
import { platform } from "./platform.ts"
import { Process } from "./untilStopped.ts"

/** Runs a command. When it is one that runs until it is told to stop, being told is no failure. */
export const runMain = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, Platform>
): void => {
  const process = { runsUntilStopped: false }
  Stdio.Stdio.pipe(
    Effect.flatMap(({ args }) => args),
    Effect.flatMap((given) => runOn(command, given)),
    Effect.provide(platform),
    Effect.provideService(Process, process),
    reported,
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCodeOf(exit, { stoppable: process.runsUntilStopped }))
    })
  )
}
