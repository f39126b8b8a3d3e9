/**
 * Output of the command-line parser: requested help goes to standard output, an error to standard error as one line.
 */
import { FlagGroups } from "@doorhook/core"
import { Console, Context, Effect } from "effect"
import type { CliError, HelpDoc } from "effect/cli"
import { CliOutput, TerminalCapabilities } from "effect/cli"

/** Replacements for phrases in the parser's own error messages. */
const rewordings: ReadonlyArray<readonly [RegExp, string]> = [
  [/^Schema validation failed: /, ""],
  [/^Expected a string representing (?:a finite number|an integer).*$/, "must be a number"],
  [/^Expected an? (?:integer|.*\binteger\b.*)$/, "must be a whole number"],
  [/^Expected a value between (\S+) and (\S+)$/, "must be between $1 and $2"],
  [/^(?:File|Path) does not exist: .*$/, "there is no such file"],
  [/^Path is not a file: .*$/, "it is a folder, not a file"],
  [/^at most 1 value$/, "may be given only once"],
  [/^at least 1 value$/, "must be given"],
  [/^(?:Expected )?string$/, "must be followed by a text"],
  [/^(?:Expected:? )?((?:"?[\w-]+"? \| )+"?[\w-]+"?)$/, "must be $1"],
  [/^Expected /, "must be "]
]

const accepted = (expected: string): string =>
  rewordings.reduce((text, [library, ours]) => text.replace(library, ours), expected).replaceAll(" | ", " or ")

const didYouMean = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; did you mean ${suggestions.join(" or ")}?`

/** Describes an error, beginning with its flag or argument. */
const describe = (error: CliError.CliError): string => {
  switch (error._tag) {
    case "InvalidValue": {
      const name = error.kind === "flag" ? `--${error.option}` : `<${error.option}>`
      const what = accepted(error.expected)
      if (/^\d+ occurrences$/.test(error.value) || error.value === "") return `${name}: ${what}`
      const given = JSON.stringify(error.value)
      return what.startsWith("must be") ? `${name}: ${what}, not ${given}` : `${name}: ${given}: ${what}`
    }
    case "UnrecognizedOption":
      return `${error.option}: there is no such flag${didYouMean(error.suggestions)}`
    case "UnknownSubcommand":
      return `${error.subcommand}: there is no such command${didYouMean(error.suggestions)}`
    case "MissingOption":
      return `--${error.option}: is missing`
    case "MissingArgument":
      return `<${error.argument}>: is missing`
    case "UnexpectedArgument":
      return `${error.arguments.map((value) => JSON.stringify(value)).join(", ")}: not expected here`
    default:
      return error.message
  }
}

/** Returns one line with all problems of a command line, and the `--help` command to run. */
const invalid = (commandPath: ReadonlyArray<string>, errors: ReadonlyArray<CliError.CliError>): string => {
  const command = commandPath.join(" ")
  const problems = errors.map((error) => describe(error).replaceAll(/\s+/g, " ").trim())
  return `${command}: ${problems.join("; ").replace(/(?<![.?])$/, ".")} See ${command} --help.`
}

/** Returns the help text with a heading above the first flag of each group. */
const grouped = (help: string, groups: Readonly<Record<string, string>>): string =>
  help
    .split("\n")
    .flatMap((line) => {
      const [, flag = ""] = /^ {2}\S*?--([a-z-]+)/.exec(line) ?? []
      const heading = groups[flag]
      return heading === undefined ? [line] : ["", ` ${heading}`, line]
    })
    .join("\n")

const showHelp = Effect.fnUntraced(function* (doc: HelpDoc.HelpDoc) {
  const { canColor } = yield* TerminalCapabilities.TerminalCapabilities
  const help = CliOutput.defaultFormatter({ colors: canColor }).formatHelpDoc(doc)
  yield* Console.log(grouped(help, Context.get(doc.annotations, FlagGroups)))
})

export const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation":
        return Console.error(invalid(event.commandPath, event.errors))
      case "Help":
        return showHelp(event.helpDoc)
      case "Version":
        return Effect.asVoid(CliOutput.defaultPresenter.present(event))
    }
  }
}
