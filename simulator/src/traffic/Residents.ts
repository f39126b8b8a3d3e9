/**
 * Days of residents: out to work in the morning and back in the evening, errands, evenings out, shared rooms.
 *
 * An entrance is logged when somebody comes in by it; on the way out its handle is enough. A garage gate is logged both
 * ways.
 */
import type { Lognormal } from "../random/Distribution.ts"
import { chance, lognormal, normal, oneOf, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Person } from "../world/Building.ts"
import type { DayShape } from "./DayShape.ts"
import { clockAt } from "./DayShape.ts"
import type { ByWeekday } from "./Flow.ts"
import { ofWeekday } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Access } from "./Happening.ts"
import type { ClockTime, MemberFlow } from "./Members.ts"
import { attendance, memberHappenings } from "./Members.ts"

export interface ResidentFlow extends MemberFlow {
  readonly _tag: "Residents"
  readonly name: "residents"
  /** Holders of a credential who use it on a usual day. */
  readonly active: number
  /** How much days differ: coefficient of variation of the day factor. */
  readonly day_variation: number
  /** Share of those with work who go out to it. */
  readonly goes_to_work: ByWeekday
  readonly leaves: ClockTime
  readonly returns: ClockTime
  /** Trips on a day, for people who stay at home; those at work make a third of them. */
  readonly errands: ByWeekday
  readonly errand_times: DayShape
  readonly errand_minutes: Lognormal
  /** Share of people who go out in the evening. */
  readonly evenings: ByWeekday
  readonly evening_leaves: ClockTime
  readonly evening_returns: ClockTime
  /** Uses of shared rooms, per person and day. */
  readonly room_uses: number
  readonly room_times: DayShape
  /** Share of those coming in on foot who follow somebody through the open door: no event. */
  readonly tailgating: number
}

/** Clock times in hours. */
interface Absence {
  readonly out: number
  readonly back: number
}

/** Somebody who just came in stays for a quarter of an hour. */
const shortestStay = 0.25

/** Drops what would begin before the last absence ended: nobody is out twice. */
const withoutOverlap = (absences: ReadonlyArray<Absence>): ReadonlyArray<Absence> => {
  const kept: Array<Absence> = []
  for (const absence of absences.toSorted((a, b) => a.out - b.out)) {
    const last = kept.at(-1)
    if (last === undefined || absence.out >= last.back + shortestStay) kept.push(absence)
  }
  return kept
}

const at = (rng: Rng, { at, spread }: ClockTime): number => normal(rng, at, spread)

const absencesOf = (rng: Rng, flow: ResidentFlow, weekday: number, person: Person): ReadonlyArray<Absence> => {
  const absences: Array<Absence> = []
  const works = person.works && chance(rng, ofWeekday(flow.goes_to_work, weekday))
  if (works) {
    // Half of when people leave is habit, half is the day.
    const out = flow.leaves.at + flow.leaves.spread * (0.71 * person.habit + normal(rng, 0, 0.71))
    absences.push({ out, back: Math.max(out + 2, at(rng, flow.returns)) })
  }
  for (
    let trips = poisson(rng, (ofWeekday(flow.errands, weekday) * person.activity) / (works ? 3 : 1));
    trips > 0;
    trips--
  ) {
    const out = clockAt(flow.errand_times, rng.uniform())
    absences.push({ out, back: out + lognormal(rng, flow.errand_minutes) / 60 })
  }
  if (chance(rng, ofWeekday(flow.evenings, weekday))) {
    const out = at(rng, flow.evening_leaves)
    absences.push({ out, back: Math.max(out + 0.5, at(rng, flow.evening_returns)) })
  }
  return withoutOverlap(absences)
}

/** The residents' passages of one day. */
export const residentHappenings = (context: FlowDay<ResidentFlow>): IterableIterator<Access> => {
  const { flow, weekday, building } = context
  const rng = rngFor(context, "days")
  const active = attendance(context, flow.active, flow.day_variation)
  return memberHappenings(context, "home", (person, add) => {
    if (!chance(rng, active)) return
    const absences = absencesOf(rng, flow, weekday, person)
    const drives = person.entrance.kind === "garage"
    for (const { out, back } of absences) {
      if (drives) add(out, person.entrance)
      if (drives || !chance(rng, flow.tailgating)) add(back, person.entrance)
    }
    for (let uses = poisson(rng, flow.room_uses); uses > 0; uses--) {
      const clock = clockAt(flow.room_times, rng.uniform())
      const isHome = absences.every(({ out, back }) => clock < out || clock > back)
      if (isHome) add(clock, oneOf(rng, building.shared_rooms) ?? null)
    }
  })
}
