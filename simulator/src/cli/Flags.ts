/**
 * Flags that several subcommands share. They are declared as text and parsed here, so that all error messages have the
 * same form: what is wrong, and what is expected.
 */
import { CommandFailure, DurationText, fileTrouble } from "@doorhook/core"
import { Effect, FileSystem, Option } from "effect"
import { Flag } from "effect/cli"
import { longestDuration, maxRateScale } from "../plan/Plan.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { readScenario } from "../scenario/Resolve.ts"
import { preset, presetNames } from "../scenario/Presets.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import * as LocalTime from "../world/LocalTime.ts"

/** Preset without --preset and --scenario. */
const usualPreset = "residential-200"

/** Flags of every subcommand that takes a scenario. */
const scenarioFlags = {
  preset: Flag.String("preset").pipe(
    Flag.withDescription(`The scenario: ${presetNames.join(", ")} (default ${usualPreset})`),
    Flag.optional
  ),
  scenario: Flag.String("scenario").pipe(
    Flag.withDescription("A scenario file instead of a preset; docs/simulator.md describes the format"),
    Flag.optional
  )
}

/** Default values of `planFlags`. */
export const usualPlan = { seed: "1", start: "2026-03-02T00:00", duration: "24h", rateScale: "1" } as const

/** Flags of every subcommand that makes a plan. */
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
    Flag.withDescription(`Length of the plan, like 30m, 24h or 7d (default ${usualPlan.duration})`),
    Flag.withDefault(usualPlan.duration)
  ),
  rateScale: Flag.String("rate-scale").pipe(
    Flag.withDescription(`Factor for the number of people, like 0.5 or 10 (default ${usualPlan.rateScale})`),
    Flag.withDefault(usualPlan.rateScale)
  )
}

/** Values of `scenarioFlags`. */
export interface ScenarioTexts {
  readonly preset: Option.Option<string>
  readonly scenario: Option.Option<string>
}

/** Values of `planFlags`. */
export interface PlanTexts extends ScenarioTexts {
  readonly seed: string
  readonly start: string
  readonly duration: string
  readonly rateScale: string
}

/** Returns the value, or fails with what is wrong and what is expected. */
export const readOr = <A>(
  read: Option.Option<A>,
  flag: string,
  text: string,
  expected: string
): Effect.Effect<A, CommandFailure> =>
  Effect.mapError(Effect.fromOption(read), () => CommandFailure.usage(`--${flag} ${text}: expected ${expected}`))

export const wholeNumber = (text: string): Option.Option<number> =>
  /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Option.some(Number(text)) : Option.none()

/** Reads a number above 0 in decimal notation. */
export const positiveNumber = (text: string): Option.Option<number> =>
  /^\d{1,9}(\.\d{1,6})?$/.test(text) && Number(text) > 0 ? Option.some(Number(text)) : Option.none()

/** Reads a text file named on the command line. */
export const readText = Effect.fnUntraced(function* (what: string, path: string) {
  const files = yield* FileSystem.FileSystem
  return yield* Effect.mapError(files.readFileString(path), (error) =>
    CommandFailure.usage(`${what} ${path}: expected a file that can be read; ${fileTrouble(error)}`)
  )
})

/** Returns the scenario file if a flag names one. With it, `checkDifferent` refuses outputs that would overwrite it. */
export const scenarioFile = ({ scenario }: ScenarioTexts) =>
  Option.toArray(Option.map(scenario, (file) => ({ said: `--scenario ${file}`, file })))

/** Reads the scenario file or the preset that the flags name, with `times` copies of its buildings. */
export const readScenarioFlags = Effect.fnUntraced(function* (texts: ScenarioTexts, times = 1) {
  if (Option.isNone(texts.scenario)) {
    const name = Option.getOrElse(texts.preset, () => usualPreset)
    return yield* readOr(preset(name, times), "preset", name, `one of ${presetNames.join(", ")}`)
  }
  if (Option.isSome(texts.preset)) return yield* CommandFailure.usage("--preset and --scenario can't be used together")
  const path = texts.scenario.value
  const text = yield* readText("--scenario", path)
  return yield* Effect.fromResult(readScenario(text, times)).pipe(
    Effect.mapError(({ message }) => CommandFailure.usage(`--scenario ${path}: ${message}`))
  )
})

/** Reads the factor for the number of people. */
export const readRateScale = (text: string) =>
  readOr(
    Option.filter(positiveNumber(text), (scale) => scale <= maxRateScale),
    "rate-scale",
    text,
    `a number above 0, at most ${maxRateScale}`
  )

/** Reads the values of `planFlags`. */
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
