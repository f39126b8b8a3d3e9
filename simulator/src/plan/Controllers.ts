/**
 * Turns occurrences into published events. Devices can be offline, send late and have wrong clocks.
 *
 * While a controller is offline, it stores the openings of its doors, and sends them once it is online again. Calls
 * can't be placed in that time, so nobody opens the door for the caller. A controller restarts once a night (local
 * time). Outages between two restarts are drawn from a separate substream, so people behave the same with and without
 * outages.
 */
import { between, chance, lognormal, normal, poisson } from "../random/Distribution.ts"
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Devices } from "../scenario/ScenarioDocument.ts"
import type { Occurrence } from "../traffic/Occurrence.ts"
import type { AccessPoint, Building } from "../world/Building.ts"
import { dayNumberAt, instantOf } from "../world/LocalDay.ts"
import { dayMillis, hour, second } from "../world/LocalTime.ts"
import { Heap } from "../clock/Heap.ts"

/** An occurrence, the time of its publication, and its time in the device's log. */
export interface Recorded {
  readonly occurrence: Occurrence
  /** Time of publication, in milliseconds since the epoch. */
  readonly at: number
  /** Time shown by the device's clock at the occurrence. */
  readonly logged_at: number
}

/** Number of doors on one controller, which also serves the panels at these doors. */
export const doorsPerController = 4

interface Outage {
  readonly from: number
  readonly until: number
  /** Number of events kept until the outage ends. */
  kept: number
}

/** The time from one nightly restart of a controller to the next. */
interface Period {
  readonly from: number
  readonly until: number
  readonly outages: ReadonlyArray<Outage>
  /** Error of the clock right after it was last set, and the time of that setting (null for a clock on the network). */
  readonly offset: number
  readonly setAt: number | null
}

class Controller {
  readonly #devices: Devices
  readonly #substream: Substream
  readonly #zone: string
  /** Time of the restart since the beginning of the local day: between 3:00 and 5:00. */
  readonly #restart: number
  readonly #isKept: boolean
  /** Offset of this clock within the interval at which clocks are set by hand, from 0 to 1. */
  readonly #phase: number
  /** Milliseconds that the clock gains per millisecond. */
  readonly #drift: number
  #period: Period = { from: 0, until: 0, outages: [], offset: 0, setAt: null }

  constructor(devices: Devices, substream: Substream, zone: string) {
    this.#devices = devices
    this.#substream = substream
    this.#zone = zone
    const rng = new Rng(child(substream, "clock"))
    this.#restart = Math.floor(between(rng, 3, 5) * hour)
    this.#isKept = !chance(rng, devices.clocks.wrong)
    this.#phase = rng.uniform()
    this.#drift = normal(rng, 0, devices.clocks.drift) / 1e6
  }

  /** Returns the period that contains an instant. */
  #at(time: number): Period {
    const known = this.#period
    if (time >= known.from && time < known.until) return known
    const restartOf = (day: number) => instantOf(day * dayMillis + this.#restart, this.#zone)
    const today = dayNumberAt(time, this.#zone)
    const day = time < restartOf(today) ? today - 1 : today
    const [from, until] = [restartOf(day), restartOf(day + 1)]
    const rng = new Rng(child(this.#substream, day))
    const { down, every } = this.#devices.outages
    const length = until - from
    const outages = Array.from({ length: every === 0 ? 0 : poisson(rng, length / every) }, (): Outage => {
      const begins = from + rng.below(length)
      return { from: begins, until: Math.min(until, begins + Math.floor(lognormal(rng, down))), kept: 0 }
    })
    this.#period = { from, until, outages, ...this.#clockOf(day, from) }
    return this.#period
  }

  /**
   * Returns the clock's error right after it was last set, and the time of that setting. Clocks on the network are set
   * at each restart, others by hand from time to time.
   */
  #clockOf(day: number, from: number): Pick<Period, "offset" | "setAt"> {
    const { deviation, set_every, wrong_deviation } = this.#devices.clocks
    const days = Math.max(1, Math.floor(set_every / dayMillis))
    const phase = Math.floor(this.#phase * days)
    const since = this.#isKept ? day : Math.floor((day + phase) / days) * days - phase
    const rng = new Rng(child(child(this.#substream, "set"), since))
    return {
      offset: normal(rng, 0, this.#isKept ? deviation : wrong_deviation),
      setAt: this.#isKept ? null : set_every === 0 ? from : since * dayMillis
    }
  }

  /** Returns the outage at an instant; undefined if the controller is online. */
  outageAt(time: number): Outage | undefined {
    return this.#at(time).outages.find(({ from, until }) => time >= from && time < until)
  }

  /** Returns the error of the clock, in milliseconds. A clock on the network drifts only while it is offline. */
  skewAt(time: number, outage: Outage | undefined): number {
    const { offset, setAt } = this.#at(time)
    const since = this.#isKept ? (outage?.from ?? time) : (setAt ?? time)
    return Math.floor(offset + (time - since) * this.#drift)
  }

  /** Returns the time at which an event kept during an outage of the current period is sent. */
  sentAt(outage: Outage, id: number): number {
    const { jitter, per_second } = this.#devices.flush
    const turn = Math.floor((outage.kept++ * second) / per_second)
    const late = jitter === 0 ? 0 : Math.floor(between(new Rng(child(this.#substream, id)), 0, jitter))
    const at = outage.until + turn + late
    // An outage can begin during an earlier outage, or before all events kept in an earlier outage are sent. Unsent
    // events then wait for the end of the later outage.
    const next = this.#period.outages.find(({ from, until }) => at >= from && at < until)
    return next === undefined ? at : this.sentAt(next, id)
  }
}

/** A building with its devices, and the substream of its traffic. */
export interface Equipped {
  readonly building: Building
  readonly devices: Devices
  readonly substream: Substream
}

const controllersOf = (equipped: ReadonlyArray<Equipped>): ReadonlyMap<AccessPoint, Controller> => {
  const controllers = new Map<AccessPoint, Controller>()
  for (const { building, devices, substream } of equipped) {
    const own = child(substream, "devices")
    let controller: Controller | undefined
    for (const [index, door] of building.access_points.entries()) {
      if (controller === undefined || index % doorsPerController === 0) {
        const number = Math.floor(index / doorsPerController)
        controller = new Controller(devices, child(own, number), building.time_zone)
      }
      controllers.set(door, controller)
    }
  }
  return controllers
}

/** Calls of the last 24 hours that could not be placed, in order of time. */
class LostCalls {
  readonly #times = new Map<number, number>()

  add(id: number, time: number): void {
    for (const [other, at] of this.#times) {
      if (at > time - dayMillis) break
      this.#times.delete(other)
    }
    this.#times.set(id, time)
  }

  has(id: number | null): boolean {
    return id !== null && this.#times.has(id)
  }
}

/** Yields the events that the service receives, in order of publication. */
export function* recorded(
  occurrences: Iterable<Occurrence>,
  equipped: ReadonlyArray<Equipped>
): IterableIterator<Recorded> {
  const controllers = controllersOf(equipped)
  const kept = new Heap<Recorded & { readonly order: number }>(
    (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order)
  )
  const lost = new LostCalls()
  let order = 0
  const release = function* (until: number): IterableIterator<Recorded> {
    for (let next = kept.top; next !== undefined && next.at <= until; next = kept.top) {
      kept.pop()
      const { at, occurrence, logged_at } = next
      yield { occurrence, at, logged_at }
    }
  }
  for (const occurrence of occurrences) {
    const { id, time } = occurrence
    const top = kept.top
    if (top !== undefined && top.at <= time) yield* release(time)
    const door = occurrence._tag === "Call" ? occurrence.panel.access_point : occurrence.access_point
    const controller = controllers.get(door)
    if (controller === undefined) {
      yield { occurrence, at: time, logged_at: time }
      continue
    }
    const outage = controller.outageAt(time)
    const logged_at = time + controller.skewAt(time, outage)
    const needsConnection = occurrence._tag === "Call" || occurrence.cause !== null
    if (outage === undefined ? lost.has(occurrence.cause) : needsConnection) {
      if (occurrence._tag === "Call") lost.add(id, time)
      continue
    }
    if (outage === undefined) yield { occurrence, at: time, logged_at }
    else kept.push({ occurrence, at: controller.sentAt(outage, id), logged_at, order: order++ })
  }
  yield* release(Infinity)
}
