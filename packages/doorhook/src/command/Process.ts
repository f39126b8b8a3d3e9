/**
 * The life of the command's process: its services, arguments, output, exit code and end.
 *
 * The published command bundles `@effect/platform-node-shared`, so users don't install it.
 */
import { CommandFailure, defaultDeliverySettings, deliverySettingsOf, longestAttempt } from "@doorhook/core"
import { DatabaseUnusable } from "@doorhook/sql"
import * as NodeChildProcessSpawner from "@effect/platform-node-shared/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as NodeStdio from "@effect/platform-node-shared/NodeStdio"
import * as NodeTerminal from "@effect/platform-node-shared/NodeTerminal"
import { Cause, Console, Context, Effect, Exit, Layer, Logger, Predicate, Result } from "effect"
import type { Scope } from "effect"
import { CliError, CliOutput, Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { flushCompileCache } from "node:module"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { deliveryOverrides } from "../config/EngineConfig.ts"
import { InvalidConfig } from "../config/ReadingSettings.ts"
import { onSighup } from "../service/Sighup.ts"
import { consoleLogger } from "../telemetry/Loggers.ts"
import * as Otlp from "../telemetry/Otlp.ts"
import { version } from "../version.ts"
import { exitWithParent, stopWithRunner } from "./ParentWatch.ts"
import { presenter } from "./Presenter.ts"

// Running a command.

const files = Layer.merge(NodeFileSystem.layer, NodePath.layer)

/** Services that every command needs: Node.js files, processes and HTTP, and the output of help and errors. */
export const platform = Layer.mergeAll(
  Layer.provideMerge(NodeChildProcessSpawner.layer, files),
  NodeStdio.layer,
  NodeTerminal.layer,
  FetchHttpClient.layer,
  CliOutput.layerPresenter(presenter),
  // Logs go to standard error. Standard output is for results.
  Logger.layer([consoleLogger])
)

export type Platform = Layer.Success<typeof platform>

/**
 * Whether this process runs until it is stopped. The command sets this once it is parsed, because flags might precede
 * its name in the arguments.
 */
const Process = Context.Reference<{ runsUntilStopped: boolean }>("doorhook/command/Process", {
  defaultValue: () => ({ runsUntilStopped: false })
})

/** Marks a command that runs until it is stopped: stopping it is not a failure, and it exports telemetry. */
export const untilStopped = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Process, (process) => {
    process.runsUntilStopped = true
    return Effect.provide(work, Otlp.layer())
  })

/** Runs a command with arguments. For a command that runs until it is stopped, an interruption is not a failure. */
export const runMain = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, Platform>,
  given: ReadonlyArray<string>
): void => {
  ignoreBrokenPipe()
  exitWithParent()
  stopWithRunner()
  const process = { runsUntilStopped: false }
  runWithArgv(command, given).pipe(
    Effect.provide(platform),
    Effect.provideService(Process, process),
    reported,
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCodeOf(exit, { stoppable: process.runsUntilStopped }))
    })
  )
}

// Arguments.

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

/** Runs a command on arguments, prepared for the parser. */
export const runWithArgv = <Name extends string, Input, E, R, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, R>,
  given: ReadonlyArray<string>
) => Command.runWith(command, { version })(withIdArguments(withNegativeValues(given)))

// Output and exit code.

/**
 * Whether nobody reads an output any more: for example, `head` has read enough, a log collector died, or the terminal
 * was closed (EIO). A full disk is another matter, because otherwise nobody would notice the missing output.
 */
const isGone = ({ code }: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean =>
  code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || (code === "EIO" && isTTY)

/** Removes the error code and the system call from a message like `ENOSPC: no space left on device, write`. */
const plain = (message: string): string => message.replace(/^E[A-Z]+: /, "").replace(/, \w+$/, "")

/**
 * Ignores broken pipes on standard output and standard error: further output is dropped, work continues, and the exit
 * code does not change. Other write errors end the process.
 */
const ignoreBrokenPipe = (): void => {
  const streams = { "standard output": process.stdout, "standard error": process.stderr } as const
  for (const [name, stream] of Object.entries(streams)) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (isGone(error, stream)) return
      if (stream === process.stdout) {
        process.stderr.write(`doorhook: cannot write to ${name}: ${plain(error.message)}\n`)
      }
      process.exit(1)
    })
  }
}

/** Conventional exit code of an interrupted command: 128 plus the signal number of SIGINT. */
const interruptedExitCode = 130

/** Returns an error as one line, without its stack. */
const lineOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  return `doorhook: ${message.replaceAll(/\s*\n\s*/g, " ")}`
}

/** Prints why a command failed. Prints nothing for wrong arguments, which the presenter has already reported. */
export const reported = Effect.tapCause((cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.hasInterruptsOnly(cause) || CliError.isCliError(error) ? Effect.void : Console.error(lineOf(error))
})

const failedExitCode = (error: unknown): number => {
  if (error instanceof CommandFailure) return error.exitCode
  if (error instanceof DatabaseUnusable && error.why === "other_directory") return CommandFailure.usageExitCode
  return error instanceof InvalidConfig || CliError.isCliError(error) ? CommandFailure.usageExitCode : 1
}

/** Returns the exit code of a command. Interrupting a `stoppable` command is not a failure. */
export const exitCodeOf = (
  exit: Exit.Exit<unknown, unknown>,
  { stoppable }: { readonly stoppable: boolean }
): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return stoppable ? 0 : interruptedExitCode
  return failedExitCode(Cause.squash(exit.cause))
}

// Start and end of services.

/**
 * Saves all code compiled so far, for the next start, if the compile cache is on. Node.js saves the cache only at a
 * normal exit, but services are often killed. Without the cache, compiling takes half of the start-up time.
 */
export const keepCompiled = Effect.sync(() => flushCompileCache())

/** Prints a line when the scope begins to close, before resources acquired earlier are released. */
export const logStopping = (name: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Console.log(`${name} stopping: finishing work in progress`))

/** Treats SIGHUP like SIGTERM if there is no directory file to reload. A closing terminal sends SIGHUP. */
export const stopOnSighup = (directory: string | undefined): Effect.Effect<void, never, Scope.Scope> =>
  directory === undefined ? onSighup(() => process.kill(process.pid, "SIGTERM")) : Effect.void

/** Prints a line once an interruption is complete. */
export const logStopped = (name: string) => Effect.onInterrupt(() => Console.log(`${name} stopped`))

/**
 * Time allowed after the longest attempt to finish requests, record outcomes and release the remaining deliveries, in
 * milliseconds.
 */
const stopAllowance = 20_000

const signals = ["SIGTERM", "SIGINT"] as const

/**
 * Forces an exit if a signal does not stop the process in time, for example because the database neither answers nor
 * closes its connection. Once the membership of this process has expired, other processes send its deliveries. Active
 * until the scope closes.
 */
export const forceExitAfterSignal = (config: EngineConfig): Effect.Effect<void, never, Scope.Scope> => {
  const listen = Effect.sync(() => {
    const settings = Result.flatMap(deliveryOverrides(config), deliverySettingsOf)
    const bound = longestAttempt(Result.getOrElse(settings, () => defaultDeliverySettings)) + stopAllowance
    const force = (): void => {
      process.stderr.write(
        `doorhook: could not stop within ${bound} ms and was forced to exit with unfinished work: check whether the database responds\n`
      )
      process.exit(1)
    }
    const listener = (): void => void setTimeout(force, bound).unref()
    for (const signal of signals) process.once(signal, listener)
    return listener
  })
  return Effect.asVoid(
    Effect.acquireRelease(listen, (listener) =>
      Effect.sync(() => {
        for (const signal of signals) process.off(signal, listener)
      })
    )
  )
}
