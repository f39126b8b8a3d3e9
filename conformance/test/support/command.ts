/**
 * Runs the command, in this process or in a separate one.
 */
import { conformanceCommand } from "@doorhook/conformance"
import { CommandFailure } from "@doorhook/core"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { startNode } from "@doorhook/testkit/Process"
import { conformanceProgram } from "@doorhook/testkit/Doorhook"
import { Cause, Console, Effect, Exit, FileSystem, Schema } from "effect"
import type { Scope } from "effect"
import { Command } from "effect/cli"
import type { ChildProcess } from "node:child_process"
import { Report } from "../../src/report/Report.ts"
import { exitCodeOfExit } from "./exitCode.ts"

const readReport = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(file))) return null
  return yield* Schema.decodeEffect(Schema.fromJsonString(Report))(yield* fs.readFileString(file))
})

/** Path of a file that does not exist yet, in a folder that is deleted with the scope. */
const reportFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return `${yield* fs.makeTempDirectoryScoped()}/report.json`
})

/** Adds missing flags: a JSON report, a separate folder for stored histories, and a short --max-time. */
const withReport = (args: ReadonlyArray<string>, file: string): ReadonlyArray<string> => {
  const unless = (flag: string, value: string): ReadonlyArray<string> => (args.includes(flag) ? [] : [flag, value])
  return args[0] === "run"
    ? [
        ...args,
        ...unless("--report", `json=${file}`),
        ...unless("--cases", `${file}.cases`),
        ...unless("--max-time", "20s")
      ]
    : args
}

export interface Result {
  readonly exitCode: number
  /** Everything that was printed. */
  readonly output: string
  /** The message of the failure; empty after a success, or if a separate process printed the message. */
  readonly message: string
  /** The JSON report; null when none was written. */
  readonly report: Report | null
}

/** Runs `conformance ...args` in this process, with a JSON report when it is a run. */
export const conformance = (...args: ReadonlyArray<string>): Effect.Effect<Result> =>
  Effect.gen(function* () {
    const file = yield* reportFile
    const lines: Array<string> = []
    const log = (...parts: ReadonlyArray<unknown>): void => void lines.push(parts.join(" "))
    const all = withReport(args, file)
    const exit = yield* Command.runWith(conformanceCommand, { version: "0.0.0" })(all).pipe(
      Effect.provideService(Console.Console, { ...globalThis.console, log, error: log }),
      Effect.exit
    )
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
    const message = error instanceof CommandFailure ? error.message : ""
    return { exitCode: exitCodeOfExit(exit), output: lines.join("\n"), message, report: yield* readReport(file) }
  }).pipe(Effect.scoped, Effect.provide(NodePlatform.layer), Effect.orDie)

export interface Process {
  readonly child: ChildProcess
  /** The result, once the process has ended. */
  readonly ended: Effect.Effect<Result>
}

/** Runs `conformance ...args` in a separate process, with a JSON report if it is a run. */
export const spawnConformance = (...args: ReadonlyArray<string>): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const file = yield* reportFile
    const all = withReport(args, file)
    const { child, finished } = yield* startNode([conformanceProgram, ...all])
    const ended = Effect.gen(function* () {
      const { code, stderr, stdout } = yield* Effect.promise(() => finished)
      return { exitCode: code ?? -1, output: stdout + stderr, message: "", report: yield* readReport(file) }
    }).pipe(Effect.provide(NodePlatform.layer), Effect.orDie)
    return { child, ended }
  }).pipe(Effect.provide(NodePlatform.layer), Effect.orDie)

/** The ids of the requirements with a verdict. */
export const idsWith = (report: Report | null, verdict: string): ReadonlyArray<string> =>
  (report?.requirements ?? []).filter((requirement) => requirement.verdict === verdict).map(({ id }) => id)
