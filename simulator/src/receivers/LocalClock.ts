/**
 * What clocks in a time zone show. Asked at every request, so the offset is kept for a quarter of an hour: no zone changes
 * its clocks within one.
 */
import { offsetAt } from "../world/zones/TimeZone.ts"

const minute = 60_000
const quarter = 15 * minute
const day = 24 * 60 * minute

export interface LocalMoment {
  /** Of the day, 0 to 1439. */
  readonly minute: number
  /** `2026-03-02` */
  readonly date: string
}

export class LocalClock {
  readonly #zone: string
  #quarter = Number.NaN
  #offset = 0
  #day = Number.NaN
  #date = ""

  constructor(zone: string) {
    this.#zone = zone
  }

  at(instant: number): LocalMoment {
    const ofTime = Math.floor(instant / quarter)
    if (ofTime !== this.#quarter) {
      this.#quarter = ofTime
      this.#offset = offsetAt(instant, this.#zone)
    }
    const wall = instant + this.#offset
    const ofWall = Math.floor(wall / day)
    if (ofWall !== this.#day) {
      this.#day = ofWall
      this.#date = new Date(ofWall * day).toISOString().slice(0, 10)
    }
    return { minute: Math.floor((wall - ofWall * day) / minute), date: this.#date }
  }
}
