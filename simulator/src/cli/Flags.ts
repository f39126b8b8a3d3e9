/**
 * The flags that the subcommands share, and how their texts are read. All are taken as text and read here, so that every
 * mistake is answered in the same way: what was wrong, and what is accepted.
 */
import { CommandFailure, DurationText } from "@doorhook/core"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { maxRateScale } from "../plan/EventNumber.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { preset, presetNames } from "../scenario/Presets.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { dayMillis } from "../world/LocalTime.ts"
import * as LocalTime from "../world/LocalTime.ts"

/** Which plan: the flags of every subcommand that makes one. */
export const planFlags = {
  preset: Flag.String("preset").pipe(
    Flag.withDescription(`The scenario: ${presetNames.join(", ")}`),
    Flag.withDefault("residential-200")
  ),
  seed: Flag.String("seed").pipe(
    Flag.withDescription("A whole number; the same seed gives the same events"),
    Flag.withDefault("1")
  ),
  start: Flag.String("start").pipe(
    Flag.withDescription("Local time in each building's own time zone"),
    Flag.withDefault("2026-03-02T00:00")
  ),
  duration: Flag.String("duration").pipe(
    Flag.withDescription("How much time the plan covers, like 30m, 24h or 7d"),
    Flag.withDefault("24h")
  ),
  rateScale: Flag.String("rate-scale").pipe(
    Flag.withDescription("How many times as many people as the scenario says, like 0.5 or 10"),
    Flag.withDefault("1")
  )
}

/** The texts of `planFlags`. */
export interface PlanTexts {
  readonly preset: string
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

/** The longest plan: event ids have room for the years in which it can start, and ten more. */
const longestDuration = 3_650 * dayMillis

/** What the texts of `planFlags` say. */
export const readPlan = Effect.fnUntraced(function* (texts: PlanTexts) {
  const scenario = yield* readOr(preset(texts.preset), "preset", texts.preset, `one of ${presetNames.join(", ")}`)
  const seed = yield* readOr(wholeNumber(texts.seed), "seed", texts.seed, "a whole number up to 2^53 - 1")
  const start = yield* readOr(LocalTime.parse(texts.start), "start", texts.start, LocalTime.expected)
  const duration = yield* readOr(
    Option.filter(DurationText.parse(texts.duration), (millis) => millis <= longestDuration),
    "duration",
    texts.duration,
    `${DurationText.expected}, at most ${DurationText.format(longestDuration)}`
  )
  const rateScale = yield* readOr(
    Option.filter(positiveNumber(texts.rateScale), (scale) => scale <= maxRateScale),
    "rate-scale",
    texts.rateScale,
    `a number above 0, at most ${maxRateScale}`
  )
  const options: PlanOptions = { seed, start, duration, rateScale }
  return { scenario, options } satisfies { scenario: Scenario; options: PlanOptions }
})
