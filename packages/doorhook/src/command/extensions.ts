/**
 * What separately installed packages add: the commands of the simulator and the receiver suite, and the endpoint for
 * assistants.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { McpRoutes } from "@doorhook/server"
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

/** The endpoint for assistants, which is no command: `doorhook serve` serves it with this flag. */
export const endpoint = { flag: "mcp", package: "@doorhook/mcp" } as const

/** Fails with how to install the package of a command or flag. */
const notInstalled = (name: string, missing: string) =>
  Effect.fail(
    new CommandFailure({
      message: `${name} is in a separate package. Install it with: npm install ${missing}`,
      exitCode: 1
    })
  )

/** A placeholder that shows a missing command in the help. Running the command prints how to install its package. */
const placeholder = <Name extends string>({ description, name, package: missing }: Extension<Name>) =>
  Command.make(name, {}, () => notInstalled(name, missing)).pipe(Command.withDescription(description))

export const placeholders = {
  simulate: placeholder(simulator),
  conformance: placeholder(suite),
  mcp: notInstalled(`--${endpoint.flag}`, endpoint.package)
}

/** What installed packages add, and a placeholder for each missing package. */
export interface Extensions {
  readonly simulate: typeof placeholders.simulate | typeof simulateCommand
  readonly conformance: typeof placeholders.conformance | typeof conformanceCommand
  /** Makes the endpoint for assistants. */
  readonly mcp: Effect.Effect<McpRoutes, CommandFailure>
}

/** Flags whose output lists all commands and subcommands. */
const showsAll = /^--(?:completions|wizard)/

/**
 * Whether the arguments might need one of these packages. True is always safe: the extended program runs all
 * commands, but starts more slowly.
 */
export const mayNeedExtensions = (given: ReadonlyArray<string>): boolean =>
  given.some(
    (argument) =>
      argument === simulator.name ||
      argument === suite.name ||
      argument.startsWith(`--${endpoint.flag}`) ||
      showsAll.test(argument)
  )
