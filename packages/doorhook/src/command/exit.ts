/**
 * How a command ends: one line to standard error for what went wrong, and an exit code.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Console, Effect, Exit, Predicate } from "effect"
import { CliError } from "effect/cli"
import { InvalidConfig } from "../config/ReadingSettings.ts"

/** The conventional exit code of a command that was interrupted: 128 and the number of SIGINT. */
const interruptedExitCode = 130

/** One line for whoever called, never a stack. */
const lineOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  return `doorhook: ${message.replaceAll(/\s*\n\s*/g, " ")}`
}

/** Tells what a command failed with. What is wrong with the call itself has been said by the presenter. */
export const reported = Effect.tapCause((cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.hasInterruptsOnly(cause) || CliError.isCliError(error) ? Effect.void : Console.error(lineOf(error))
})

const failedExitCode = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  return error instanceof InvalidConfig || CliError.isCliError(error) ? CommandFailure.usageExitCode : 1
}

/** The exit code of a command. One that is `stoppable` runs until it is told to stop, and being told is no failure. */
export const exitCodeOf = (
  exit: Exit.Exit<unknown, unknown>,
  { stoppable }: { readonly stoppable: boolean }
): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return stoppable ? 0 : interruptedExitCode
  return failedExitCode(Cause.squash(exit.cause))
}
