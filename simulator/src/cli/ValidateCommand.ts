/**
 * `simulate validate`: whether traffic looks like traffic.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { grouped } from "../results/RunText.ts"
import type { Check } from "../validate/Check.ts"
import { fileChecks } from "../validate/FileChecks.ts"
import { planChecks } from "../validate/PlanChecks.ts"
import { table } from "../validate/Table.ts"
import type { PlanTexts } from "./Flags.ts"
import { planFlags, readPlan, readRateScale, readScenarioFlags, usualPlan } from "./Flags.ts"

const report = Effect.fnUntraced(function* (subject: string, checks: ReadonlyArray<Check>) {
  const failed = checks.filter(({ verdict }) => verdict === "FAIL")
  const passed = checks.filter(({ verdict }) => verdict === "PASS")
  const left = checks.length - failed.length - passed.length
  yield* Console.log(`${subject}\n\n${table(checks)}\n`)
  yield* Console.log(`${passed.length} passed, ${failed.length} failed, ${left} skipped`)
  if (failed.length === 0) {
    if (passed.length > 0) return
    return yield* new CommandFailure({ message: "Nothing could be checked: there is too little of it", exitCode: 1 })
  }
  const message = `${failed.length} of ${checks.length} checks failed: ${failed.map(({ name }) => name).join(", ")}`
  return yield* new CommandFailure({ message, exitCode: 1 })
})

/** A plan's default length, and what a file has of its own. */
const usualDuration = "28d"

/** What is wrong with a flag that means nothing beside a file; null when all of them mean something. */
const misplaced = (path: string, texts: PlanTexts, isAgainst: boolean): string | null => {
  const { seed, start } = usualPlan
  const usual = { seed, start, duration: usualDuration } as const
  const wrong = (["seed", "start", "duration"] as const).find((name) => texts[name] !== usual[name])
  if (wrong !== undefined) return `--${wrong} makes a plan, and ${path} has its events: leave out one of both`
  return texts.rateScale === usualPlan.rateScale || isAgainst
    ? null
    : `--rate-scale needs --preset or --scenario beside ${path}: it says how many times as many people that has`
}

const standardInput = "-"

/** The bytes of a file, of a pipe that can't be read but in sequence, or of standard input. */
const bytesOf = Effect.fnUntraced(function* (path: string) {
  if (path === standardInput) return (yield* Stdio.Stdio).stdin
  const files = yield* FileSystem.FileSystem
  const { type } = yield* files.stat(path)
  return type === "FIFO" || type === "Socket" ? Stream.fromEffect(files.readFile(path)) : files.stream(path)
})

const ofFile = Effect.fnUntraced(function* (path: string, flags: PlanTexts) {
  const isGiven = Option.isSome(flags.preset) || Option.isSome(flags.scenario)
  const wrong = misplaced(path, flags, isGiven)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const rateScale = yield* readRateScale(flags.rateScale)
  const scenario = isGiven ? Option.some(yield* readScenarioFlags(flags)) : Option.none()
  const lines = Stream.unwrap(bytesOf(path)).pipe(Stream.decodeText, Stream.splitLines)
  const { checks, count } = yield* fileChecks(lines, scenario, rateScale).pipe(
    Effect.catchTags({
      PlatformError: (error) =>
        Effect.fail(CommandFailure.usage(`${path}: expected a file that can be read; ${fileTrouble(error)}`)),
      InvalidLine: ({ message }) => Effect.fail(CommandFailure.usage(`${path}, ${message}`))
    })
  )
  if (count === 0) return yield* CommandFailure.usage(`${path}: expected events, one on each line; the file has none`)
  const against = Option.match(scenario, { onNone: () => "", onSome: ({ name }) => ` against ${name}` })
  yield* report(`${path}: ${grouped(count)} events${against}`, checks)
})

export const validateCommand = Command.make(
  "validate",
  {
    ...planFlags,
    duration: Flag.String("duration").pipe(
      Flag.withDescription(
        `How much time the plan covers; weeks are needed for some checks (default ${usualDuration})`
      ),
      Flag.withDefault(usualDuration)
    ),
    file: Argument.String("file").pipe(
      Argument.withDescription(
        "A file of events (NDJSON), or - for standard input, in place of a plan; with --preset or --scenario it is compared with that"
      ),
      Argument.optional
    )
  },
  Effect.fnUntraced(function* ({ file, ...texts }) {
    if (Option.isSome(file)) return yield* ofFile(file.value, texts)
    const { scenario, options } = yield* readPlan(texts)
    const subject = `${scenario.name}: ${texts.duration} from ${texts.start}, seed ${texts.seed}`
    yield* report(subject, yield* planChecks(scenario, options))
  })
).pipe(
  Command.withDescription(
    "Check whether traffic is realistic: a scenario's against what it states, or a file of events; exit 1 when a check fails"
  ),
  Command.withExamples([
    { command: "doorhook simulate validate --preset office-1000", description: "Four weeks of a preset" },
    { command: "doorhook simulate validate events.ndjson --preset quiet", description: "A file against a preset" }
  ])
)
