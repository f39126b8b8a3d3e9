/**
 * Flags that several subcommands share. They are declared as text and parsed here, so that all error messages have the
 * same form: what is wrong, and what is expected.
 */
import { CommandFailure, declareTypes, DurationText, fileTrouble } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import type { Redacted, Result } from "effect"
import { Effect, FileSystem, Option } from "effect"
import { Flag } from "effect/cli"
import type { LogOptions } from "../plan/AccessLog.ts"
import { columnNames, dateOrders, isCsv, meaningNames, readColumns, readValues, valueForms } from "../plan/AccessLog.ts"
import { longestDuration, maxRateScale, mostPeople } from "../plan/Plan.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { readScenario } from "../scenario/Resolve.ts"
import { preset, presetNames } from "../scenario/Presets.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { mostBuildings } from "../scenario/ScenarioDocument.ts"
import * as LocalTime from "../world/LocalTime.ts"
import { expectedZone, timeZone } from "../world/zones/TimeZone.ts"

/** Time zone of a log. */
const usualZone = "UTC"

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
  ),
  buildings: Flag.String("buildings").pipe(
    Flag.withDescription(
      `How many times the scenario's buildings exist, each with its own people, up to ${mostBuildings} (default 1)`
    ),
    Flag.withDefault("1")
  )
}

/** Default values of `planFlags`. */
export const usualPlan = {
  buildings: "1",
  seed: "1",
  start: "2026-03-02T00:00",
  duration: "24h",
  rateScale: "1"
} as const

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

/** The flag of every subcommand that publishes or writes events. */
export const callEnd = Flag.Boolean("call-end").pipe(
  Flag.withDescription(
    "Also make the end of each call (call_end): answered, answered elsewhere, rejected, missed, or the visitor has left. A service needs the setting of the same name"
  ),
  Flag.withDefault(false)
)

/** Flags of every subcommand that reads a recorded log. */
export const logFlags = {
  events: Flag.String("events").pipe(
    Flag.withDescription(
      "A recorded log instead of a scenario: events as NDJSON, - for standard input, or an access log as FILE.csv"
    ),
    Flag.optional
  ),
  columns: Flag.String("columns").pipe(
    Flag.withDescription(`Headings of a CSV log, like time=Zeit,person=Karte; columns: ${columnNames.join(", ")}`),
    Flag.withDefault("")
  ),
  values: Flag.String("values").pipe(
    Flag.withDescription(
      `Meanings of a CSV log's values, like 'Türruf=call,Zutritt verweigert=denied'; meanings: ${meaningNames.join(", ")}`
    ),
    Flag.withDefault("")
  ),
  dates: Flag.String("dates").pipe(
    Flag.withDescription(`Order of dates like 03/02/2026 in a CSV log: ${dateOrders.join(" or ")}`),
    Flag.withDefault("month-first")
  ),
  timeZone: Flag.String("time-zone").pipe(
    Flag.withDescription(`IANA name of the time zone of a log's times without an offset (default ${usualZone})`),
    Flag.optional
  )
}

/** Default values of the flags of plans and logs. */
export const usualFlags: Readonly<Record<string, string>> = {
  ...usualPlan,
  columns: "",
  values: "",
  dates: "month-first"
}

/** Returns the flag for the name of a value. */
export const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

type Given = boolean | string | ReadonlyArray<string> | Option.Option<string | Redacted.Redacted<string>>

const isList = (given: Given): given is ReadonlyArray<string> => Array.isArray(given)

/** Returns the values of a flag that differ from its default. Null stands for a flag without a value. */
export const wordsOf = (given: Given, usual: string | undefined): ReadonlyArray<string | null> => {
  if (typeof given === "boolean") return given ? [null] : []
  if (typeof given === "string") return given === usual ? [] : [given]
  if (isList(given)) return given
  return Option.match(given, { onNone: () => [], onSome: (value) => [typeof value === "string" ? value : null] })
}

/** Returns the first of these flags that was given; null if none was. */
export const givenOf = <Name extends string>(
  texts: Readonly<Record<Name, Given>>,
  some: ReadonlyArray<Name>,
  usual: Readonly<Record<string, string>> = usualFlags
): string | null => {
  const found = some.find((name) => wordsOf(texts[name], usual[name]).length > 0)
  return found === undefined ? null : flagOf(found)
}

/**
 * Refuses flags that have no effect: with a log, `plans`; with lines of NDJSON also `ofCsv`; without a log, the flags
 * that say how to read one.
 */
export const checkSource = <Name extends string>(
  texts: Readonly<Record<Name | keyof LogTexts, Given>>,
  log: string | null,
  plans: ReadonlyArray<Name>,
  usual = usualFlags,
  ofCsv: ReadonlyArray<keyof LogTexts> = ofLogs
): Effect.Effect<void, CommandFailure> => {
  const plan = log === null ? null : givenOf(texts, plans, usual)
  if (plan !== null)
    return CommandFailure.usage(`${plan} applies to a plan, and ${log} replaces the plan: leave out one of them`)
  const csv = log === null || isCsv(log) ? null : givenOf(texts, ofCsv, usual)
  if (csv !== null)
    return CommandFailure.usage(`${csv} applies to access logs in CSV: name the file FILE.csv, not ${log}`)
  const own = log === null ? givenOf(texts, ofLogs, usual) : null
  return own === null ? Effect.void : CommandFailure.usage(`${own} says how to read a recorded log, and there is none`)
}

/** Flags that say how to read a recorded log. */
const ofLogs = ["columns", "values", "dates", "timeZone"] as const

/** Values of flags. */
export type TextsOf<Flags> = {
  readonly [Name in keyof Flags]: Flags[Name] extends Flag.Flag<infer A> ? A : never
}

/** Values of `logFlags` that say how to read a log. */
export type LogTexts = Omit<TextsOf<typeof logFlags>, "events">

/** Reads the values of `logFlags`. `zone` applies without `--time-zone`. */
export const readLogFlags = Effect.fnUntraced(function* (texts: LogTexts, zone = usualZone) {
  const zoneName = Option.getOrElse(texts.timeZone, () => zone)
  const isZone = Option.liftPredicate(zoneName, (name) => timeZone(name) !== null)
  const columns = Option.fromNullOr(readColumns(texts.columns))
  const values = Option.fromNullOr(readValues(texts.values))
  const dates = Option.fromUndefinedOr(dateOrders.find((own) => own === texts.dates))
  return {
    zone: yield* readOr(isZone, "time-zone", zoneName, expectedZone),
    named: yield* readOr(
      columns,
      "columns",
      texts.columns,
      `COLUMN=HEADING,... with columns ${columnNames.join(", ")}`
    ),
    values: yield* readOr(values, "values", texts.values, valueForms),
    dates: yield* readOr(dates, "dates", texts.dates, dateOrders.join(" or "))
  } satisfies LogOptions
})

export type ScenarioTexts = TextsOf<typeof scenarioFlags>
export type PlanTexts = TextsOf<typeof planFlags> & { readonly callEnd?: boolean }

/** Returns the resource types of a run, or refuses `--call-end` with a log that can't have the ends of calls. */
export const readTypes = (hasCallEnd: boolean, log: string | null): Effect.Effect<ResourceTypeTable, CommandFailure> =>
  hasCallEnd && log !== null && isCsv(log)
    ? CommandFailure.usage(`--call-end: an access log in CSV has no ends of calls: leave it out with ${log}`)
    : Effect.orDie(Effect.fromResult(declareTypes({}, { hasCallEnd })))

/** Returns the value, or fails with what is wrong and what is expected. */
export const readOr = <A>(
  read: Option.Option<A>,
  flag: string,
  text: string,
  expected: string
): Effect.Effect<A, CommandFailure> =>
  Effect.mapError(Effect.fromOption(read), () => CommandFailure.usage(`--${flag} ${text}: expected ${expected}`))

/** Reads a repeated flag. `read` returns the value, or what is wrong. */
export const readEach = <A>(
  flag: string,
  texts: ReadonlyArray<string>,
  read: (text: string) => Result.Result<A, string>
): Effect.Effect<ReadonlyArray<A>, CommandFailure> =>
  Effect.forEach(texts, (text) =>
    Effect.mapError(Effect.fromResult(read(text)), (why) => CommandFailure.usage(`--${flag} ${text}: ${why}`))
  )

export const wholeNumber = (text: string): Option.Option<number> =>
  /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Option.some(Number(text)) : Option.none()

/** Reads a whole number between two others. */
export const wholeBetween = (flag: string, given: string, least: number, most: number) =>
  readOr(
    Option.filter(wholeNumber(given), (count) => count >= least && count <= most),
    flag,
    given,
    `a whole number from ${least} to ${most}`
  )

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
const readNamed = Effect.fnUntraced(function* (texts: ScenarioTexts, times: number) {
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

/** Reads the scenario that the flags describe. */
export const readScenarioFlags = Effect.fnUntraced(function* (texts: ScenarioTexts) {
  const once = yield* readNamed(texts, 1)
  const count = once.sites.length
  const most = Math.floor(mostBuildings / count)
  const why = count === 1 ? "" : `, because ${once.name} has ${count} buildings and ${mostBuildings} are possible`
  const times = yield* readOr(
    Option.filter(wholeNumber(texts.buildings), (own) => own >= 1 && own <= most),
    "buildings",
    texts.buildings,
    `a whole number from 1 to ${most}${why}`
  )
  const scenario = times === 1 ? once : yield* readNamed(texts, times)
  if (scenario.sites.length === times * count) return scenario
  return yield* CommandFailure.usage(
    `--buildings ${times}: ${scenario.name} always has ${count} buildings; expected another scenario`
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
export const readPlan = Effect.fnUntraced(function* (texts: PlanTexts) {
  const scenario = yield* readScenarioFlags(texts)
  const seed = yield* readOr(wholeNumber(texts.seed), "seed", texts.seed, "a whole number up to 2^53 - 1")
  const start = yield* readOr(LocalTime.parse(texts.start), "start", texts.start, LocalTime.expected)
  const duration = yield* readOr(
    Option.filter(DurationText.parse(texts.duration), (millis) => millis > 0 && millis <= longestDuration),
    "duration",
    texts.duration,
    `${DurationText.expected}, above 0 and at most ${DurationText.format(longestDuration)}`
  )
  const rateScale = yield* readRateScale(texts.rateScale)
  const people = scenario.sites.reduce((most, site) => Math.max(most, site.people), 0)
  const room = mostPeople(scenario.sites.length)
  if (people * rateScale > room)
    return yield* CommandFailure.usage(
      `--rate-scale ${texts.rateScale}: expected at most ${Math.floor((room / people) * 100) / 100} for ${scenario.sites.length} buildings with up to ${people} people, because event ids have room for ${room} people in each`
    )
  const options: PlanOptions = { seed, start, duration, rateScale, hasCallEnds: texts.callEnd === true }
  return { scenario, options } satisfies { scenario: Scenario; options: PlanOptions }
})
