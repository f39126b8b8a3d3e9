/**
 * The people in a building on a given day. People move in and out over the years, and households are away for some
 * days.
 *
 * Who lives or works in a place depends only on the scenario. When a household is away also depends on the seed.
 */
import type { Lognormal } from "../random/Distribution.ts"
import { chance, lognormal, poisson } from "../random/Distribution.ts"
import type { Substream } from "../random/Substream.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { Building, Person, Staffing, Unit } from "./Building.ts"
import { familyName, fullName, traitsOf } from "./Building.ts"
import { dayMillis } from "./LocalTime.ts"
import { memberName } from "./Residential.ts"

/** Number of trips of a household per year, and their duration in milliseconds. */
export interface Away {
  readonly trips: number
  readonly duration: Lognormal
}

const yearDays = 365

/**
 * Number of earlier years in which a roster looks for a move. If there was no move, the original person is still in the
 * place.
 */
const yearsBack = 12

/** Maximum number of days for which a place is empty after somebody has left. */
const longestVacancy = 45

/**
 * Length of the blocks for which trips are drawn, and maximum length of a trip, in days. A trip is shorter than a
 * block, so it ends in the next block at the latest.
 */
const blockDays = 91
const longestTrip = 60

/** The person in a place from one day until another; null while the place is empty. */
interface Term {
  readonly from: number
  readonly until: number
  readonly person: Person | null
}

export class Roster {
  readonly #people: ReadonlyArray<Person>
  readonly #staffing: Building["staffing"]
  readonly #changes: Substream
  readonly #trips: Substream
  readonly #away: Away | null
  readonly #terms: Array<Term | undefined> = []
  readonly #blocks = new Map<number, ReadonlyArray<readonly [from: number, until: number]>>()
  /** Households whose people have not changed for years, by unit, and the end of the year for which that is known. */
  readonly #settled = new Map<number, number>()
  #block = Number.NaN

  constructor({ id, people, staffing }: Building, away: Away | null, substream: Substream) {
    this.#people = people
    this.#staffing = staffing
    this.#changes = child(root("people"), id)
    this.#trips = child(substream, "away")
    this.#away = away === null || away.trips === 0 ? null : away
  }

  /** Number of places for people in the building. */
  get size(): number {
    return this.#people.length
  }

  /** Returns the person in a place on a day; null while the place is empty. */
  personOn(place: number, day: number): Person | null {
    const known = this.#terms[place]
    if (known !== undefined && day >= known.from && day < known.until) return known.person
    const first = this.#people[place]
    if (first === undefined) return null
    const staffing = this.#staffing[first.duty]
    const term =
      staffing === undefined || staffing.turnover === 0
        ? { from: -Infinity, until: Infinity, person: first }
        : this.#termOn(place, first, staffing, day)
    this.#terms[place] = term
    return term.person
  }

  #termOn(place: number, first: Person, { methods, turnover }: Staffing, day: number): Term {
    const year = Math.floor(day / yearDays)
    const isHousehold = first.duty === "resident"
    if (isHousehold && this.#settled.get(first.unit.id) === year)
      return { from: year * yearDays, until: (year + 1) * yearDays, person: first }
    // All people of a household move at the same time.
    const key = isHousehold ? `unit ${first.unit.id}` : place
    const substream = child(this.#changes, key)
    const changeIn = (year: number) => {
      const rng = new Rng(child(substream, year))
      return chance(rng, turnover) ? { at: year * yearDays + rng.below(yearDays), rng } : null
    }
    let until = (year + 1) * yearDays
    for (let back = 0; back <= yearsBack; back++) {
      const change = changeIn(year - back)
      if (change === null) continue
      if (change.at > day) {
        until = change.at
        continue
      }
      const settled = change.at + change.rng.below(longestVacancy)
      if (day < settled) return { from: change.at, until: Math.min(settled, until), person: null }
      const surname = familyName(change.rng)
      const rng = new Rng(child(child(substream, year - back), place))
      const name = isHousehold ? memberName(rng, surname) : fullName(rng)
      return { from: settled, until, person: { ...first, name, ...traitsOf(rng, first.duty, methods) } }
    }
    if (isHousehold && until === (year + 1) * yearDays) this.#settled.set(first.unit.id, year)
    return { from: year * yearDays, until, person: first }
  }

  /** Whether the household of a home is away on a day. */
  isAway({ id, use }: Unit, day: number): boolean {
    if (this.#away === null || use !== "home") return false
    const block = Math.floor(day / blockDays)
    if (block !== this.#block) {
      this.#block = block
      this.#blocks.clear()
    }
    return [block - 1, block].some((own) => this.#tripsOf(id, own).some(([from, until]) => day >= from && day < until))
  }

  #tripsOf(unit: number, block: number): ReadonlyArray<readonly [from: number, until: number]> {
    const key = unit * 0x1_0000 + block
    const known = this.#blocks.get(key)
    if (known !== undefined || this.#away === null) return known ?? []
    const { duration, trips } = this.#away
    const rng = new Rng(child(child(this.#trips, unit), block))
    const made = Array.from({ length: poisson(rng, (trips * blockDays) / yearDays) }, () => {
      const from = block * blockDays + rng.below(blockDays)
      const days = Math.min(longestTrip, Math.max(1, Math.floor(lognormal(rng, duration) / dayMillis + 0.5)))
      return [from, from + days] as const
    })
    this.#blocks.set(key, made)
    return made
  }
}
