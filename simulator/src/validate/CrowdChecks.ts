/**
 * Whether employees come in groups, peaks are as high as stated, and weekdays differ as stated.
 */
import type { PlanOptions } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import type { EmployeeFlow } from "../traffic/Employees.ts"
import { hour, minute } from "../world/LocalTime.ts"
import type { Check } from "./Check.ts"
import { near, skipped } from "./Check.ts"
import type { EmployeeFacts } from "./PlanFacts.ts"
import { employeeFacts, flowsTagged } from "./PlanFacts.ts"
import { normalCdf } from "./Statistics.ts"

const fiveMinutes = 5 * minute

/** The variance-to-mean ratio of counts of groups with a geometric size, when some followers leave no trace. */
export const groupRatio = (more: number, unseen: number): number => {
  let [first, second, share] = [0, 0, 1 - more]
  // The size is 1 + followers; each follower is seen or not.
  for (let followers = 0; followers < 200; followers++) {
    const mean = 1 + followers * (1 - unseen)
    first += share * mean
    second += share * (mean * mean + followers * unseen * (1 - unseen))
    share *= more
  }
  return second / first
}

/** Counts of five minutes around a clock time in hours, by day. */
const countsOf = (days: ReadonlyArray<ReadonlyArray<number>>, at: number, cells: number) => {
  const from = at * hour - (cells / 2) * fiveMinutes
  return days.map((times) => {
    const counts = Array.from({ length: cells }, () => 0)
    for (const time of times) {
      const cell = Math.floor((time - from) / fiveMinutes)
      if (cell >= 0 && cell < cells) counts[cell] = (counts[cell] ?? 0) + 1
    }
    return counts
  })
}

/**
 * How much more counts vary than chance would have them (1), given how full each day and each cell is on average; and
 * from how many degrees of freedom that is known.
 */
export const dispersion = (
  days: ReadonlyArray<ReadonlyArray<number>>
): { readonly ratio: number; readonly freedom: number } => {
  const full = days.filter((counts) => counts.some((count) => count > 0))
  const cells = full[0]?.length ?? 0
  const totals = full.map((counts) => counts.reduce((sum, count) => sum + count, 0))
  const all = totals.reduce((sum, total) => sum + total, 0)
  let statistic = 0
  for (let cell = 0; cell < cells; cell++) {
    const share = full.reduce((sum, counts) => sum + (counts[cell] ?? 0), 0) / all
    for (const [index, counts] of full.entries()) {
      const mean = share * (totals[index] ?? 0)
      if (mean > 0) statistic += ((counts[cell] ?? 0) - mean) ** 2 / mean
    }
  }
  const freedom = (full.length - 1) * (cells - 1)
  return { ratio: statistic / Math.max(1, freedom), freedom }
}

const groupCheck = (name: string, days: ReadonlyArray<ReadonlyArray<number>>, at: number, expected: number): Check => {
  const { freedom, ratio } = dispersion(countsOf(days, at, 24))
  if (freedom < 60) return skipped(name, "Too few working days; give a --duration of 28d or more.")
  // Heavy-tailed groups make the estimate itself uncertain: more than a chi-square would be.
  const tolerance = expected * Math.max(0.1, 4.5 * Math.sqrt(2 / freedom) * Math.sqrt(expected))
  return near(
    name,
    ratio,
    expected,
    tolerance,
    "Counts of five minutes vary otherwise than groups of the stated size make them: followers are missing, or spread over time (variance-to-mean ratio).",
    2
  )
}

const peakCheck = (flow: EmployeeFlow, facts: ReadonlyArray<EmployeeFacts>): Check => {
  const name = "peak of employees' arrivals"
  const arrivals = facts.flatMap((day) => day.arrivals)
  if (arrivals.length < 500) return skipped(name, "Fewer than 500 arrivals; give a longer --duration.")
  const centre = flow.arrives.at * hour
  const half = fiveMinutes / 2
  const inPeak = arrivals.filter((time) => Math.abs(time - centre) < half).length
  const expected = 2 * normalCdf(half / hour / flow.arrives.spread) - 1
  // Habits repeat: days do not add as much as their number says.
  const people = Math.min(arrivals.length, Math.max(...facts.map((day) => day.expected)) * 4)
  const tolerance = Math.max(0.1 * expected, 4.5 * Math.sqrt((expected * 1.4) / people))
  return near(
    name,
    inPeak / arrivals.length,
    expected,
    tolerance,
    "The busiest five minutes have another share of a day's arrivals than the spread of arrivals says.",
    4
  )
}

const meanOf = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((sum, x) => sum + x, 0) / Math.max(1, numbers.length)

const fridayCheck = (flow: EmployeeFlow, facts: ReadonlyArray<EmployeeFacts>, people: number): Check => {
  const name = "Friday against Tuesday"
  const [tuesdays, fridays] = [2, 5].map((weekday) => facts.filter((day) => day.weekday === weekday))
  if (tuesdays === undefined || fridays === undefined || tuesdays.length < 3 || fridays.length < 3) {
    return skipped(name, "Fewer than three of each; give a --duration of 28d or more.")
  }
  const ratio = meanOf(fridays.map(({ present }) => present)) / meanOf(tuesdays.map(({ present }) => present))
  const [tuesday, friday] = [flow.attendance[2], flow.attendance[5]]
  const days = Math.min(tuesdays.length, fridays.length)
  const error = Math.sqrt((2 * flow.day_variation ** 2 + 1 / (friday * people) + 1 / (tuesday * people)) / days)
  const expected = friday / tuesday
  return near(
    name,
    ratio,
    expected,
    expected * Math.max(0.1, 4.5 * error),
    "Fridays are fuller or emptier against Tuesdays than the attendance by weekday says.",
    2
  )
}

const lunchCheck = (flow: EmployeeFlow, facts: ReadonlyArray<EmployeeFacts>): ReadonlyArray<Check> => {
  if (!flow.exits_logged) return []
  const lunches = facts.flatMap((day) => day.lunches)
  if (lunches.length < 500)
    return [skipped("peak of going to lunch", "Fewer than 500 lunches; give a longer --duration.")]
  const centre = flow.lunch.at * hour
  const half = 15 * minute
  const share = lunches.filter((time) => Math.abs(time - centre) < half).length / lunches.length
  const expected = 2 * normalCdf(half / hour / flow.lunch.spread) - 1
  return [
    near(
      "peak of going to lunch",
      share,
      expected,
      Math.max(0.1 * expected, 4.5 * Math.sqrt((expected * 2.2) / lunches.length)),
      "The busiest half hour of lunch has another share than its spread says."
    )
  ]
}

/** The checks of the first building with employees: with several, the others are alike. */
export const crowdChecks = (scenario: Scenario, options: PlanOptions): ReadonlyArray<Check> => {
  const found = flowsTagged(scenario, "Employees")[0]
  if (found === undefined) return []
  const { flow, place, traffic } = found
  const facts = [...employeeFacts(traffic, place, flow, options)].filter(
    ({ expected, weekday }) => weekday >= 1 && weekday <= 5 && expected > 30
  )
  if (facts.length === 0) return [skipped("crowds of employees", "No working day with more than 30 people.")]
  const arrivals = facts.map((day) => day.arrivals)
  const lunches = facts.map((day) => day.lunches)
  const people = traffic.building.people.filter(({ unit }) => unit.use === "company").length
  return [
    groupCheck("groups in the morning", arrivals, flow.arrives.at, groupRatio(flow.arrival_groups, flow.tailgating)),
    ...(flow.exits_logged
      ? [groupCheck("groups at noon", lunches, flow.lunch.at, groupRatio(flow.lunch.groups, 0))]
      : []),
    peakCheck(flow, facts),
    ...lunchCheck(flow, facts),
    fridayCheck(flow, facts, people)
  ]
}
