/**
 * What clocks in a time zone show. Asked at every request, so the offset is looked up again only when clocks have changed,
 * or time goes back.
 */
import { formatDay, weekdayOf } from "../world/CalendarDate.ts"
import { dayMillis, minute } from "../world/LocalTime.ts"
import { changeBetween, offsetAt } from "../world/zones/TimeZone.ts"

export interface LocalMoment {
  /** Of the day, 0 to 1439. */
  readonly minute: number
  readonly hour: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** `2026-03-02` */
  readonly date: string
}

export class LocalClock {
  readonly #zone: string
  /** From when until when the offset is known. */
  #from = 0
  #until = 0
  #offset = 0
  #day = Number.NaN
  #date = ""

  constructor(zone: string) {
    this.#zone = zone
  }

  at(instant: number): LocalMoment {
    if (instant < this.#from || instant >= this.#until) this.#look(instant)
    const wall = instant + this.#offset
    const day = Math.floor(wall / dayMillis)
    if (day !== this.#day) {
      this.#day = day
      this.#date = formatDay(day)
    }
    const ofDay = Math.floor((wall - day * dayMillis) / minute)
    return { minute: ofDay, hour: Math.floor(ofDay / 60), weekday: weekdayOf(day), date: this.#date }
  }

  #look(instant: number): void {
    this.#offset = offsetAt(instant, this.#zone)
    this.#from = instant
    this.#until = changeBetween(instant, Number.POSITIVE_INFINITY, this.#zone)?.at ?? Number.POSITIVE_INFINITY
  }
}
