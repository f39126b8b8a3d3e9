/**
 * The end of a command: one line on standard error for a failure, and an exit code.
 */
import { CommandFailure } from "@doorhook/core"
import { DatabaseUnusable } from "@doorhook/sql"
import { Cause, Console, Effect, Exit, Predicate } from "effect"
import { CliError } from "effect/cli"
import { InvalidConfig } from "../config/ReadingSettings.ts"

/** Conventional exit code of an interrupted command: 128 plus the signal number of SIGINT. */
const interruptedExitCode = 130

/** Returns an error as one line, without its stack. */
const lineOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  return `doorhook: ${message.replaceAll(/\s*\n\s*/g, " ")}`
}

/** Prints why a command failed. Prints nothing for wrong arguments, which the presenter has already reported. */
export const reported = Effect.tapCause((cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.hasInterruptsOnly(cause) || CliError.isCliError(error) ? Effect.void : Console.error(lineOf(error))
})

const failedExitCode = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  if (error instanceof DatabaseUnusable && error.why === "other_directory") return CommandFailure.usageExitCode
  return error instanceof InvalidConfig || CliError.isCliError(error) ? CommandFailure.usageExitCode : 1
}

/** Returns the exit code of a command. Interrupting a `stoppable` command is not a failure. */
export const exitCodeOf = (
  exit: Exit.Exit<unknown, unknown>,
  { stoppable }: { readonly stoppable: boolean }
): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return stoppable ? 0 : interruptedExitCode
  return failedExitCode(Cause.squash(exit.cause))
}
