/**
 * Runs a command as the main program of a process, with its services, output and exit code.
 */
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { Effect } from "effect"
import type { Command } from "effect/cli"
import { ignoreBrokenPipe } from "./brokenPipe.ts"
import { exitCodeOf, reported } from "./exit.ts"
import { runWithArgv } from "./argv.ts"
import { exitWithParent, stopWithRunner } from "./parentWatch.ts"
import type { Platform } from "./platform.ts"
import { platform } from "./platform.ts"
import { Process } from "./untilStopped.ts"

/** Runs a command with arguments. For a command that runs until it is stopped, an interruption is not a failure. */
export const runMain = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, Platform>,
  given: ReadonlyArray<string>
): void => {
  ignoreBrokenPipe()
  exitWithParent()
  stopWithRunner()
  const process = { runsUntilStopped: false }
  runWithArgv(command, given).pipe(
    Effect.provide(platform),
    Effect.provideService(Process, process),
    reported,
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCodeOf(exit, { stoppable: process.runsUntilStopped }))
    })
  )
}
