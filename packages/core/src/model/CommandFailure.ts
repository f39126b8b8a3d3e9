/**
 * A failed command: one line for the terminal, and an exit code.
 */
import { Schema } from "effect"

export class CommandFailure extends Schema.TaggedError<CommandFailure>()("CommandFailure", {
  /** One line with the problem and the accepted input. */
  message: Schema.String,
  exitCode: Schema.Int
}) {
  /** The exit code for wrong usage. */
  static readonly usageExitCode = 3

  /** Creates a failure for wrong usage. */
  static usage(message: string): CommandFailure {
    return new CommandFailure({ message, exitCode: CommandFailure.usageExitCode })
  }
}
