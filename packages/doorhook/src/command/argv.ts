/**
 * Prepares command-line arguments for the parser, and runs a command on them.
 */
import { Command } from "effect/cli"
import { version } from "../version.ts"

/** A flag whose value may be the next argument. */
const flag = /^--[a-z][a-z-]*$/

/** A negative number or duration. It can't be a flag, because no flag begins with a digit. */
const negative = /^-\d/

/** Flags without a value, on commands that take an id. */
const switches: ReadonlySet<string> = new Set(["--json", "--clear"])

/** Ids that the parser would read as the value of the switch before them, like `true` or `false`. */
const truthLikeId = /^[01]$/

/** Writes a switch before the id 0 or 1 as `--flag=true`, so that the parser passes the id to the command. */
const withIdArguments = (given: ReadonlyArray<string>): ReadonlyArray<string> =>
  given.map((argument, at) =>
    switches.has(argument) && truthLikeId.test(given[at + 1] ?? "") ? `${argument}=true` : argument
  )

/**
 * Joins a negative value to its flag. In `--duration -1d`, the parser would read `-1d` as one-letter flags, and reject
 * those instead of the value.
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

export const runWithArgv = <Name extends string, Input, E, R, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, R>,
  given: ReadonlyArray<string>
) => Command.runWith(command, { version })(withIdArguments(withNegativeValues(given)))
