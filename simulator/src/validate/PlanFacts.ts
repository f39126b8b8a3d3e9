/**
 * What a plan is made of, as its checks need it: arrivals with the intensity they came from.
 */
import type { PlanOptions } from "../plan/Plan.ts"
import { flowDay, windowOf } from "../plan/Plan.ts"
import { sqrt } from "../random/Arithmetic.ts"
import type { BuildingTraffic, Scenario } from "../scenario/Scenario.ts"
import { cumulativeOn, reachedAt } from "../traffic/DayShape.ts"
import type { EmployeeFlow } from "../traffic/Employees.ts"
import { habitShare } from "../traffic/Employees.ts"
import type { Flow } from "../traffic/Flow.ts"
import { ofWeekday } from "../traffic/Flow.ts"
import type { Happening } from "../traffic/Happening.ts"
import { happeningsOfDay } from "../traffic/Happenings.ts"
import { attendance } from "../traffic/Members.ts"
import type { OutsiderFlow } from "../traffic/Outsiders.ts"
import { expectedOn, shapeOn } from "../traffic/Outsiders.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import { dayMaker, dayNumberAt, timeOfDay } from "../world/LocalDay.ts"
import { hour, minute } from "../world/LocalTime.ts"
import { normalCdf } from "./Statistics.ts"

/** One day of one flow in one building. */
interface FlowFacts {
  readonly day: LocalDay
  readonly weekday: number
  /** Real time of each leader's arrival, in milliseconds since the epoch, rising. */
  readonly leaders: ReadonlyArray<number>
  /** The cumulative intensity at each, and of the whole day. */
  readonly reached: ReadonlyArray<number>
  readonly total: number
  /** Expected leaders in each hour of the clock. */
  readonly hours: ReadonlyArray<number>
}

/** All whole days of a plan in a building. */
export function* daysOf(traffic: BuildingTraffic, options: PlanOptions): IterableIterator<LocalDay> {
  const { building } = traffic
  const { from, until } = windowOf(building, options)
  const makeDay = dayMaker()
  let number = dayNumberAt(from, building.time_zone)
  if (makeDay(number, building.time_zone).start < from) number++
  for (let day = makeDay(number, building.time_zone); day.start + day.length <= until;) {
    yield day
    day = makeDay(++number, building.time_zone)
  }
}

const leadersOf = (happenings: Iterable<Happening>): ReadonlyArray<number> =>
  [...happenings].filter(({ role }) => role === "arrival leader").map(({ time }) => time)

/** The days of a flow of outsiders. */
export function* outsiderFacts(
  traffic: BuildingTraffic,
  place: number,
  flow: OutsiderFlow,
  options: PlanOptions
): IterableIterator<FlowFacts> {
  for (const day of daysOf(traffic, options)) {
    const context = flowDay(traffic, place, flow, day, options)
    const leaders = leadersOf(happeningsOfDay(context))
    const expected = expectedOn(context)
    const cumulative = cumulativeOn(shapeOn(flow, context.weekday), day)
    const at = (elapsed: number) => expected * reachedAt(cumulative, elapsed)
    const hours = Array.from({ length: 24 }, () => 0)
    for (let elapsed = 0; elapsed < day.length; elapsed += 5 * minute) {
      const place = Math.floor(timeOfDay(day, elapsed) / hour)
      hours[place] = (hours[place] ?? 0) + at(Math.min(day.length, elapsed + 5 * minute)) - at(elapsed)
    }
    yield {
      day,
      weekday: context.weekday,
      leaders,
      reached: leaders.map((time) => at(time - day.start)),
      total: at(day.length),
      hours
    }
  }
}

/** Expected comings by the clock, if everybody comes: sums up to each of many times, so many hours apart. */
interface Comings {
  readonly step: number
  readonly sums: Float64Array
}

/** In hours: no sum is narrower, so that one of people who come at a moment is one, too. */
const leastStep = 1 / 3_600

/** Comings in so many standard deviations around somebody's habit are all there are. */
const farOut = 6

const comingsOf = ({ building }: BuildingTraffic, flow: EmployeeFlow): Comings => {
  const spread = Math.max(leastStep, flow.arrives.spread * sqrt(1 - habitShare * habitShare))
  // Fine enough for what lies between two of them to be straight.
  const step = Math.max(leastStep, Math.min(minute / hour, spread / 10))
  const sums = new Float64Array(Math.ceil(24 / step) + 1)
  const last = sums.length - 1
  for (const { habit, unit } of building.people) {
    if (unit.use !== "company") continue
    const mean = flow.arrives.at + flow.arrives.spread * habitShare * habit
    const until = Math.min(last, Math.ceil((mean + farOut * spread) / step))
    let before = 0
    for (let at = Math.max(0, Math.floor((mean - farOut * spread) / step)); at <= until; at++) {
      const reached = normalCdf((at * step - mean) / spread)
      sums[at] = (sums[at] ?? 0) + reached - before
      before = reached
    }
  }
  for (let at = 1; at <= last; at++) sums[at] = (sums[at] ?? 0) + (sums[at - 1] ?? 0)
  return { step, sums }
}

/** The comings up to a time of day in milliseconds. */
const comingsBy = ({ step, sums }: Comings, time: number): number => {
  const at = Math.min(sums.length - 1.001, time / hour / step)
  const [before = 0, after = 0] = [sums[Math.floor(at)], sums[Math.floor(at) + 1]]
  return before + (at - Math.floor(at)) * (after - before)
}

export interface EmployeeFacts {
  readonly day: LocalDay
  readonly weekday: number
  /** How many are expected to come, given how full the day is. */
  readonly expected: number
  readonly leaders: ReadonlyArray<number>
  readonly reached: ReadonlyArray<number>
  /** Clock times of all entries of the day's first comings, and of all going to lunch, in milliseconds. */
  readonly arrivals: ReadonlyArray<number>
  readonly lunches: ReadonlyArray<number>
}

/** The days of employees. */
export function* employeeFacts(
  traffic: BuildingTraffic,
  place: number,
  flow: EmployeeFlow,
  options: PlanOptions
): IterableIterator<EmployeeFacts> {
  const comings = comingsOf(traffic, flow)
  for (const day of daysOf(traffic, options)) {
    const context = flowDay(traffic, place, flow, day, options)
    const share = attendance(context, ofWeekday(flow.attendance, context.weekday), flow.day_variation)
    const all = [...happeningsOfDay(context)]
    const leaders = leadersOf(all)
    const clockOf = ({ time }: Happening) => timeOfDay(day, time - day.start)
    // A group ends with one minus the probability of one more; all but the leader do not come at their own time.
    const scale = share * (1 - flow.arrival_groups) * (options.rateScale ?? 1)
    const reached = leaders.map((time) => scale * comingsBy(comings, timeOfDay(day, time - day.start)))
    yield {
      day,
      weekday: context.weekday,
      expected: share * (comings.sums.at(-1) ?? 0) * (options.rateScale ?? 1),
      leaders,
      reached,
      arrivals: all.filter(({ role }) => role.startsWith("arrival")).map(clockOf),
      lunches: all.filter(({ role }) => role.startsWith("lunch")).map(clockOf)
    }
  }
}

type Tagged<Tag extends Flow["_tag"]> = Extract<Flow, { readonly _tag: Tag }>

const hasTag = <Tag extends Flow["_tag"]>(flow: Flow, tag: Tag): flow is Tagged<Tag> => flow._tag === tag

/** All flows of a kind, with their buildings. */
export const flowsTagged = <Tag extends Flow["_tag"]>(scenario: Scenario, tag: Tag) =>
  scenario.buildings.flatMap((traffic, place) =>
    traffic.flows.flatMap((flow) => (hasTag(flow, tag) ? [{ traffic, place, flow }] : []))
  )

/** A flow in a building. */
export interface PlacedFlow<F> {
  readonly traffic: BuildingTraffic
  readonly place: number
  readonly flow: F
}

/** Flows that state the same: they are judged together, and those that state something else are not. */
export interface AlikeFlows<F> {
  /** The flow's name, with the buildings where others of its name state something else. */
  readonly title: string
  /** What all of them state. */
  readonly flow: F
  readonly members: ReadonlyArray<PlacedFlow<F>>
}

/** Groups flows by their name and what they state. */
export const statedAlike = <F extends Flow>(
  found: ReadonlyArray<PlacedFlow<F>>,
  stated: (flow: F) => unknown
): ReadonlyArray<AlikeFlows<F>> => {
  const byName = Map.groupBy(found, ({ flow }) => flow.name)
  return [...byName].flatMap(([name, placed]) => {
    const groups = [...Map.groupBy(placed, ({ flow }) => JSON.stringify(stated(flow))).values()]
    return groups.flatMap((members) => {
      const [first] = members
      if (first === undefined) return []
      const others = members.length > 1 ? ` and ${members.length - 1} more` : ""
      const title = groups.length === 1 ? name : `${name} in ${first.traffic.building.name}${others}`
      return [{ title, flow: first.flow, members }]
    })
  })
}
