/**
 * What a command tells the person at the terminal when it can't go on: one line, and an exit code.
 */
import { Schema } from "effect"

export class CommandFailure extends Schema.TaggedError<CommandFailure>()("CommandFailure", {
  /** What was wrong and what is accepted, in one line. */
  message: Schema.String,
  exitCode: Schema.Int
}) {
  /** The exit code of a command that was called wrongly. */
  static readonly usageExitCode = 3

  /** The command was called wrongly. */
  static usage(message: string): CommandFailure {
    return new CommandFailure({ message, exitCode: CommandFailure.usageExitCode })
  }
}
