/**
 * Runs a command on arguments, as its parser should read them.
 */
import { Command } from "effect/cli"
import { version } from "../version.ts"

/** A flag that takes its value from the argument after it, unless it takes none. */
const flag = /^--[a-z][a-z-]*$/

/** A number below zero, or a duration. No flag of any command begins so. */
const negative = /^-\d/

/** Flags without a value, of commands that take an id. */
const switches: ReadonlySet<string> = new Set(["--json", "--clear"])

/** Ids that the parser would take for the value of a flag that has none, as it takes `true` and `false`. */
const truthLikeId = /^[01]$/

/** Says of such a flag before such an id that it is given, so that the id is left to the command. */
const withIdArguments = (given: ReadonlyArray<string>): ReadonlyArray<string> =>
  given.map((argument, at) =>
    switches.has(argument) && truthLikeId.test(given[at + 1] ?? "") ? `${argument}=true` : argument
  )

/**
 * Joins a negative value to its flag: the parser would take `-1d` in `--duration -1d` for flags of one letter, and complain
 * about these instead of the value.
 */
const withNegativeValues = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  const joined: Array<string> = []
  const end = given.includes("--") ? given.indexOf("--") : given.length
  given.forEach((argument, at) => {
    const before = joined.at(-1)
    if (at < end && before !== undefined && flag.test(before) && negative.test(argument)) {
      joined[joined.length - 1] = `${before}=${argument}`
    } else joined.push(argument)
  })
  return joined
}

/** Runs a command on the arguments that it was given. */
export const runWithArgv = <Name extends string, Input, E, R, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, R>,
  given: ReadonlyArray<string>
) => Command.runWith(command, { version })(withIdArguments(withNegativeValues(given)))
