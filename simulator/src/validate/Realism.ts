/**
 * Checks the counts of buildings in two ways: for traffic that is impossible in any building, and against typical
 * ranges for the use of the building. The ranges, with their meanings and sources, are data (`bands.json`).
 */
import { columns } from "@doorhook/core"
import type { BuildingUse } from "../world/Building.ts"
import { buildingUses } from "../world/Building.ts"
import { dayMillis } from "../world/LocalTime.ts"
import bands from "./bands.json" with { type: "json" }
import type { Evenness, Observations } from "./Observations.ts"

/** Result of one check. */
export interface Check {
  /** Subject of the check, like `night share`. */
  readonly name: string
  readonly verdict: "PASS" | "FAIL" | "SKIP"
  readonly observed: string
  readonly expected: string
  /** Explains a failure, or why the check was skipped. */
  readonly meaning: string
}

/** Checks that something never occurs. */
export const never = (name: string, count: number, meaning: string, example = ""): Check => ({
  name,
  verdict: count === 0 ? "PASS" : "FAIL",
  observed: `${count}${count === 0 || example === "" ? "" : `, e.g. ${example}`}`,
  expected: "0",
  meaning
})

export const skipped = (name: string, why: string): Check => ({
  name,
  verdict: "SKIP",
  observed: "-",
  expected: "-",
  meaning: why
})

/** Formats checks, one per line. Failed and skipped checks are explained below their line. */
export const table = (checks: ReadonlyArray<Check>): string => {
  const [head = "", ...lines] = columns([
    ["", "check", "observed", "expected"],
    ...checks.map(({ expected, name, observed, verdict }) => [verdict, name, observed, expected])
  ])
  return [
    head,
    ...checks.flatMap(({ meaning, verdict }, at) => [
      lines[at] ?? "",
      ...(verdict === "PASS" ? [] : [`      ${meaning}`])
    ])
  ].join("\n")
}

/** Expected use, shifts and opening hours of a building. Without a use, only the checks for all buildings apply. */
export interface Expectation {
  readonly name: string
  readonly use: BuildingUse | null
  /**
   * Shares of people who work early, late and at night; null if unknown. With such shifts, nights and weekends may be
   * busier.
   */
  readonly shifts: { readonly early: number; readonly late: number; readonly night: number } | null
  /** Opening hours in local time; null for the usual hours of the use. */
  readonly opening: { readonly from: number; readonly to: number } | null
  /** Number of flats, employees or rooms; null if unknown. */
  readonly size: number | null
  /** Whether each row has a time of publication and an id, as the lines of a plan do. */
  readonly isPlan: boolean
}

export const unknownBuilding: Expectation = {
  name: "",
  use: null,
  shifts: null,
  opening: null,
  size: null,
  isPlan: true
}

type Measure = keyof typeof bands

/** A measured value, the number of observations behind it, and whether it is a share. */
interface Value {
  readonly value: number
  readonly of: number
  readonly isShare: boolean
}

const share = (hits: number, of: number, least: number): Value | null =>
  of < least ? null : { value: hits / of, of, isShare: true }
const mean = (value: number, of: number, least: number): Value | null =>
  of < least ? null : { value, of, isShare: false }

const sumOf = (counts: ReadonlyArray<number>): number => counts.reduce((sum, count) => sum + count, 0)

/** Returns the quiet hours: up to five in the middle of the closed time, or 0 to 4 without opening hours. */
const quietHours = ({ opening }: Expectation): ReadonlyArray<number> => {
  if (opening === null) return [0, 1, 2, 3, 4]
  const closed = (opening.from - opening.to + 24) % 24
  const length = Math.min(5, Math.floor(closed))
  const from = Math.floor(opening.to + (closed - length) / 2)
  return Array.from({ length }, (_, index) => (from + index) % 24)
}

const inHours = (counts: ReadonlyArray<number>, hours: ReadonlyArray<number>): number =>
  hours.reduce((sum, hour) => sum + (counts[hour] ?? 0), 0)

/** Returns the value of each measure; null if there are too few observations. */
const valuesOf = (seen: Observations, expectation: Expectation): Readonly<Record<Measure, Value | null>> => {
  const quiet = quietHours(expectation)
  const { weekday, weekend } = seen.days
  const working = sumOf(seen.workingHours)
  const ratio = seen.byKindOfDay.weekend / weekend / (seen.byKindOfDay.weekday / weekday)
  const { size } = expectation
  const days = (seen.last - seen.first) / dayMillis
  const perDay = (count: number) =>
    size === null || days < 0.8 ? null : mean(count / Math.max(1, days) / size, seen.count, 100)
  const doors = seen.doors
  return {
    night_share: share(inHours(seen.hours, quiet), seen.count, 200),
    night_calls: share(inHours(seen.callHours, quiet), seen.calls, 30),
    weekend_ratio: weekend < 2 || weekday < 4 ? null : mean(ratio, seen.count, 200),
    peak_share: weekday < 1 ? null : share(Math.max(...seen.workingHours), working, 200),
    coming: seen.coming === null ? null : mean(seen.coming, sumOf(seen.comings), 50),
    calls_per_opening: mean(seen.calls / Math.max(1, seen.openings), seen.openings, 200),
    answered_share: share(seen.answered, seen.visits, 30),
    behind_share: share(seen.behind, seen.accesses - seen.fromApp, 200),
    denied_share: share(seen.denied, seen.accesses, 200),
    uses_per_day: mean(seen.uses / Math.max(1, seen.personDays), seen.personDays, 50),
    burstiness: mean(seen.burstiness, seen.count, 100),
    events_a_day: perDay(seen.count),
    visits_a_day: perDay(seen.visits),
    busiest_door: doors.count < 2 ? null : mean(doors.busiest, seen.openings, 200)
  }
}

/** Returns the Wilson confidence interval of a share, at 99.9 %. */
const wilson = ({ of, value }: Value): readonly [low: number, high: number] => {
  const z = 3.29
  const scale = 1 + (z * z) / of
  const centre = value + (z * z) / (2 * of)
  const half = z * Math.sqrt((value * (1 - value)) / of + (z * z) / (4 * of * of))
  return [(centre - half) / scale, (centre + half) / scale]
}

/** Widens the ranges for nights and weekends if people work in shifts. */
const widened = (measure: Measure, [low, high]: readonly [number, number], { shifts }: Expectation) => {
  if (shifts === null) return [low, high] as const
  const { early, late, night } = shifts
  if (measure === "night_share") return [low, high + 1.5 * night] as const
  return measure === "weekend_ratio" ? ([low, high + 2 * (early + late + night)] as const) : ([low, high] as const)
}

/** Formats a value as a time of day, a share, or a number. */
export const shown = (measure: Measure, value: number): string => {
  if (measure === "coming") return `${Math.floor(value)}:${`${Math.floor((value % 1) * 60)}`.padStart(2, "0")}`
  return measure.endsWith("share") || measure === "night_calls" || measure === "busiest_door"
    ? `${(value * 100).toFixed(1)} %`
    : value.toFixed(2)
}

/** What the people of a building are counted by, depending on its use. */
const sizes: Readonly<Record<BuildingUse, string>> = {
  office: "employee",
  residential: "flat",
  hotel: "room",
  hospital: "employee",
  mixed: "person"
}

/** Describes a measure, for one use or for all of them. */
export const described = (measure: Measure, use: BuildingUse | null): string =>
  bands[measure].what.replace("{size}", use === null ? [...new Set(Object.values(sizes))].join(", ") : sizes[use])

/** Returns the limits of a measure for a use; null if the measure has none. */
export const bandOf = (measure: Measure, use: BuildingUse): readonly [number, number] | null => {
  const own: Partial<Readonly<Record<BuildingUse, ReadonlyArray<number>>>> = bands[measure].bands
  const [low, high] = own[use] ?? []
  return low === undefined || high === undefined ? null : [low, high]
}

/** Checks one building against the ranges for its use. */
const checksByUse = (seen: Observations, expectation: Expectation): ReadonlyArray<Check> => {
  const { use } = expectation
  if (use === null) return []
  const values = valuesOf(seen, expectation)
  return measures.flatMap((measure): ReadonlyArray<Check> => {
    const { least, meaning, source } = bands[measure]
    const band = bandOf(measure, use)
    const name = `${described(measure, use)} (${use})`
    const value = values[measure]
    if (band === null) return []
    if (value === null) return [skipped(name, `Too few to judge: needs ${least}.`)]
    const [low, high] = widened(measure, band, expectation)
    // A share from few observations fails only if chance can't explain it.
    const [from, to] = value.isShare ? wilson(value) : [value.value, value.value]
    return [
      {
        name,
        verdict: to < low || from > high ? "FAIL" : "PASS",
        observed: shown(measure, value.value),
        expected: `${shown(measure, low)} to ${shown(measure, high)}`,
        meaning: `${meaning} (${source})`
      }
    ]
  })
}

const isMeasure = (name: string): name is Measure => Object.hasOwn(bands, name)
/** Measures that are checked by use. */
export const measures: ReadonlyArray<Measure> = Object.keys(bands).filter(isMeasure)

const evenness = (name: string, { count, mean }: Evenness): Check => {
  if (count < 20) return skipped(name, "Too few to judge.")
  // The variance of a uniform number is 1/12.
  const limit = 0.5 + 4.5 * Math.sqrt(1 / 12 / count)
  return {
    name,
    verdict: mean <= limit ? "PASS" : "FAIL",
    observed: mean.toFixed(3),
    expected: `at most ${limit.toFixed(3)} (ticks: 1)`,
    meaning:
      "The gaps are too even for independent people: the events seem to come from a timer (Lewis 1965; Kim and Whitt 2014)."
  }
}

export const atMost = (name: string, hits: number, of: number, least: number, most: number, meaning: string): Check =>
  of < least
    ? skipped(name, `Too few to judge: needs ${least}.`)
    : {
        name,
        verdict: hits / of <= most ? "PASS" : "FAIL",
        observed: `${hits} of ${of}`,
        expected: `at most ${Number((most * 100).toFixed(2))} %`,
        meaning
      }

const crowd = "openings in a crowd"
const twoPlaces = "people at two doors at once"

/** Share of timestamps that are whole minutes above which a log is rounded to minutes. */
const mostWholeMinutes = 0.05

/**
 * Checks one building for traffic that is impossible in any building. With a `rateScale` above 1, several people share
 * a name.
 */
const checksOfAny = (seen: Observations, rateScale: number, isPlan: boolean): ReadonlyArray<Check> => {
  const { count, hours } = seen
  const quietest = Math.min(
    ...hours.map((_, at) =>
      inHours(
        hours,
        [0, 1, 2, 3].map((next) => (at + next) % 24)
      )
    )
  )
  const isLong = seen.days.weekend + seen.days.weekday >= 2 || seen.last - seen.first > 0.8 * 86_400_000
  const merged = rateScale > 1 ? "With --rate-scale above 1, several people share a name." : null
  const rounded = seen.wholeMinutes > mostWholeMinutes * count ? "Timestamps are rounded to minutes." : null
  const unclear = merged ?? rounded
  return [
    ...(isPlan ? [never("events out of order", seen.outOfOrder, "`at` must never decrease.")] : []),
    seen.hasIds
      ? never("ids used twice", seen.reusedIds, "Ids must be unique within their resource type.")
      : skipped("ids used twice", "The log has no ids; name their column with --columns id=HEADING."),
    atMost(
      "events uploaded twice",
      seen.repeated,
      count,
      20,
      0.02,
      "More events come twice, with the same id or as a second opening of the same door by the same person at the same time, than devices that lost an answer explain."
    ),
    unclear === null
      ? never(
          crowd,
          seen.crowded,
          "Ten or more openings of one door within five seconds: nobody can open and pass it that often."
        )
      : skipped(crowd, unclear),
    atMost(
      "doors opened from the app without a call",
      seen.withoutCall,
      seen.fromApp,
      10,
      0.01,
      "The app opens a door after somebody rang, so a call of the same unit must come within the ten minutes before."
    ),
    unclear === null
      ? atMost(
          twoPlaces,
          seen.twoPlaces,
          seen.passages,
          20,
          0.005,
          "The same credential opens different doors within seconds, more often than shared credentials explain."
        )
      : skipped(twoPlaces, unclear),
    atMost(
      "timestamps that are whole minutes",
      seen.wholeMinutes,
      count,
      20,
      mostWholeMinutes,
      "Timestamps are rounded to minutes, so the order of events within a minute is lost."
    ),
    isLong
      ? atMost(
          "quietest four hours of the day",
          quietest,
          count,
          100,
          0.13,
          "The day is too flat (16.7 % means that all hours are alike): every building has quiet hours. At 3:00 94 % of people sleep (American Time Use Survey 2003 to 2007)."
        )
      : skipped("quietest four hours of the day", "Less than a day."),
    evenness("spacing of events", seen.spacing.events),
    evenness("spacing of calls", seen.spacing.calls),
    evenness("spacing of openings", seen.spacing.openings)
  ]
}

/** Counts of a building, and the expectation that they are checked against. */
export interface Observed {
  readonly expectation: Expectation
  readonly seen: Observations
}

const order = { FAIL: 0, PASS: 1, SKIP: 2 } as const

/**
 * Checks all buildings and returns one result for each kind of check. A failure names a building where it occurs. A
 * check is skipped only if it is skipped in all buildings.
 */
export const realismChecks = (observed: ReadonlyArray<Observed>, rateScale = 1): ReadonlyArray<Check> => {
  const all = observed.flatMap(({ expectation, seen }) =>
    [...checksOfAny(seen, rateScale, expectation.isPlan), ...checksByUse(seen, expectation)].map((check) => ({
      check,
      building: expectation.name
    }))
  )
  return [...Map.groupBy(all, ({ check }) => check.name).values()].flatMap((own) => {
    const [worst] = own.toSorted((a, b) => order[a.check.verdict] - order[b.check.verdict])
    if (worst === undefined) return []
    const { building, check } = worst
    const failed = own.filter(({ check }) => check.verdict === "FAIL").length
    const where = own.length > 1 && failed > 0 ? `, in ${building} (${failed} of ${own.length} buildings)` : ""
    return [{ ...check, observed: `${check.observed}${where}` }]
  })
}

/** Reads a use. */
export const readUse = (text: string): BuildingUse | null => buildingUses.find((use) => use === text) ?? null
