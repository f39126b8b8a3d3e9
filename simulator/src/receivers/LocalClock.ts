/**
 * What clocks in a time zone show. Asked at every request, so the offset is looked up once for each day, and for each
 * quarter of an hour on a day on which clocks change.
 */
import { DateTime } from "effect"
import { dayMillis, hour, minute } from "../world/LocalTime.ts"

export interface LocalMoment {
  /** Of the day, 0 to 1439. */
  readonly minute: number
  readonly hour: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** `2026-03-02` */
  readonly date: string
}

const quarter = hour / 4

export class LocalClock {
  readonly #zone: DateTime.TimeZone
  /** From when until when the offset is known. */
  #from = 0
  #until = 0
  #offset = 0
  #day = Number.NaN
  #date = ""

  constructor(zone: string) {
    this.#zone = DateTime.zoneMakeNamedUnsafe(zone)
  }

  at(instant: number): LocalMoment {
    if (instant < this.#from || instant >= this.#until) this.#look(instant)
    const wall = instant + this.#offset
    const day = Math.floor(wall / dayMillis)
    if (day !== this.#day) {
      this.#day = day
      this.#date = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(day * dayMillis))
    }
    const ofDay = Math.floor((wall - day * dayMillis) / minute)
    return { minute: ofDay, hour: Math.floor(ofDay / 60), weekday: (((day + 4) % 7) + 7) % 7, date: this.#date }
  }

  #look(instant: number): void {
    const start = Math.floor(instant / dayMillis) * dayMillis
    const offset = this.#offsetAt(start)
    const constant = offset === this.#offsetAt(start + dayMillis)
    this.#from = constant ? start : Math.floor(instant / quarter) * quarter
    this.#until = this.#from + (constant ? dayMillis : quarter)
    this.#offset = constant ? offset : this.#offsetAt(this.#from)
  }

  #offsetAt(instant: number): number {
    return DateTime.zonedOffset(DateTime.makeZonedUnsafe(instant, { timeZone: this.#zone }))
  }
}
