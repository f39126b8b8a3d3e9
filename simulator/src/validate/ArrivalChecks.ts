/**
 * Whether arrivals are what their flows state: Poisson processes of a known intensity, by the hour and weekday.
 */
import { DurationText } from "@doorhook/core"
import type { PlanOptions } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import type { EmployeeFlow } from "../traffic/Employees.ts"
import type { OutsiderFlow } from "../traffic/Outsiders.ts"
import { timeOfDay } from "../world/LocalDay.ts"
import { hour, minute } from "../world/LocalTime.ts"
import type { Check, Test } from "./Check.ts"
import { skipped } from "./Check.ts"
import type { PlacedFlow } from "./PlanFacts.ts"
import { employeeFacts, flowsTagged, outsiderFacts } from "./PlanFacts.ts"
import { rescaledGaps, spacing } from "./PoissonTests.ts"
import { chiSquareTail, independence, uniformity } from "./Statistics.ts"

/** Tests with fewer points say nothing. */
const fewest = 50

/** Peaks narrower than this are nearly moments, of which nobody can say how arrivals lie in them. */
const narrowest = minute
const narrowestText = DurationText.format(narrowest)

/**
 * Windows of the test without intensity, in milliseconds: short enough for the intensity to be almost constant, also
 * where peaks are narrower than usual (36 minutes of outsiders, 23 of employees).
 */
const outsidersWindow = (spread: number): number => Math.min(15 * minute, 0.42 * spread)
const employeesWindow = (spread: number): number => Math.min(5 * minute, 0.214 * spread)

/** The spread of the narrowest peak of a flow, in milliseconds; Infinity where there is none. */
const spreadOf = ({ on_weekdays, on_weekends }: OutsiderFlow): number =>
  Math.min(...[...on_weekdays.peaks, ...on_weekends.peaks].map(({ spread }) => spread * hour))

/** The leaders of a flow over all days and buildings. */
interface Arrivals {
  /** Cumulative intensity at each leader; each day goes on where the last ended. */
  readonly reached: Array<number>
  readonly lewis: Array<number>
  readonly conditional: Array<number>
  /** By weekday and hour: leaders that came, and that were expected. */
  readonly came: Map<string, number>
  readonly expected: Map<string, number>
  /** Whether some peak is too narrow for the test without intensity. */
  isNarrow: boolean
}

const newArrivals = (): Arrivals => ({
  reached: [],
  lewis: [],
  conditional: [],
  came: new Map(),
  expected: new Map(),
  isNarrow: false
})

const addSpacing = (arrivals: Arrivals, leaders: ReadonlyArray<number>, start: number, window: number): void => {
  const { conditional, lewis } = spacing(
    leaders.map((time) => time - start),
    window
  )
  // One by one: a crowd is more than a call takes arguments.
  for (const value of conditional) arrivals.conditional.push(value)
  for (const value of lewis) arrivals.lewis.push(value)
}

const grow = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

/** Cells with little expected are joined to the next. */
const profileP = ({ came, expected }: Arrivals): number => {
  let [statistic, cells, observed, wanted] = [0, 0, 0, 0]
  for (const [key, mean] of [...expected].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    observed += came.get(key) ?? 0
    wanted += mean
    if (wanted < 8) continue
    statistic += (observed - wanted) ** 2 / wanted
    cells++
    observed = 0
    wanted = 0
  }
  return cells === 0 ? 1 : chiSquareTail(statistic, cells)
}

export interface ArrivalFindings {
  readonly tests: ReadonlyArray<Test>
  readonly checks: ReadonlyArray<Check>
}

const spacingOf = (name: string, { conditional, isNarrow, lewis }: Arrivals): Test | Check => {
  if (lewis.length >= fewest)
    return {
      name,
      p: Math.min(1, 2 * Math.min(uniformity(lewis), uniformity(conditional))),
      meaning:
        "Within a quarter of an hour or less arrivals are not as chance would have them: too even, bunched, or rounded (Kim-Whitt, Lewis)."
    }
  return skipped(
    name,
    isNarrow
      ? `Some peaks are narrower than ${narrowestText}: of nearly a moment nobody can say how arrivals lie in it.`
      : "Too few arrivals are near each other; give a longer --duration."
  )
}

/**
 * The tests of one flow's arrivals. Employees come once a day, each around a habit, so who came does not come again: their
 * gaps are exponential almost, but not quite independent.
 */
const findingsOf = (name: string, arrivals: Arrivals, isIndependent: boolean): ArrivalFindings => {
  if (arrivals.reached.length < fewest) {
    const few = `Only ${arrivals.reached.length} arrivals; give a longer --duration for at least ${fewest}.`
    return { tests: [], checks: [skipped(name, few)] }
  }
  const uniforms = rescaledGaps(arrivals.reached)
  const rescaling = {
    name: `${name}: time-rescaling`,
    p: uniformity(uniforms),
    meaning:
      "Gaps between arrivals do not fit the stated intensity: the day has another shape, or arrivals are too even or too bunched."
  }
  const independent = {
    name: `${name}: independence`,
    p: independence(uniforms),
    meaning: "Gaps between arrivals depend on the gaps before them (Ljung-Box)."
  }
  const spaced = spacingOf(`${name}: spacing`, arrivals)
  return {
    tests: [rescaling, ...(isIndependent ? [independent] : []), ...("p" in spaced ? [spaced] : [])],
    checks: "p" in spaced ? [] : [spaced]
  }
}

const outsiderFindings = (
  name: string,
  placed: ReadonlyArray<PlacedFlow<OutsiderFlow>>,
  options: PlanOptions
): ArrivalFindings => {
  const arrivals = newArrivals()
  let offset = 0
  for (const { flow, place, traffic } of placed) {
    const spread = spreadOf(flow)
    for (const facts of outsiderFacts(traffic, place, flow, options)) {
      for (const value of facts.reached) arrivals.reached.push(offset + value)
      offset += facts.total
      if (spread < narrowest) arrivals.isNarrow = true
      else addSpacing(arrivals, facts.leaders, facts.day.start, outsidersWindow(spread))
      for (const [clockHour, mean] of facts.hours.entries()) {
        if (mean > 0) grow(arrivals.expected, `${facts.weekday} ${`${clockHour}`.padStart(2, "0")}`, mean)
      }
      for (const time of facts.leaders) {
        const clockHour = Math.floor(timeOfDay(facts.day, time - facts.day.start) / hour)
        grow(arrivals.came, `${facts.weekday} ${`${clockHour}`.padStart(2, "0")}`, 1)
      }
    }
  }
  const { checks, tests } = findingsOf(name, arrivals, true)
  if (tests.length === 0) return { checks, tests }
  const profile = {
    name: `${name}: hours and weekdays`,
    p: profileP(arrivals),
    meaning: "Arrivals are spread over the hours and weekdays otherwise than the flow states (chi-square)."
  }
  return { checks, tests: [...tests, profile] }
}

const employeeFindings = (
  name: string,
  placed: ReadonlyArray<PlacedFlow<EmployeeFlow>>,
  options: PlanOptions
): ArrivalFindings => {
  const wide = placed.filter(({ flow }) => flow.arrives.spread * hour >= narrowest)
  if (wide.length === 0) {
    const why = `They come within less than ${narrowestText}: of nearly a moment nobody can say how arrivals lie in it.`
    return { tests: [], checks: placed.length === 0 ? [] : [skipped(name, why)] }
  }
  const employees = newArrivals()
  let offset = 0
  for (const { flow, place, traffic } of wide) {
    const window = employeesWindow(flow.arrives.spread * hour)
    for (const facts of employeeFacts(traffic, place, flow, options)) {
      for (const value of facts.reached) employees.reached.push(offset + value)
      offset += facts.expected * (1 - flow.arrival_groups)
      addSpacing(employees, facts.leaders, facts.day.start, window)
    }
  }
  return findingsOf(name, employees, false)
}

/** The arrivals of all flows, each over all buildings that have it. */
export const arrivalFindings = (scenario: Scenario, options: PlanOptions): ArrivalFindings => {
  const outsiders = Map.groupBy(flowsTagged(scenario, "Outsiders"), ({ flow }) => flow.name)
  const found = [
    ...[...outsiders].map(([name, placed]) => outsiderFindings(`arrivals of ${name}`, placed, options)),
    employeeFindings("arrivals of employees", flowsTagged(scenario, "Employees"), options)
  ]
  return { tests: found.flatMap(({ tests }) => tests), checks: found.flatMap(({ checks }) => checks) }
}
