/**
 * Whether employees come in groups, peaks are as high as stated, and weekdays differ as stated.
 */
import { DurationText } from "@doorhook/core"
import type { PlanOptions } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import type { EmployeeFlow } from "../traffic/Employees.ts"
import type { ClockTime } from "../traffic/Members.ts"
import { hour, minute } from "../world/LocalTime.ts"
import type { Check } from "./Check.ts"
import { near, skipped } from "./Check.ts"
import type { AlikeFlows, EmployeeFacts } from "./PlanFacts.ts"
import { employeeFacts, flowsTagged, statedAlike } from "./PlanFacts.ts"
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
  let populated = 0
  const totals = full.map((counts) => counts.reduce((sum, count) => sum + count, 0))
  const all = totals.reduce((sum, total) => sum + total, 0)
  let statistic = 0
  for (let cell = 0; cell < cells; cell++) {
    const share = full.reduce((sum, counts) => sum + (counts[cell] ?? 0), 0) / all
    if (share > 0) populated++
    for (const [index, counts] of full.entries()) {
      const mean = share * (totals[index] ?? 0)
      if (mean > 0) statistic += ((counts[cell] ?? 0) - mean) ** 2 / mean
    }
  }
  const freedom = (full.length - 1) * Math.max(0, populated - 1)
  return { ratio: statistic / Math.max(1, freedom), freedom }
}

/** The days of one building with many people, and how many people have a place there. */
interface Crowd {
  readonly days: ReadonlyArray<EmployeeFacts>
  readonly people: number
}

/** Clock times by building and day. */
type Times = ReadonlyArray<ReadonlyArray<ReadonlyArray<number>>>

/** With less, each has nearly their own five minutes, and there are few of these: counts vary less than by chance. */
const leastSpread = 12 * minute

const groupCheck = (name: string, buildings: Times, { at, spread }: ClockTime, expected: number): Check => {
  if (spread * hour < leastSpread)
    return skipped(
      name,
      `With a spread of less than ${DurationText.format(leastSpread)}, counts of five minutes say nothing of groups.`
    )
  // Each building has averages of its own.
  const each = buildings.map((days) => dispersion(countsOf(days, at, 24)))
  const freedom = each.reduce((sum, own) => sum + own.freedom, 0)
  const ratio = each.reduce((sum, own) => sum + own.ratio * own.freedom, 0) / Math.max(1, freedom)
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

const peakCheck = (name: string, flow: EmployeeFlow, crowds: ReadonlyArray<Crowd>): Check => {
  const arrivals = crowds.flatMap(({ days }) => days.flatMap((day) => day.arrivals))
  if (arrivals.length < 500) return skipped(name, "Fewer than 500 arrivals; give a longer --duration.")
  const centre = flow.arrives.at * hour
  const half = fiveMinutes / 2
  const inPeak = arrivals.filter((time) => Math.abs(time - centre) < half).length
  const expected = 2 * normalCdf(half / hour / flow.arrives.spread) - 1
  // Habits repeat: days do not add as much as their number says.
  const fullest = crowds.reduce((sum, { days }) => sum + Math.max(...days.map((day) => day.expected)), 0)
  const people = Math.min(arrivals.length, fullest * 4)
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

/** The mean number of people who come on a weekday, over all buildings; null where one has fewer than three of such days. */
const presentOn = (weekday: number, crowds: ReadonlyArray<Crowd>): number | null => {
  const each = crowds.map(({ days }) => days.filter((day) => day.weekday === weekday))
  if (each.some(({ length }) => length < 3)) return null
  return each.reduce((sum, days) => sum + meanOf(days.map(({ arrivals }) => arrivals.length)), 0)
}

const fridayCheck = (name: string, flow: EmployeeFlow, crowds: ReadonlyArray<Crowd>): Check => {
  const [onTuesdays, onFridays] = [presentOn(2, crowds), presentOn(5, crowds)]
  if (onTuesdays === null || onFridays === null)
    return skipped(name, "Fewer than three of each; give a --duration of 28d or more.")
  const ratio = onFridays / onTuesdays
  const [tuesday, friday] = [flow.attendance[2], flow.attendance[5]]
  const count = (days: Crowd["days"], weekday: number) => days.filter((day) => day.weekday === weekday).length
  const days = Math.min(...crowds.map((crowd) => Math.min(count(crowd.days, 2), count(crowd.days, 5))))
  const people = crowds.reduce((sum, crowd) => sum + crowd.people, 0)
  // Days of different buildings vary on their own: together they vary less.
  const together = crowds.reduce((sum, crowd) => sum + (crowd.people / people) ** 2, 0)
  const variation = 2 * flow.day_variation ** 2 * together
  const error = Math.sqrt((variation + 1 / (friday * people) + 1 / (tuesday * people)) / days)
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

const lunchCheck = (name: string, flow: EmployeeFlow, crowds: ReadonlyArray<Crowd>): Check => {
  const lunches = crowds.flatMap(({ days }) => days.flatMap((day) => day.lunches))
  if (lunches.length < 500) return skipped(name, "Fewer than 500 lunches; give a longer --duration.")
  const centre = flow.lunch.at * hour
  const half = 15 * minute
  const share = lunches.filter((time) => Math.abs(time - centre) < half).length / lunches.length
  const expected = 2 * normalCdf(half / hour / flow.lunch.spread) - 1
  return near(
    name,
    share,
    expected,
    Math.max(0.1 * expected, 4.5 * Math.sqrt((expected * 2.2) / lunches.length)),
    "The busiest half hour of lunch has another share than its spread says."
  )
}

/** A working day that says something. */
const isFull = ({ expected, weekday }: EmployeeFacts): boolean => weekday >= 1 && weekday <= 5 && expected > 30

/** The checks of employees who state the same, in all their buildings. */
const crowdChecksOf = (
  { flow, members, title }: AlikeFlows<EmployeeFlow>,
  options: PlanOptions
): ReadonlyArray<Check> => {
  const named = (check: string) => `${check}${title.slice(flow.name.length)}`
  const crowds = members.flatMap(({ place, traffic }): ReadonlyArray<Crowd> => {
    const days = [...employeeFacts(traffic, place, flow, options)].filter(isFull)
    const people = traffic.building.people.filter(({ unit }) => unit.use === "company").length
    return days.length === 0 ? [] : [{ days, people }]
  })
  if (crowds.length === 0)
    return [skipped(named("crowds of employees"), "No working day with more than 30 people in a building.")]
  const arrivals = crowds.map(({ days }) => days.map((day) => day.arrivals))
  const lunches = crowds.map(({ days }) => days.map((day) => day.lunches))
  const inGroups = groupRatio(flow.arrival_groups, flow.tailgating)
  return [
    groupCheck(named("groups in the morning"), arrivals, flow.arrives, inGroups),
    ...(flow.exits_logged
      ? [groupCheck(named("groups at noon"), lunches, flow.lunch, groupRatio(flow.lunch.groups, 0))]
      : []),
    peakCheck(named("peak of employees' arrivals"), flow, crowds),
    ...(flow.exits_logged ? [lunchCheck(named("peak of going to lunch"), flow, crowds)] : []),
    fridayCheck(named("Friday against Tuesday"), flow, crowds)
  ]
}

/** The checks of all employees: those of buildings that state the same together. */
export const crowdChecks = (scenario: Scenario, options: PlanOptions): ReadonlyArray<Check> =>
  statedAlike(flowsTagged(scenario, "Employees"), (flow) => flow).flatMap((alike) => crowdChecksOf(alike, options))
