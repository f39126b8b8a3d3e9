/**
 * The exit codes of a process that runs the command as part of its own command line.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Exit } from "effect"
import { CliError } from "effect/cli"

const defect = 70

/** Returns the exit code of a failure. An invalid command line has the code for wrong usage. */
const exitCodeOf = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  if (!CliError.isCliError(error)) return defect
  return error._tag === "ShowHelp" && error.errors.length === 0 ? 0 : CommandFailure.usageExitCode
}

export const exitCodeOfExit = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  return Cause.hasInterruptsOnly(exit.cause) ? 130 : exitCodeOf(Cause.squash(exit.cause))
}
