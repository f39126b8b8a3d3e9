/**
 * Whether arrivals are what their flows state: Poisson processes of a known intensity, by the hour and weekday.
 */
import type { PlanOptions } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { dayMillis, hour, minute } from "../world/LocalTime.ts"
import type { Check, Test } from "./Check.ts"
import { skipped } from "./Check.ts"
import { employeeFacts, flowsTagged, outsiderFacts } from "./PlanFacts.ts"
import { rescaledGaps, spacing } from "./PoissonTests.ts"
import { chiSquareTail, independence, uniformity } from "./Statistics.ts"

/** Tests with fewer points say nothing. */
const fewest = 50

/** Windows of the test without intensity, in milliseconds: short enough for the intensity to be almost constant. */
const outsidersWindow = 15 * minute
const employeesWindow = 5 * minute

/** The leaders of a flow over all days and buildings. */
interface Arrivals {
  /** Cumulative intensity at each leader; each day goes on where the last ended. */
  readonly reached: Array<number>
  readonly lewis: Array<number>
  readonly conditional: Array<number>
  /** By weekday and hour: leaders that came, and that were expected. */
  readonly came: Map<string, number>
  readonly expected: Map<string, number>
}

const newArrivals = (): Arrivals => ({
  reached: [],
  lewis: [],
  conditional: [],
  came: new Map(),
  expected: new Map()
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

/**
 * The tests of one flow's arrivals. Employees come once a day, each around a habit, so who came does not come again: their
 * gaps are exponential almost, but not quite independent.
 */
const testsOf = (name: string, arrivals: Arrivals, isIndependent: boolean): ReadonlyArray<Test> => {
  const uniforms = rescaledGaps(arrivals.reached)
  return [
    {
      name: `${name}: time-rescaling`,
      p: uniformity(uniforms),
      meaning:
        "Gaps between arrivals do not fit the stated intensity: the day has another shape, or arrivals are too even or too bunched."
    },
    ...(isIndependent
      ? [
          {
            name: `${name}: independence`,
            p: independence(uniforms),
            meaning: "Gaps between arrivals depend on the gaps before them (Ljung-Box)."
          }
        ]
      : []),
    ...(arrivals.lewis.length < fewest
      ? []
      : [
          {
            name: `${name}: spacing`,
            p: Math.min(1, 2 * Math.min(uniformity(arrivals.lewis), uniformity(arrivals.conditional))),
            meaning:
              "Within quarters of an hour arrivals are not as chance would have them: too even, bunched, or rounded (Kim-Whitt, Lewis)."
          }
        ])
  ]
}

export interface ArrivalFindings {
  readonly tests: ReadonlyArray<Test>
  readonly checks: ReadonlyArray<Check>
}

/** The arrivals of all flows, each over all buildings that have it. */
export const arrivalFindings = (scenario: Scenario, options: PlanOptions): ArrivalFindings => {
  const tests: Array<Test> = []
  const checks: Array<Check> = []
  const outsiders = flowsTagged(scenario, "Outsiders")
  for (const name of new Set(outsiders.map(({ flow }) => flow.name))) {
    const arrivals = newArrivals()
    let offset = 0
    for (const { flow, place, traffic } of outsiders) {
      if (flow.name !== name) continue
      for (const facts of outsiderFacts(traffic, place, flow, options)) {
        for (const value of facts.reached) arrivals.reached.push(offset + value)
        offset += facts.total
        addSpacing(arrivals, facts.leaders, facts.day.start, outsidersWindow)
        for (const [clockHour, mean] of facts.hours.entries()) {
          if (mean > 0) grow(arrivals.expected, `${facts.weekday} ${`${clockHour}`.padStart(2, "0")}`, mean)
        }
        for (const time of facts.leaders) {
          const wall =
            time +
            (facts.day.change !== null && time >= facts.day.change.at ? facts.day.change.offset : facts.day.offset)
          const clockHour = Math.floor((wall - facts.day.number * dayMillis) / hour)
          grow(arrivals.came, `${facts.weekday} ${`${clockHour}`.padStart(2, "0")}`, 1)
        }
      }
    }
    if (arrivals.reached.length < fewest) {
      checks.push(
        skipped(
          `arrivals of ${name}`,
          `Only ${arrivals.reached.length} arrivals; give a longer --duration for at least ${fewest}.`
        )
      )
      continue
    }
    tests.push(...testsOf(`arrivals of ${name}`, arrivals, true), {
      name: `arrivals of ${name}: hours and weekdays`,
      p: profileP(arrivals),
      meaning: "Arrivals are spread over the hours and weekdays otherwise than the flow states (chi-square)."
    })
  }
  const employees = newArrivals()
  let offset = 0
  for (const { flow, place, traffic } of flowsTagged(scenario, "Employees")) {
    for (const facts of employeeFacts(traffic, place, flow, options)) {
      for (const value of facts.reached) employees.reached.push(offset + value)
      offset += facts.expected * (1 - flow.arrival_groups)
      addSpacing(employees, facts.leaders, facts.day.start, employeesWindow)
    }
  }
  if (employees.reached.length >= fewest) tests.push(...testsOf("arrivals of employees", employees, false))
  return { tests, checks }
}
