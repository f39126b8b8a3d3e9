/**
 * What residents and employees have in common: they are there every day, hold credentials, and open doors themselves.
 */
import { between, chance, dayFactor } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { AccessPoint, EntryMethod, Person, Use } from "../world/Building.ts"
import { dayMillis, hour, second } from "../world/LocalTime.ts"
import { elapsedAt } from "../world/LocalDay.ts"
import type { FlowName } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Access, Role } from "./Happening.ts"
import { roles } from "./Happening.ts"
import { Passages } from "./Passages.ts"

/** When people do something: clock times in hours. */
export interface ClockTime {
  readonly at: number
  readonly spread: number
}

/** Credentials that are refused before they are accepted: worn, held badly, a mistyped PIN. */
interface Denials {
  /** Share of all attempts that are denied. */
  readonly share: number
  /** Probability that the next attempt comes within five seconds; else the person comes back after half a minute or more. */
  readonly retry: number
}

/** What every flow of members has. */
export interface MemberFlow {
  readonly name: FlowName
  readonly denied: Denials
  /** Uses of a credential that are not the usual way of its holder: a PIN works without a telephone. */
  readonly other_method: number
}

const methodOf = (rng: Rng, person: Person, unusual: number): EntryMethod =>
  chance(rng, unusual) ? "pin" : person.method

/** Adds the passages of one person's day. Clock times are in hours; those past 24 are after midnight. */
export type PersonDay = (person: Person, add: (clock: number, door: AccessPoint | null, role?: Role) => void) => void

const roleNotes = new Map<Role, number>(roles.map((role, note) => [role, note]))
const deniedNote = roles.length

/** Denials cluster by person: one in ten has most of them (assumed). */
const clumsinessOf = (index: number): number => (index % 10 === 3 ? 5.5 : 0.5)

/** How much more often than others each of so many people is denied. The mean is 1, however few they are. */
const clumsiness = (people: number): ReadonlyArray<number> => {
  const each = Array.from({ length: people }, (_, index) => clumsinessOf(index))
  const mean = each.reduce((sum, own) => sum + own, 0) / people
  return each.map((own) => own / mean)
}

/** Probability that a denied attempt was itself preceded by one, at least (assumed). */
const deniedAgain = 0.25

/** Adds the denied attempts before a passage. */
const addDenials = ({ retry, share }: Denials, rng: Rng, clumsy: number, add: (before: number) => void): void => {
  // Where one at every passage does not make that many, more come with it.
  const again = Math.max(deniedAgain, 1 - (1 - share) / (clumsy * share))
  let probability = ((1 - again) * clumsy * share) / (1 - share)
  let before = 0
  while (chance(rng, probability)) {
    before += (chance(rng, retry) ? between(rng, 1, 5) : between(rng, 30, 240)) * second
    add(before)
    probability = again
  }
}

/**
 * The happenings of a day of members.
 *
 * The rate scale multiplies people: each person is there that many times, the last time with the probability that is
 * left. Behaviour stays as it is.
 */
export function* memberHappenings(
  context: FlowDay<MemberFlow>,
  use: Use,
  personDay: PersonDay
): IterableIterator<Access> {
  const { building, day, flow, rateScale } = context
  const people = building.people.filter(({ unit }) => unit.use === use)
  const passages = new Passages(people, building.access_points)
  const presence = rngFor(context, "presence")
  const denials = rngFor(context, "denials")
  const clumsy = clumsiness(people.length)
  for (let left = rateScale; left > 0; left--) {
    for (let index = 0; index < people.length; index++) {
      const person = people[index]
      if (person === undefined || (left < 1 && !chance(presence, left))) continue
      personDay(person, (clock, door, role = "other") => {
        const elapsed = clockToElapsed(context, clock)
        passages.add(elapsed, index, door, roleNotes.get(role) ?? 0)
        if (door === null || flow.denied.share === 0) return
        addDenials(flow.denied, denials, clumsy[index] ?? 1, (before) =>
          passages.add(Math.max(0, elapsed - before), index, door, deniedNote)
        )
      })
    }
  }
  const methods = rngFor(context, "methods")
  for (const { elapsed, person, access_point, note } of passages.inOrder()) {
    const isDenied = note === deniedNote
    yield {
      _tag: "Access",
      time: day.start + elapsed,
      id: context.nextId(),
      flow: flow.name,
      building_id: building.id,
      tenant_ids: person.tenant_ids,
      role: roles[note] ?? "other",
      label: isDenied ? "denied" : null,
      cause: null,
      access_point,
      entry_method: methodOf(methods, person, flow.other_method),
      release_status: isDenied ? "Denied" : "Unlocked",
      name: person.name
    }
  }
}

/** Nobody's day is longer than this, from the midnight it begins with: how far a plan has to look back. */
const longestDay = 2 * dayMillis

const clockToElapsed = ({ day }: FlowDay<unknown>, clock: number): number =>
  elapsedAt(day, Math.max(0, Math.min(clock * hour, longestDay - 1)))

/** How much fuller than usual a day is, as a factor on the probability of coming. */
export const attendance = (context: FlowDay<unknown>, usual: number, variation: number): number =>
  Math.min(1, usual * dayFactor(rngFor(context, "day factor"), variation))
