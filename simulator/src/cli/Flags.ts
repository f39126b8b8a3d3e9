/**
 * The flags that the subcommands share, and how their texts are read. All are taken as text and read here, so that every
 * mistake is answered in the same way: what was wrong, and what is accepted.
 */
import { CommandFailure, DurationText, fileTrouble } from "@doorhook/core"
import { Effect, FileSystem, Option } from "effect"
import { Flag } from "effect/cli"
import { columnNames, dateOrders, readColumns, readLog } from "../fit/AccessLog.ts"
import { longestDuration, maxRateScale } from "../plan/Plan.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { readScenario } from "../scenario/Resolve.ts"
import { preset, presetNames } from "../scenario/Presets.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import * as LocalTime from "../world/LocalTime.ts"
import { expectedZone, timeZone } from "../world/zones/TimeZone.ts"

/** Used where neither a preset nor a scenario is named. */
const usualPreset = "residential-200"

/** Which scenario: the flags of every subcommand that takes one. */
const scenarioFlags = {
  preset: Flag.String("preset").pipe(
    Flag.withDescription(`The scenario: ${presetNames.join(", ")} (default ${usualPreset})`),
    Flag.optional
  ),
  scenario: Flag.String("scenario").pipe(
    Flag.withDescription("A scenario file in place of a preset; docs/simulator.md describes its form"),
    Flag.optional
  )
}

/** What is used where a flag is not given. */
export const usualPlan = { seed: "1", start: "2026-03-02T00:00", duration: "24h", rateScale: "1" } as const

/** Which plan: the flags of every subcommand that makes one. */
export const planFlags = {
  ...scenarioFlags,
  seed: Flag.String("seed").pipe(
    Flag.withDescription(`A whole number; the same seed gives the same events (default ${usualPlan.seed})`),
    Flag.withDefault(usualPlan.seed)
  ),
  start: Flag.String("start").pipe(
    Flag.withDescription(`Local time in each building's own time zone (default ${usualPlan.start})`),
    Flag.withDefault(usualPlan.start)
  ),
  duration: Flag.String("duration").pipe(
    Flag.withDescription(`How much time the plan covers, like 30m, 24h or 7d (default ${usualPlan.duration})`),
    Flag.withDefault(usualPlan.duration)
  ),
  rateScale: Flag.String("rate-scale").pipe(
    Flag.withDescription(
      `How many times as many people as the scenario says, like 0.5 or 10 (default ${usualPlan.rateScale})`
    ),
    Flag.withDefault(usualPlan.rateScale)
  )
}

/** The texts of `scenarioFlags`. */
export interface ScenarioTexts {
  readonly preset: Option.Option<string>
  readonly scenario: Option.Option<string>
}

/** The texts of `planFlags`. */
export interface PlanTexts extends ScenarioTexts {
  readonly seed: string
  readonly start: string
  readonly duration: string
  readonly rateScale: string
}

/** A value that was read, or what is wrong with its text. */
export const readOr = <A>(
  read: Option.Option<A>,
  flag: string,
  text: string,
  expected: string
): Effect.Effect<A, CommandFailure> =>
  Effect.mapError(Effect.fromOption(read), () => CommandFailure.usage(`--${flag} ${text}: expected ${expected}`))

export const wholeNumber = (text: string): Option.Option<number> =>
  /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Option.some(Number(text)) : Option.none()

/** A number above 0 in decimal notation. */
export const positiveNumber = (text: string): Option.Option<number> =>
  /^\d{1,9}(\.\d{1,6})?$/.test(text) && Number(text) > 0 ? Option.some(Number(text)) : Option.none()

/** What `--time-zone` takes. */
export const readZone = (text: string) =>
  readOr(
    Option.liftPredicate(text, (name) => timeZone(name) !== null),
    "time-zone",
    text,
    expectedZone
  )

/** How a CSV log is written: the flags of the subcommands that read one. */
export const logFlags = {
  columns: Flag.String("columns").pipe(
    Flag.withDescription(`Headings of a CSV log, like time=Zeit,person=Karte; columns: ${columnNames.join(", ")}`),
    Flag.withDefault("")
  ),
  dates: Flag.String("dates").pipe(
    Flag.withDescription(`Order of dates like 03/02/2026 in a CSV log: ${dateOrders.join(" or ")}`),
    Flag.withDefault("month-first")
  )
}

/** Reads a CSV log that was named on the command line; times without an offset are in the zone. */
export const readLogFile = Effect.fnUntraced(function* (
  path: string,
  zone: string,
  { columns, dates: order }: { readonly columns: string; readonly dates: string }
) {
  const named = yield* readOr(
    Option.fromNullOr(readColumns(columns)),
    "columns",
    columns,
    `COLUMN=HEADING,... with columns ${columnNames.join(", ")}`
  )
  const known = Option.fromUndefinedOr(dateOrders.find((own) => own === order))
  const dates = yield* readOr(known, "dates", order, dateOrders.join(" or "))
  const text = yield* readText("LOG", path)
  return yield* Effect.mapError(Effect.fromResult(readLog(text, { zone, named, dates })), ({ message }) =>
    CommandFailure.usage(`${path}: ${message}`)
  )
})

/** The text of a file that was named on the command line. */
export const readText = Effect.fnUntraced(function* (what: string, path: string) {
  const files = yield* FileSystem.FileSystem
  return yield* Effect.mapError(files.readFileString(path), (error) =>
    CommandFailure.usage(`${what} ${path}: expected a file that can be read; ${fileTrouble(error)}`)
  )
})

/** The scenario's file where one is named, as `checkDifferent` takes files: what is written must be another. */
export const scenarioFile = ({ scenario }: ScenarioTexts) =>
  Option.toArray(Option.map(scenario, (file) => ({ said: `--scenario ${file}`, file })))

/** The scenario that the flags name, a file or a preset, its buildings `times` times over. */
export const readScenarioFlags = Effect.fnUntraced(function* (texts: ScenarioTexts, times = 1) {
  if (Option.isNone(texts.scenario)) {
    const name = Option.getOrElse(texts.preset, () => usualPreset)
    return yield* readOr(preset(name, times), "preset", name, `one of ${presetNames.join(", ")}`)
  }
  if (Option.isSome(texts.preset)) return yield* CommandFailure.usage("--preset and --scenario exclude each other")
  const path = texts.scenario.value
  const text = yield* readText("--scenario", path)
  return yield* Effect.fromResult(readScenario(text, times)).pipe(
    Effect.mapError(({ message }) => CommandFailure.usage(`--scenario ${path}: ${message}`))
  )
})

/** How many times as many people a scenario has. */
export const readRateScale = (text: string) =>
  readOr(
    Option.filter(positiveNumber(text), (scale) => scale <= maxRateScale),
    "rate-scale",
    text,
    `a number above 0, at most ${maxRateScale}`
  )

/** What the texts of `planFlags` say. */
export const readPlan = Effect.fnUntraced(function* (texts: PlanTexts, times = 1) {
  const scenario = yield* readScenarioFlags(texts, times)
  const seed = yield* readOr(wholeNumber(texts.seed), "seed", texts.seed, "a whole number up to 2^53 - 1")
  const start = yield* readOr(LocalTime.parse(texts.start), "start", texts.start, LocalTime.expected)
  const duration = yield* readOr(
    Option.filter(DurationText.parse(texts.duration), (millis) => millis > 0 && millis <= longestDuration),
    "duration",
    texts.duration,
    `${DurationText.expected}, above 0 and at most ${DurationText.format(longestDuration)}`
  )
  const rateScale = yield* readRateScale(texts.rateScale)
  const options: PlanOptions = { seed, start, duration, rateScale }
  return { scenario, options } satisfies { scenario: Scenario; options: PlanOptions }
})
