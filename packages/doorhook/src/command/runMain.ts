/**
 * Runs a command as the whole of a process: its services, its voice, its exit code.
 */
import "./threads.ts"
import "./lifeline.ts"
import { CommandFailure } from "@doorhook/core"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Layer, Predicate } from "effect"
import { CliError, CliOutput, Command } from "effect/cli"
import { InvalidConfig } from "../config/ReadingSettings.ts"
import * as Otlp from "../telemetry/Otlp.ts"
import { version } from "../version.ts"
import * as logging from "./logging.ts"
import { presenter } from "./Presenter.ts"

const platform = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  CliOutput.layerPresenter(presenter),
  // Standard output is for results.
  logging.layer
)

/** What a command may ask of the platform. */
export type Platform = Layer.Success<typeof platform>

/** The conventional exit code of a command that was interrupted: 128 and the number of SIGINT. */
const interruptedExitCode = 130

const exitCodeOf = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  if (error instanceof InvalidConfig) return CommandFailure.usageExitCode
  return CliError.isCliError(error) ? CommandFailure.usageExitCode : 1
}

/** One line for whoever called, never a stack. */
const report = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  return `doorhook: ${message.replaceAll(/\s*\n\s*/g, " ")}\n`
}

/** Runs a command. One that is `stoppable` runs until it is told to stop, and being told is then no failure. */
export const runMain = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, Platform>,
  options: { readonly stoppable: boolean }
): void =>
  Command.run(command, { version }).pipe(
    Effect.provide((options.stoppable ? Otlp.layer() : Layer.empty).pipe(Layer.provideMerge(platform))),
    Effect.tapCause((cause) =>
      Effect.sync(() => {
        const error = Cause.squash(cause)
        // What is wrong with the call itself has been said by the presenter.
        if (!Cause.hasInterruptsOnly(cause) && !CliError.isCliError(error)) process.stderr.write(report(error))
      })
    ),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => {
        if (Exit.isSuccess(exit)) return onExit(0)
        if (Cause.hasInterruptsOnly(exit.cause)) return onExit(options.stoppable ? 0 : interruptedExitCode)
        return onExit(exitCodeOf(Cause.squash(exit.cause)))
      }
    })
  )
