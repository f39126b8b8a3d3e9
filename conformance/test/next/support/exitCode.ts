/**
 * What a process that mounts the command exits with.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Exit } from "effect"
import { CliError } from "effect/cli"

const defect = 70

/** The exit code of a failure; a wrong command line is as good as a flag with a wrong value. */
const exitCodeOf = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  if (!CliError.isCliError(error)) return defect
  return error._tag === "ShowHelp" && error.errors.length === 0 ? 0 : CommandFailure.usageExitCode
}

export const exitCodeOfExit = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  return Cause.hasInterruptsOnly(exit.cause) ? 130 : exitCodeOf(Cause.squash(exit.cause))
}
