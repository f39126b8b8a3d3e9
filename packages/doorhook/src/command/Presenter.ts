/**
 * How the command speaks: help to standard output when it was asked for, and otherwise one line to standard error.
 */
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"

/** One line for each thing that is wrong with a call, and where to read what is right. */
const invalid = (commandPath: ReadonlyArray<string>, errors: ReadonlyArray<{ readonly message: string }>): string =>
  `${commandPath.join(" ")}: ${errors.map(({ message }) => message.replaceAll(/\s+/g, " ").trim()).join("; ")}. See ${commandPath.join(" ")} --help.`

export const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(invalid(event.commandPath, event.errors))
      : CliOutput.defaultPresenter.present(event).pipe(Effect.asVoid)
}
