/** Counts the events of a building. Memory grows with doors and people, but not with events. */
import { callEndType } from "@doorhook/core"
import type { LogEntry } from "../plan/AccessLog.ts"
import type { Recorded } from "../plan/Devices.ts"
import type { EventRow } from "../plan/EventRow.ts"
import { plannedEvent } from "../plan/PlannedEvent.ts"
import { isWeekend, weekdayOf } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"

/** The parts of an event that validation needs, from a plan, a recorded log in NDJSON, or an access log in CSV. */
export interface Row {
  /** Time of publication, and time in the device's log, in milliseconds since the epoch. */
  readonly at: number
  readonly logged_at: number
  /** Id of the building; in an access log, its name. */
  readonly building: number | string
  readonly isCall: boolean
  /** Unique among calls or among accesses; null if the log has no ids. */
  readonly id: number | string | null
  readonly door: string
  /** Unit or tenants of the event. */
  readonly unit: string
  /** Holder of the credential; empty for strangers, couriers and calls. */
  readonly person: string
  readonly isFromApp: boolean
  readonly isDenied: boolean
}

const holder = (name: string, isKnown: boolean): string => (isKnown && name !== "Courier" ? name : "")

/** Returns the row for a record of a plan. */
export const ofRecord = (record: Recorded): Row | null => ofEvent({ ...record, event: plannedEvent(record) })

/** Returns the row for a line of NDJSON; null for the end of a call. */
export const ofEvent = ({ at, event, logged_at }: EventRow): Row | null => {
  if (event.resource_type === callEndType) return null
  const common = { at, logged_at, building: event.building_id, id: event.data.id, unit: event.tenant_ids.join() }
  return event.resource_type === "call"
    ? { ...common, isCall: true, door: event.data.panel.name, person: "", isFromApp: false, isDenied: false }
    : {
        ...common,
        isCall: false,
        door: `${event.data.access_point}`,
        person: holder(event.data.name, event.tenant_ids.length > 0),
        isFromApp: event.data.entry_method === "app",
        isDenied: event.data.release_status === "Denied"
      }
}

/** Returns the row for an entry of an access log. */
export const ofEntry = ({ at, building, door, id, isDelivery, kind, method, person, time, unit }: LogEntry): Row => ({
  at,
  logged_at: time,
  building: building === "" ? 1 : building,
  isCall: kind === "call",
  id,
  door,
  unit,
  person: holder(person, !isDelivery),
  isFromApp: kind === "opening" && method === "app",
  isDenied: kind === "denied"
})

/** Maximum time from a call to the opening of the door. */
const longestAnswer = 10 * minute

/** Maximum time between two rings of the same visitor. */
const longestVisit = 2 * minute

/** More openings of one door within this time than people can walk through it, in milliseconds. */
const crowd = { openings: 10, within: 5 * second } as const

/** Maximum gap at one door between people of a group, and minimum time for a person to get to another door. */
export const closeBehind = 2.5 * second
const soonest = 3 * second

/**
 * Measures how even the gaps between points are (Lewis 1965, in the form of Kim and Whitt 2014). The measure averages
 * 0.5 for random points and is 1 for the ticks of a clock. Gaps are compared within blocks of eight, in which the rate
 * hardly changes. A point at most `dead` milliseconds after another is ignored.
 */
export class Evenness {
  readonly #dead: number
  readonly #keys = new Map<string, { last: number; gaps: Array<number> }>()
  #sum = 0
  count = 0

  constructor(dead: number) {
    this.#dead = dead
  }

  add(key: string, time: number): void {
    const known = this.#keys.get(key)
    if (known === undefined) {
      this.#keys.set(key, { last: time, gaps: [] })
      return
    }
    const gap = time - known.last
    known.last = Math.max(time, known.last)
    if (gap <= this.#dead) return
    known.gaps.push(gap - this.#dead)
    if (known.gaps.length < 8) return
    this.#judge(known.gaps)
    known.gaps = []
  }

  #judge(gaps: ReadonlyArray<number>): void {
    const sum = gaps.reduce((total, gap) => total + gap, 0)
    const sorted = gaps.map((gap) => gap / sum).toSorted((a, b) => a - b)
    let reached = 0
    for (let index = 0; index < sorted.length - 1; index++) {
      reached += (sorted.length - index) * ((sorted[index] ?? 0) - (sorted[index - 1] ?? 0))
      this.#sum += Math.min(1, reached)
      this.count++
    }
  }

  get mean(): number {
    return this.#sum / Math.max(1, this.count)
  }
}

/** Returns a zero count for each hour of the day. */
const hoursOfDay = () => Array.from({ length: 24 }, () => 0)

export class Observations {
  readonly #zone: string
  count = 0
  /** Counts by hour of the day: all events, calls, and events on working days. */
  readonly hours = hoursOfDay()
  readonly callHours = hoursOfDay()
  readonly workingHours = hoursOfDay()
  readonly byKindOfDay = { weekend: 0, weekday: 0 }
  first = Infinity
  last = -Infinity
  calls = 0
  /**
   * Number of visits. Repeated rings of a visitor count once. `answered` is the number of visits that end with a door
   * opened from the app.
   */
  visits = 0
  answered = 0
  openings = 0
  denied = 0
  accesses = 0
  behind = 0
  fromApp = 0
  withoutCall = 0
  passages = 0
  twoPlaces = 0
  wholeMinutes = 0
  /** Ids of different events; and events that came twice, with the same id or without. */
  reusedIds = 0
  repeated = 0
  hasIds = false
  /** Openings too close to others at the same door. */
  crowded = 0
  outOfOrder = 0
  personDays = 0
  uses = 0
  /** Number of first arrivals on working days, by interval of five minutes. */
  readonly comings = Array.from({ length: 288 }, () => 0)
  readonly spacing = { events: new Evenness(0), calls: new Evenness(0), openings: new Evenness(closeBehind) }
  readonly #gaps = { last: Number.NaN, count: 0, sum: 0, squares: 0 }
  /** Time in the device's log of each id. */
  readonly #ids = { calls: new Map<number | string, number>(), accesses: new Map<number | string, number>() }
  readonly #calls = new Map<string, { readonly time: number; isAnswered: boolean }>()
  /** Times of the latest openings of each door, and how many there were. */
  readonly #doors = new Map<string, { readonly latest: Array<number>; count: number }>()
  readonly #people = new Map<string, { readonly time: number; readonly door: string; readonly day: number }>()
  #previous = -Infinity

  constructor(zone: string) {
    this.#zone = zone
  }

  add(row: Row): void {
    const { at, id, isCall, logged_at } = row
    this.count++
    if (at < this.#previous) this.outOfOrder++
    this.#previous = at
    this.first = Math.min(this.first, logged_at)
    this.last = Math.max(this.last, logged_at)
    if (id !== null) this.#addId(isCall ? this.#ids.calls : this.#ids.accesses, id, logged_at)
    if (logged_at % minute === 0) this.wholeMinutes++
    const wall = logged_at + offsetAt(logged_at, this.#zone)
    const day = Math.floor(wall / dayMillis)
    const clock = wall - day * dayMillis
    const isWorking = !isWeekend(weekdayOf(day))
    const hourOfDay = Math.floor(clock / hour)
    this.hours[hourOfDay] = (this.hours[hourOfDay] ?? 0) + 1
    this.byKindOfDay[isWorking ? "weekday" : "weekend"]++
    if (isWorking) this.workingHours[hourOfDay] = (this.workingHours[hourOfDay] ?? 0) + 1
    // Excludes events that were sent long after they happened, because these always come in bursts.
    if (Math.abs(at - logged_at) < minute) {
      // Controllers log whole seconds, which would make the gaps of a busy building even.
      this.spacing.events.add("", at)
      this.#addGap(logged_at)
    }
    if (isCall) this.#addCall(row, hourOfDay)
    else this.#addAccess(row, day, clock, isWorking)
  }

  #addId(ids: Map<number | string, number>, id: number | string, logged_at: number): void {
    this.hasIds = true
    const known = ids.get(id)
    if (known === undefined) ids.set(id, logged_at)
    else if (known === logged_at) this.repeated++
    else this.reusedIds++
  }

  #addGap(time: number): void {
    const { last } = this.#gaps
    this.#gaps.last = time
    if (!(time >= last)) return
    this.#gaps.count++
    this.#gaps.sum += time - last
    this.#gaps.squares += (time - last) ** 2
  }

  #addCall({ logged_at: time, unit }: Row, hourOfDay: number): void {
    const last = this.#calls.get(unit)
    this.calls++
    this.callHours[hourOfDay] = (this.callHours[hourOfDay] ?? 0) + 1
    const isNew = last === undefined || time - last.time > longestVisit
    if (isNew) {
      this.visits++
      this.spacing.calls.add("", time)
    }
    this.#calls.set(unit, { time, isAnswered: !isNew && last.isAnswered })
  }

  #addAccess(
    { door, isDenied, isFromApp, logged_at: time, person, unit }: Row,
    day: number,
    clock: number,
    isWorking: boolean
  ): void {
    this.accesses++
    if (isDenied) this.denied++
    else this.openings++
    if (isFromApp) {
      this.fromApp++
      const call = this.#calls.get(unit)
      const isAfter = call !== undefined && call.time <= time && time - call.time <= longestAnswer
      if (isAfter && !call.isAnswered) {
        call.isAnswered = true
        this.answered++
      }
      if (!isAfter && time >= this.first + longestAnswer) this.withoutCall++
      return
    }
    this.spacing.openings.add(door, time)
    this.#addAtDoor(door, time, isDenied)
    if (person === "" || isDenied) return
    this.passages++
    const key = `${unit} ${person}`
    const last = this.#people.get(key)
    if (last?.door === door && last.time === time) this.repeated++
    if (last !== undefined && last.door !== door && Math.abs(time - last.time) < soonest) this.twoPlaces++
    if (last?.day !== day) {
      this.personDays++
      const cell = Math.floor(clock / (5 * minute))
      if (isWorking) this.comings[cell] = (this.comings[cell] ?? 0) + 1
    }
    this.uses++
    this.#people.set(key, { time, door, day })
  }

  #addAtDoor(door: string, time: number, isDenied: boolean): void {
    const own = this.#doors.get(door) ?? { latest: [], count: 0 }
    this.#doors.set(door, own)
    if (Math.abs(time - (own.latest.at(-1) ?? -Infinity)) <= closeBehind) this.behind++
    own.latest.push(time)
    if (isDenied) return
    own.count++
    if (own.latest.length < crowd.openings) return
    const first = own.latest.shift() ?? -Infinity
    if (Math.abs(time - first) <= crowd.within) this.crowded++
  }

  /** Number of doors, and share of the openings that are at the busiest of them. */
  get doors(): { readonly count: number; readonly busiest: number } {
    const counts = [...this.#doors.values()].map(({ count }) => count)
    const all = counts.reduce((sum, count) => sum + count, 0)
    return { count: counts.length, busiest: Math.max(0, ...counts) / Math.max(1, all) }
  }

  /** Burstiness of the gaps between events (Goh and Barabasi 2008): -1 for ticks, 0 for random events, 1 for bursts. */
  get burstiness(): number {
    const { count, squares, sum } = this.#gaps
    const mean = sum / count
    const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean))
    return (deviation - mean) / (deviation + mean)
  }

  /** Median time of the first arrival on working days, in hours; null if there are too few arrivals. */
  get coming(): number | null {
    const all = this.comings.reduce((sum, count) => sum + count, 0)
    if (all < 50) return null
    let left = all / 2
    const cell = this.comings.findIndex((count) => (left -= count) < 0)
    return (cell + 0.5) / 12
  }

  /** Numbers of weekend days and weekdays from the first event to the last. */
  get days(): { readonly weekend: number; readonly weekday: number } {
    const dayOf = (time: number) => Math.floor((time + offsetAt(time, this.#zone)) / dayMillis)
    const days = { weekend: 0, weekday: 0 }
    for (let day = dayOf(this.first); day <= dayOf(this.last); day++)
      days[isWeekend(weekdayOf(day)) ? "weekend" : "weekday"]++
    return days
  }
}
