/**
 * Commands of separately installed packages: the simulator and the receiver suite.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { conformanceCommand } from "@doorhook/conformance"
import type { simulateCommand } from "./simulate.ts"

/** A command of a separate package. */
interface Extension<Name extends string> {
  readonly name: Name
  readonly package: string
  readonly description: string
}

const makeExtension = <const Name extends string>(extension: Extension<Name>) => extension

export const simulator = makeExtension({
  name: "simulate",
  package: "@doorhook/simulator",
  description: "Door and call traffic that looks like days in real buildings"
})

export const suite = makeExtension({
  name: "conformance",
  package: "@doorhook/conformance",
  description: "Proves that a webhook receiver handles events correctly"
})

/** A placeholder that shows a missing command in the help. Running the command prints how to install its package. */
const placeholder = <Name extends string>({ description, name, package: missing }: Extension<Name>) =>
  Command.make(name, {}, () =>
    Effect.fail(
      new CommandFailure({
        message: `${name} is in a separate package. Install it with: npm install ${missing}`,
        exitCode: 1
      })
    )
  ).pipe(Command.withDescription(description))

export const placeholders = { simulate: placeholder(simulator), conformance: placeholder(suite) }

/** The commands of installed packages, and a placeholder for each missing package. */
export interface Extensions {
  readonly simulate: typeof placeholders.simulate | typeof simulateCommand
  readonly conformance: typeof placeholders.conformance | typeof conformanceCommand
}

/** Flags whose output lists all commands and subcommands. */
const showsAll = /^--(?:completions|wizard)/

/**
 * Whether the arguments might be for one of these commands. True is always safe: the extended program runs all
 * commands, but starts more slowly.
 */
export const mayNeedExtensions = (given: ReadonlyArray<string>): boolean =>
  given.some((argument) => argument === simulator.name || argument === suite.name || showsAll.test(argument))
