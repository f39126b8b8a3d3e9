/**
 * Checks of a list of events that need nothing else: whether it is whole, whether doors open because somebody called,
 * whether its stamps and its days look as if people had made them.
 */
import { hourAt } from "../world/LocalDay.ts"
import { hour, minute, second } from "../world/LocalTime.ts"
import type { Check } from "./Check.ts"
import { near, never, skipped } from "./Check.ts"
import type { EventRow } from "./EventRow.ts"
import { evenness } from "./PoissonTests.ts"
import { Seen } from "./Seen.ts"

/** The longest that a door opens after the call. */
const longestAnswer = 10 * minute

/** A person can't be at two doors on the outside of a building within this. */
const soonest = 3 * second

interface Ring {
  readonly time: number
  readonly key: string
}

/** Looks at events one by one, in the order of the list. */
export class EventChecks {
  #count = 0
  #outOfOrder = 0
  #first = Infinity
  #last = -Infinity
  #previous = -Infinity
  readonly #ids = new Seen()
  #repeatedIds = 0
  #wholeMinutes = 0
  #wholeSeconds = 0
  readonly #calls = new Map<string, number>()
  #opened = 0
  #withoutCall = 0
  readonly #hours = Array.from({ length: 24 }, () => 0)
  /** First rings by building, and openings by door, for how evenly they are spaced. */
  readonly #rings: Array<Ring> = []
  readonly #doors = new Map<string, Array<number>>()
  readonly #events = new Map<number, Array<number>>()
  readonly #people = new Map<string, { readonly time: number; readonly door: number }>()
  #twoPlaces = 0
  #passages = 0
  #example = ""
  readonly #rateScale: number
  readonly #zoneOf: (building: number) => string

  /** Of events with so many times as many people, in buildings with these time zones. */
  constructor(rateScale = 1, zoneOf: (building: number) => string = () => "UTC") {
    this.#rateScale = rateScale
    this.#zoneOf = zoneOf
  }

  add({ at, event, logged_at }: EventRow): void {
    this.#count++
    if (at < this.#previous) this.#outOfOrder++
    this.#previous = at
    this.#first = Math.min(this.#first, at)
    this.#last = Math.max(this.#last, at)
    const id = `${event.resource_type} ${event.data.id}`
    if (this.#ids.again(id)) {
      this.#repeatedIds++
      this.#example = id
    }
    if (logged_at % minute === 0) this.#wholeMinutes++
    if (logged_at % second === 0) this.#wholeSeconds++
    const hourOfDay = hourAt(logged_at, this.#zoneOf(event.building_id))
    this.#hours[hourOfDay] = (this.#hours[hourOfDay] ?? 0) + 1
    // What was sent long after it happened comes in bursts by its nature.
    if (Math.abs(at - logged_at) < minute) {
      const own = this.#events.get(event.building_id)
      if (own === undefined) this.#events.set(event.building_id, [logged_at])
      else own.push(logged_at)
    }
    if (event.resource_type === "call") this.#addCall(event.building_id, event.tenant_ids.join(), logged_at)
    else this.#addAccess(event, logged_at)
  }

  #addCall(building: number, tenants: string, time: number): void {
    const key = `${building} ${tenants}`
    const last = this.#calls.get(key)
    // Somebody who rings again is the same visitor.
    if (last === undefined || time - last > 2 * minute) this.#rings.push({ time, key: `${building}` })
    this.#calls.set(key, time)
  }

  #addAccess(event: Extract<EventRow["event"], { readonly resource_type: "access_log" }>, time: number): void {
    const { access_point, entry_method, name, release_status } = event.data
    const tenants = event.tenant_ids.join()
    if (entry_method === "app") {
      this.#opened++
      const called = this.#calls.get(`${event.building_id} ${tenants}`)
      const isEarly = time < this.#first + longestAnswer
      if (!isEarly && (called === undefined || called > time || time - called > longestAnswer)) this.#withoutCall++
      return
    }
    const door = `${event.building_id} ${access_point}`
    const times = this.#doors.get(door)
    if (times === undefined) this.#doors.set(door, [time])
    else times.push(time)
    if (release_status !== "Unlocked" || name === "Courier" || event.tenant_ids.length === 0) return
    this.#passages++
    const person = `${event.building_id} ${tenants} ${name}`
    const last = this.#people.get(person)
    if (last !== undefined && last.door !== access_point && Math.abs(time - last.time) < soonest) this.#twoPlaces++
    this.#people.set(person, { time, door: access_point })
  }

  #rounding(): Check {
    const name = "resolution of stamps"
    if (this.#count < 20) return skipped(name, "Fewer than 20 events.")
    const share = this.#wholeMinutes / this.#count
    const isCoarse = share > 0.05
    return {
      name,
      verdict: isCoarse ? "FAIL" : "PASS",
      observed: isCoarse
        ? `${(share * 100).toFixed(0)} % are whole minutes`
        : this.#wholeSeconds > this.#count / 2
          ? "seconds"
          : "milliseconds",
      expected: "milliseconds or seconds",
      meaning:
        "Stamps are rounded to minutes: nobody comes at the full minute, and what happens within one can't be told apart."
    }
  }

  #shape(): Check {
    const name = "quietest four hours of the day"
    const days = (this.#last - this.#first) / (24 * hour)
    if (days < 0.8 || this.#count < 100) return skipped(name, "Less than a day, or fewer than 100 events.")
    const sums = this.#hours.map((_, at) =>
      [0, 1, 2, 3].reduce((sum, next) => sum + (this.#hours[(at + next) % 24] ?? 0), 0)
    )
    const share = Math.min(...sums) / this.#count
    return {
      name,
      verdict: share < 0.09 ? "PASS" : "FAIL",
      observed: `${(share * 100).toFixed(1)} % of events`,
      expected: "less than 9 % (all hours alike: 16.7 %)",
      meaning: "The day is flat: people sleep, and a building is empty for a part of the day or almost so."
    }
  }

  /** How even gaps are: Lewis's numbers have mean 0.5 by chance, 1 for ticks of a clock. */
  #spacing(): ReadonlyArray<Check> {
    const byBuilding = Map.groupBy(this.#rings, ({ key }) => key)
    const rings = [...byBuilding.values()].flatMap((own) => [
      ...evenness(
        own.map(({ time }) => time).toSorted((a, b) => a - b),
        0
      )
    ])
    const events = [...this.#events.values()].flatMap((times) =>
      evenness(
        times.toSorted((a, b) => a - b),
        0
      )
    )
    const openings = [...this.#doors.values()].flatMap((times) => [
      ...evenness(
        times.toSorted((a, b) => a - b),
        2.5 * second
      )
    ])
    return (
      [
        ["spacing of events", events],
        ["spacing of calls", rings],
        ["spacing of openings", openings]
      ] as const
    ).map(([name, numbers]): Check => {
      if (numbers.length < 20) return skipped(name, "Too few of them.")
      const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length
      // A uniform number has the variance 1/12.
      const limit = 0.5 + 4.5 * Math.sqrt(1 / 12 / numbers.length)
      return {
        name,
        verdict: mean <= limit ? "PASS" : "FAIL",
        observed: mean.toFixed(3),
        expected: `at most ${limit.toFixed(3)} (ticks: 1)`,
        meaning: "Gaps are more even than people who do not know of each other could make them: events come by a timer."
      }
    })
  }

  checks(): ReadonlyArray<Check> {
    const lost = this.#opened === 0 ? 0 : this.#withoutCall / this.#opened
    return [
      never("events out of order", this.#outOfOrder, "`at` must not fall from one event to the next."),
      never("ids used twice", this.#repeatedIds, "An id names one record of its resource type.", this.#example),
      this.#opened < 10
        ? skipped("doors opened from the app without a call", "Fewer than 10 such openings.")
        : {
            name: "doors opened from the app without a call",
            verdict: lost <= 0.01 ? "PASS" : "FAIL",
            observed: `${this.#withoutCall} of ${this.#opened}`,
            expected: "at most 1 %",
            meaning:
              "A door is released from the app after somebody rang: each needs an earlier call of the same tenants within ten minutes."
          },
      this.#rateScale > 1 || this.#passages < 20
        ? skipped(
            "people at two doors at once",
            this.#rateScale > 1 ? "With --rate-scale above 1, several have one name." : "Fewer than 20 passages."
          )
        : near(
            "people at two doors at once",
            this.#twoPlaces / this.#passages,
            0,
            0.005,
            "The same credential opens different doors within seconds, more often than shared credentials explain.",
            4
          ),
      this.#rounding(),
      this.#shape(),
      ...this.#spacing()
    ]
  }

  get count(): number {
    return this.#count
  }
}
