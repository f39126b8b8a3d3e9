/**
 * From what happens to what is published: devices are offline and send later, and have wrong clocks.
 *
 * While a controller is offline, openings of its doors are kept and sent when it is back; calls can't be placed, so what
 * would have followed from them does not happen either. Outages are drawn day by day (UTC) from a substream of their
 * own: with and without them, people do the same.
 */
import { between, lognormal, normal, poisson, chance } from "../random/Distribution.ts"
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Happening } from "../traffic/Happening.ts"
import type { AccessPoint, Building } from "../world/Building.ts"
import type { Devices } from "../world/Devices.ts"
import { doorsPerController } from "../world/Devices.ts"
import { dayMillis, second } from "../world/LocalTime.ts"

/** A happening, and when the service hears of it. */
export interface Recorded {
  readonly happening: Happening
  /** When it is published, in milliseconds since the epoch. */
  readonly at: number
  /** What the device's clock showed when it happened. */
  readonly logged_at: number
}

interface Outage {
  readonly from: number
  readonly until: number
  /** How many events wait for its end. */
  kept: number
}

class Controller {
  readonly #devices: Devices
  readonly #substream: Substream
  readonly skew: number
  #day = Number.NaN
  #outages: ReadonlyArray<Outage> = []

  constructor(devices: Devices, substream: Substream) {
    this.#devices = devices
    this.#substream = substream
    const { deviation, wrong, wrong_deviation } = devices.clocks
    const rng = new Rng(child(substream, "clock"))
    this.skew = Math.floor(normal(rng, 0, chance(rng, wrong) ? wrong_deviation : deviation))
  }

  /** The outage that an instant falls into; undefined when the controller is online. */
  outageAt(time: number): Outage | undefined {
    const { outages } = this.#devices
    if (outages === null) return undefined
    const day = Math.floor(time / dayMillis)
    if (day !== this.#day) {
      this.#day = day
      this.#outages = this.#outagesOf(day, outages)
    }
    return this.#outageOfDay(time)
  }

  #outageOfDay(time: number): Outage | undefined {
    return this.#outages.find(({ from, until }) => time >= from && time < until)
  }

  #outagesOf(day: number, { every, down }: NonNullable<Devices["outages"]>): ReadonlyArray<Outage> {
    const rng = new Rng(child(this.#substream, day))
    const [start, end] = [day * dayMillis, (day + 1) * dayMillis]
    return Array.from({ length: poisson(rng, dayMillis / every) }, (): Outage => {
      const from = start + rng.below(dayMillis)
      return { from, until: Math.min(end, from + Math.floor(lognormal(rng, down))), kept: 0 }
    })
  }

  /** When an event is sent that was kept in an outage of the day last asked for. */
  sentAt(outage: Outage, id: number): number {
    const { jitter, per_second } = this.#devices.flush
    const turn = Math.floor((outage.kept++ * second) / per_second)
    const late = jitter === 0 ? 0 : Math.floor(between(new Rng(child(this.#substream, id)), 0, jitter))
    const at = outage.until + turn + late
    // Outages overlap, and one may begin before all of the last is sent: what falls into the next waits for its end, too.
    const next = this.#outageOfDay(at)
    return next === undefined ? at : this.sentAt(next, id)
  }
}

/** What is kept, the first to be sent last. */
class Kept {
  readonly #records: Array<Recorded> = []

  add(record: Recorded): void {
    let [low, high] = [0, this.#records.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#records[middle]?.at ?? 0) > record.at) low = middle + 1
      else high = middle
    }
    this.#records.splice(low, 0, record)
  }

  get next(): number {
    return this.#records.at(-1)?.at ?? Infinity
  }

  take(): Recorded | undefined {
    return this.#records.pop()
  }
}

/** A building with its devices, and the substream of its doings. */
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
        controller = new Controller(devices, child(own, Math.floor(index / doorsPerController)))
      }
      controllers.set(door, controller)
    }
  }
  return controllers
}

/** Calls that could not be placed, remembered for two days. */
class LostCalls {
  #today = new Set<number>()
  #yesterday = new Set<number>()
  #day = Number.NaN

  add(id: number, time: number): void {
    const day = Math.floor(time / dayMillis)
    if (day !== this.#day) {
      this.#yesterday = this.#today
      this.#today = new Set()
      this.#day = day
    }
    this.#today.add(id)
  }

  has(id: number | null): boolean {
    return id !== null && (this.#today.has(id) || this.#yesterday.has(id))
  }
}

const doorOf = (happening: Happening): AccessPoint =>
  happening._tag === "Call" ? happening.panel.access_point : happening.access_point

/** What the service hears, in order of time. */
export function* recorded(
  happenings: Iterable<Happening>,
  equipped: ReadonlyArray<Equipped>
): IterableIterator<Recorded> {
  const controllers = controllersOf(equipped)
  const kept = new Kept()
  const lost = new LostCalls()
  for (const happening of happenings) {
    const { id, time } = happening
    while (kept.next <= time) {
      const record = kept.take()
      if (record !== undefined) yield record
    }
    const controller = controllers.get(doorOf(happening))
    if (controller === undefined) {
      yield { happening, at: time, logged_at: time }
      continue
    }
    const outage = controller.outageAt(time)
    const logged_at = time + controller.skew
    const needsConnection = happening._tag === "Call" || happening.cause !== null
    if (outage === undefined ? lost.has(happening.cause) : needsConnection) {
      if (happening._tag === "Call") lost.add(id, time)
      continue
    }
    if (outage === undefined) yield { happening, at: time, logged_at }
    else kept.add({ happening, at: controller.sentAt(outage, id), logged_at })
  }
  for (let record = kept.take(); record !== undefined; record = kept.take()) yield record
}
