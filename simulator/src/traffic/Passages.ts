/**
 * The comings and goings of a building's members on one day.
 *
 * A day of a thousand people is thousands of passages that come out person by person and are needed in time order. Each
 * is packed into one number, time first, so that a day takes eight bytes a passage and sorts as numbers sort.
 */
import type { AccessPoint, Person } from "../world/Building.ts"

/** Somebody goes through a door. */
export interface Passage {
  /** In milliseconds since the start of the day. */
  readonly elapsed: number
  readonly person: Person
  readonly access_point: AccessPoint
  /** What was noted with it. */
  readonly note: number
}

/** Notes are whole numbers below this. */
const noteRoom = 8

export class Passages {
  readonly #people: ReadonlyArray<Person>
  readonly #doors: ReadonlyArray<AccessPoint>
  readonly #doorIndex: ReadonlyMap<AccessPoint, number>
  #packed = new Float64Array(256)
  #count = 0

  constructor(people: ReadonlyArray<Person>, doors: ReadonlyArray<AccessPoint>) {
    this.#people = people
    this.#doors = doors
    this.#doorIndex = new Map(doors.map((door, index) => [door, index]))
  }

  /** Notes a passage of the person with that index. A door that is not under access control leaves no trace. */
  add(elapsed: number, person: number, door: AccessPoint | null, note: number): void {
    const index = door === null ? undefined : this.#doorIndex.get(door)
    if (index === undefined) return
    if (this.#count === this.#packed.length) {
      const larger = new Float64Array(this.#count * 2)
      larger.set(this.#packed)
      this.#packed = larger
    }
    // Two days in milliseconds, times people, doors and notes: below 2^53 for 20,000 people and 300 doors.
    const time = Math.floor(elapsed) * this.#people.length + person
    this.#packed[this.#count++] = (time * this.#doors.length + index) * noteRoom + note
  }

  /** The passages in order of time. */
  *inOrder(): IterableIterator<Passage> {
    const packed = this.#packed.subarray(0, this.#count).toSorted()
    const [people, doors] = [this.#people.length, this.#doors.length]
    for (const number of packed) {
      const withoutNote = Math.floor(number / noteRoom)
      const rest = Math.floor(withoutNote / doors)
      const elapsed = Math.floor(rest / people)
      const access_point = this.#doors[withoutNote - rest * doors]
      const person = this.#people[rest - elapsed * people]
      if (access_point === undefined || person === undefined) continue
      yield { elapsed, person, access_point, note: number - withoutNote * noteRoom }
    }
  }
}
