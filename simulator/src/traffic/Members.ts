/** Common behaviour of all credential holders: they come on most days and open doors themselves. */
import { Schema } from "effect"
import { between, chance, dayFactor } from "../random/Distribution.ts"
import { Rng } from "../random/Substream.ts"
import type { AccessPoint, Duty, EntryMethod, Person } from "../world/Building.ts"
import { elapsedAt } from "../world/LocalDay.ts"
import { dayMillis, hour, second } from "../world/LocalTime.ts"
import type { FlowDay, FlowName } from "./Flow.ts"
import { rngFor } from "./Flow.ts"
import type { Access, Role } from "./Occurrence.ts"
import { GroupShare, parameter, Share, usually } from "./Parameter.ts"

/** Parameters of every flow of members. */
export const memberParameters = {
  denied: parameter(
    Schema.Struct({ share: usually(GroupShare, 0.02), retry: usually(Share, 0.6) }),
    { share: 0.02, retry: 0.6 },
    "Denied attempts: their share of all attempts, clustered by person, and the probability that the next attempt follows within five seconds"
  ),
  other_method: parameter(Share, 0.08, "Share of openings in which people who usually open in another way use a PIN")
}

/** Parameter of the flows of people who leave without a credential. */
export const exitParameter = parameter(
  Share,
  0.1,
  "Share of departures without a credential that a button or a motion sensor logs (entry_method request_to_exit)"
)

interface MemberFlow {
  readonly name: FlowName
  readonly denied: { readonly share: number; readonly retry: number }
  readonly other_method: number
}

/**
 * Makes the parameter for shares of people who work early (6 to 14), late (14 to 22) or at night (22 to 6), on any day
 * of the week.
 */
export const shifts = (early: number, late: number, night: number, source?: string) =>
  parameter(
    Schema.Struct({
      early: usually(Share, early),
      late: usually(Share, late),
      night: usually(Share, night),
      attendance: usually(Share, 0.65)
    }),
    { early, late, night, attendance: 0.65 },
    "Shares of working people who work early (6 to 14), late (14 to 22) or at night (22 to 6), and the share of these shift workers who work on a given day, including weekends",
    source
  )

export const shiftTimes = { early: [6, 14], late: [14, 22], night: [22, 30] } as const
export type Shift = keyof typeof shiftTimes

/** Returns the shift of a person; null for people who work by day. */
export const shiftOf = (
  { shift }: Person,
  { early, late, night }: { readonly early: number; readonly late: number; readonly night: number }
): Shift | null =>
  shift < night ? "night" : shift < night + late ? "late" : shift < night + late + early ? "early" : null

/** Adds the passages of one person's day. Times of day are in hours; times from 24 on are after midnight. */
export type PersonDay = (
  person: Person,
  add: (clock: number, door: AccessPoint | null, role?: Role) => void,
  place: number
) => void

/**
 * Returns each person's factor for the number of denied attempts. The mean is 1 for any number of people. One person in
 * ten has most of the denied attempts (assumed).
 */
const clumsiness = (people: number): ReadonlyArray<number> => {
  const each = Array.from({ length: people }, (_, index) => (index % 10 === 3 ? 5.5 : 0.5))
  const mean = each.reduce((sum, own) => sum + own, 0) / people
  return each.map((own) => own / mean)
}

/** Minimum probability that a denied attempt directly follows another denied attempt (assumed). */
const deniedAgain = 0.25

/** Adds the denied attempts before a passage. */
const addDenials = (
  { retry, share }: MemberFlow["denied"],
  rng: Rng,
  clumsy: number,
  add: (before: number) => void
): void => {
  // A high share of denied attempts needs several in a row before one passage.
  const again = Math.max(deniedAgain, 1 - (1 - share) / (clumsy * share))
  let probability = ((1 - again) * clumsy * share) / (1 - share)
  let before = 0
  while (chance(rng, probability)) {
    before += (chance(rng, retry) ? between(rng, 1, 5) : between(rng, 30, 240)) * second
    add(before)
    probability = again
  }
}

/** Maximum length of a person's day, from midnight. Because of it, plans also generate the day before their start. */
const longestDay = 2 * dayMillis

interface Passage {
  readonly elapsed: number
  readonly person: Person
  readonly door: AccessPoint
  /** Null for a denied attempt. */
  readonly role: Role | null
}

/**
 * Yields the occurrences of all members on one day.
 *
 * The rate scale multiplies people: 2.3 means that each person exists twice, and a third time with probability 0.3. The
 * behaviour of people doesn't change.
 */
export function* memberOccurrences(
  context: FlowDay<MemberFlow>,
  duty: Duty,
  personDay: PersonDay
): IterableIterator<Access> {
  const { building, day, flow, rateScale, roster } = context
  const places = building.people.flatMap((person, place) => (person.duty === duty ? place : []))
  const presence = rngFor(context, "presence")
  const denials = rngFor(context, "denials")
  const clumsy = clumsiness(places.length)
  const passages: Array<Passage> = []
  const note = (elapsed: number, person: Person, door: AccessPoint, role: Role | null) => {
    passages.push({ elapsed: Math.floor(elapsed), person, door, role })
  }
  for (let left = rateScale; left > 0; left--) {
    for (const [index, place] of places.entries()) {
      if (left < 1 && !chance(presence, left)) continue
      const person = roster.personOn(place, day.number)
      if (person === null) continue
      personDay(
        person,
        (clock, door, role = "other") => {
          // Doors without access control leave no trace.
          if (door === null) return
          const elapsed = elapsedAt(day, Math.max(0, Math.min(clock * hour, longestDay - 1)))
          note(elapsed, person, door, role)
          if (flow.denied.share === 0 || role === "exit") return
          addDenials(flow.denied, denials, clumsy[index] ?? 1, (before) => {
            note(Math.max(0, elapsed - before), person, door, null)
          })
        },
        place
      )
    }
  }
  passages.sort((a, b) => a.elapsed - b.elapsed)
  const methods = rngFor(context, "methods")
  for (const { door, elapsed, person, role } of passages) {
    const entry_method: EntryMethod = chance(methods, flow.other_method) ? "pin" : person.method
    const isExit = role === "exit"
    yield {
      _tag: "Access",
      time: day.start + elapsed,
      id: context.nextId(),
      flow: flow.name,
      building_id: building.id,
      tenant_ids: isExit ? [] : person.tenant_ids,
      role: role ?? "other",
      label: role === null ? "denied" : null,
      cause: null,
      access_point: door,
      entry_method: isExit ? "request_to_exit" : entry_method,
      release_status: role === null ? "Denied" : "Unlocked",
      name: isExit ? "Unknown" : person.name
    }
  }
}

/**
 * Returns the probability that a person comes on this day: the usual probability times a random factor for the building
 * and one for the weather.
 */
export const attendance = (context: FlowDay<unknown>, usual: number, variation: number, weather: number): number =>
  Math.min(
    1,
    usual * dayFactor(rngFor(context, "day factor"), variation) * dayFactor(new Rng(context.weather), weather)
  )
