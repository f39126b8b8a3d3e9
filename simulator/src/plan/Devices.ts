/**
 * Turns the occurrences in a building into published events. Devices can be offline, send late or twice, and have wrong
 * clocks.
 *
 * While a controller is offline, it stores the openings of its doors, and sends them once it is online again. Calls
 * can't be placed in that time, so nobody opens the door for the caller. A controller is offline alone, together with its
 * building (the uplink of the site), or together with all buildings of its region (a mobile network or the vendor's
 * cloud). All draws depend only on names and times, so people behave the same with and without outages.
 */
import { Heap } from "../clock/Heap.ts"
import { between, chance, exponential, lognormal, normal, poisson } from "../random/Distribution.ts"
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Devices as DeviceSettings } from "../scenario/ScenarioDocument.ts"
import type { Access, Call, CallEnd, Occurrence } from "../traffic/Occurrence.ts"
import { longestWait } from "../traffic/Parameter.ts"
import type { AccessPoint, Building } from "../world/Building.ts"
import { dayNumberAt, instantOf } from "../world/LocalDay.ts"
import { dayMillis, hour, second } from "../world/LocalTime.ts"

/** An occurrence, the time of its publication, and its time in the device's log. */
export interface Recorded<Kind = Occurrence | CallEnd> {
  readonly occurrence: Kind
  /** Time of publication, in milliseconds since the epoch. */
  readonly at: number
  /** Time shown by the device's clock at the occurrence. */
  readonly logged_at: number
}

/** Number of doors on one controller, which also serves the panels at these doors. */
export const doorsPerController = 4

/** A time without connection. */
interface Span {
  readonly from: number
  readonly until: number
}

/** Outages are drawn for blocks of this length. None is longer than half a block. */
const block = 28 * dayMillis
const longestOutage = 14 * dayMillis

type OutageSettings = DeviceSettings["outages"]

/** The outages of one cause: a controller, the uplink of a building, or a region. */
class Cause {
  readonly #settings: OutageSettings
  readonly #substream: Substream
  /** Time from the end of an outage until this building is online again. */
  readonly #back: number
  readonly #blocks = new Map<number, ReadonlyArray<Span>>()

  constructor(settings: OutageSettings, substream: Substream, back = 0) {
    this.#settings = settings
    this.#substream = substream
    this.#back = back
  }

  /** Returns the outages that begin in a block. */
  of(number: number): ReadonlyArray<Span> {
    const known = this.#blocks.get(number)
    if (known !== undefined) return known
    const { down, every } = this.#settings
    const rng = new Rng(child(this.#substream, number))
    const outages = Array.from({ length: every === 0 ? 0 : poisson(rng, block / every) }, (): Span => {
      const from = number * block + rng.below(block)
      const length = Math.max(second, Math.min(longestOutage, Math.floor(lognormal(rng, down))))
      return { from, until: from + length + this.#back }
    })
    this.#blocks.set(number, outages)
    for (const old of this.#blocks.keys()) if (old < number - 2) this.#blocks.delete(old)
    return outages
  }
}

/** The clock of a controller from one restart to the next: its error right after it was last set, and that time. */
interface ClockDay extends Span {
  readonly offset: number
  readonly setAt: number
}

/** The clock and the connection of a controller. */
class Controller {
  readonly #clocks: DeviceSettings["clocks"]
  readonly #substream: Substream
  readonly #zone: string
  readonly #causes: ReadonlyArray<Cause>
  /** Time of the nightly restart since the beginning of the local day: between 3:00 and 5:00. */
  readonly #restart: number
  readonly #isKept: boolean
  /** Offset of this clock within the interval at which clocks are set by hand, from 0 to 1. */
  readonly #phase: number
  /** Milliseconds that the clock gains per millisecond. */
  readonly #drift: number
  #day: ClockDay = { from: 0, until: 0, offset: 0, setAt: Number.NaN }
  /** A time in which the controller is known to be online. */
  #clear: Span = { from: 0, until: 0 }
  /** Events stored now, by the time at which they will be sent. */
  readonly stored = new Map<number, Array<Omit<Recorded<Occurrence>, "at">>>()

  constructor(clocks: DeviceSettings["clocks"], causes: ReadonlyArray<Cause>, substream: Substream, zone: string) {
    this.#clocks = clocks
    this.#causes = causes
    this.#substream = substream
    this.#zone = zone
    const rng = new Rng(child(substream, "clock"))
    this.#restart = Math.floor(between(rng, 3, 5) * hour)
    this.#isKept = !chance(rng, clocks.wrong)
    this.#phase = rng.uniform()
    this.#drift = normal(rng, 0, clocks.drift) / 1e6
  }

  /** Returns all outages that begin in the blocks up to the block of an instant and can matter then, earliest first. */
  outagesUntil(time: number): ReadonlyArray<Span> {
    const number = Math.floor(time / block)
    return [number - 2, number - 1, number]
      .flatMap((own) => this.#causes.flatMap((cause) => cause.of(own)))
      .toSorted((a, b) => a.from - b.from)
  }

  /** Returns the outage that an instant is in: from the first of its causes until the last; null if online. */
  outageAt(time: number): Span | null {
    if (time >= this.#clear.from && time < this.#clear.until) return null
    const isIn = (instant: number) => (own: Span) => instant >= own.from && instant < own.until
    const first = this.#nearby(time).find(isIn(time))
    if (first === undefined) {
      const next = this.#nearby(time).find(({ from }) => from > time)
      this.#clear = { from: time, until: Math.min(next?.from ?? Infinity, (Math.floor(time / block) + 1) * block) }
      return null
    }
    let { until } = first
    for (;;) {
      const next = this.#nearby(until).find(isIn(until))
      if (next === undefined) return { from: first.from, until }
      until = next.until
    }
  }

  #known: { readonly number: number; readonly outages: ReadonlyArray<Span> } = { number: Number.NaN, outages: [] }

  #nearby(time: number): ReadonlyArray<Span> {
    const number = Math.floor(time / block)
    if (this.#known.number !== number) this.#known = { number, outages: this.outagesUntil(time) }
    return this.#known.outages
  }

  /** Returns the time shown by the clock. A clock on the network drifts only while it is offline. */
  clockAt(time: number, outage: Span | null): number {
    if (time < this.#day.from || time >= this.#day.until) this.#day = this.#dayAt(time)
    const { offset, setAt } = this.#day
    const since = this.#isKept ? (outage?.from ?? time) : setAt
    const { resolution } = this.#clocks
    const shown = Math.floor(time + offset + (time - since) * this.#drift)
    return resolution <= 1 ? shown : Math.floor(shown / resolution) * resolution
  }

  /** Clocks on the network are set at each restart, others by hand from time to time. */
  #dayAt(time: number): ClockDay {
    const restartOf = (number: number) => instantOf(number * dayMillis + this.#restart, this.#zone)
    const today = dayNumberAt(time, this.#zone)
    const day = time < restartOf(today) ? today - 1 : today
    const { deviation, set_every, wrong_deviation } = this.#clocks
    const days = Math.max(1, Math.floor(set_every / dayMillis))
    const phase = Math.floor(this.#phase * days)
    const since = this.#isKept ? day : Math.floor((day + phase) / days) * days - phase
    const rng = new Rng(child(child(this.#substream, "set"), since))
    const [from, until] = [restartOf(day), restartOf(day + 1)]
    const offset = normal(rng, 0, this.#isKept ? deviation : wrong_deviation)
    return { from, until, offset, setAt: set_every === 0 ? from : since * dayMillis }
  }
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

/** Longest time for which a door is held open, in milliseconds (assumed: alarms follow after 30 to 90 seconds). */
const heldFor = [30 * second, 90 * second] as const

/** Numbers of the ids of added events: a quarter of the numbers of a flow is for each kind. Only calls end. */
const quarters = { held: 1, ended: 1, forced: 2, repeated: 3 } as const

/** Orders events by time, then by id. */
const isBefore = (a: Pick<Recorded, "at" | "occurrence">, b: Pick<Recorded, "at" | "occurrence">): boolean =>
  a.at < b.at || (a.at === b.at && a.occurrence.id < b.occurrence.id)

/** The devices of one building. */
export class Devices {
  readonly #settings: DeviceSettings
  readonly #substream: Substream
  readonly #controllers = new Map<AccessPoint, Controller>()
  /** Numbers of ids between an event and the events that a device adds to it. */
  readonly #quarter: number
  readonly #lost = new LostCalls()
  /** Occurrences that follow from others, such as a door held open. */
  readonly #later = new Heap<{ readonly at: number; readonly occurrence: Occurrence }>(isBefore)
  readonly #sent = new Heap<Recorded<Occurrence>>(isBefore)
  /** Controllers with stored events, by the time at which these are sent. */
  readonly #returns = new Heap<{ readonly at: number; readonly controller: Controller }>((a, b) => a.at < b.at)

  constructor(building: Building, settings: DeviceSettings, substream: Substream, region: Substream, quarter: number) {
    this.#settings = settings
    this.#substream = child(substream, "devices")
    this.#quarter = quarter
    const { clocks, outages, region_outages, site_outages } = settings
    const back = Math.floor((exponential(new Rng(child(this.#substream, "return"))) * region_outages.return_within) / 3)
    const shared = [new Cause(site_outages, child(this.#substream, "site")), new Cause(region_outages, region, back)]
    const { access_points, time_zone } = building
    for (let first = 0; first < access_points.length; first += doorsPerController) {
      const own = child(this.#substream, first / doorsPerController)
      const controller = new Controller(clocks, [new Cause(outages, child(own, "outages")), ...shared], own, time_zone)
      for (const door of access_points.slice(first, first + doorsPerController)) this.#controllers.set(door, controller)
    }
  }

  /** Returns the earliest time whose occurrences can be published at `from` or later. */
  neededFrom(from: number): number {
    const { buffer, flush } = this.#settings
    const tail = Math.floor((buffer * second) / flush.per_second) + flush.jitter + longestWait
    // An alarm follows its opening, the publication follows the alarm, and a second upload the publication.
    let needed = from - 3 * longestWait
    for (const controller of new Set(this.#controllers.values())) {
      for (const outage of controller.outagesUntil(from)) {
        const { until } = controller.outageAt(outage.from) ?? outage
        const sentUntil = controller.outageAt(until + tail)?.until ?? until + tail
        // Calls that could not be placed are remembered for a day.
        if (outage.from < from && Math.max(sentUntil + tail, until + dayMillis) >= from)
          needed = Math.min(needed, outage.from - longestWait)
      }
    }
    return needed
  }

  /** Yields the events that the service receives, in order of publication. */
  *records(occurrences: Iterable<Occurrence>): IterableIterator<Recorded<Occurrence>> {
    for (const occurrence of occurrences) {
      const { time } = occurrence
      for (let sent = this.#nextUntil(time); sent !== undefined; sent = this.#nextUntil(time)) yield sent
      this.#take(occurrence)
    }
    for (let sent = this.#nextUntil(Infinity); sent !== undefined; sent = this.#nextUntil(Infinity)) yield sent
  }

  /** Returns the next event that is published up to a time. */
  #nextUntil(time: number): Recorded<Occurrence> | undefined {
    for (;;) {
      const later = this.#later.top
      const back = this.#returns.top
      const sent = this.#sent.top
      const next = Math.min(later?.at ?? Infinity, back?.at ?? Infinity, sent?.at ?? Infinity)
      if (next === Infinity || next > time) return undefined
      if (back?.at === next) {
        this.#returns.pop()
        this.#upload(back.controller, back.at)
      } else if (later?.at === next) {
        this.#later.pop()
        this.#take(later.occurrence)
      } else {
        return this.#sent.pop()
      }
    }
  }

  #take(occurrence: Occurrence): void {
    const { id, time } = occurrence
    const isCall = occurrence._tag === "Call"
    const door = isCall ? occurrence.panel.access_point : occurrence.access_point
    const controller = this.#controllers.get(door)
    if (controller === undefined) return this.#sent.push({ occurrence, at: time, logged_at: time })
    const outage = controller.outageAt(time)
    const needsConnection = isCall || occurrence.cause !== null
    if (outage === null ? this.#lost.has(occurrence.cause) : needsConnection) {
      if (isCall) this.#lost.add(id, time)
      return
    }
    const logged_at = controller.clockAt(time, outage)
    const rng = new Rng(child(this.#substream, id))
    if (!isCall && occurrence.release_status === "Unlocked") this.#addAlarms(occurrence, rng)
    if (outage === null) {
      const { delay } = this.#settings
      const wait = Math.min(longestWait, Math.floor(lognormal(rng, isCall ? delay.calls : delay.openings)))
      return this.#send({ occurrence, at: time + wait, logged_at }, rng)
    }
    const known = controller.stored.get(outage.until)
    if (known !== undefined) return void known.push({ occurrence, logged_at })
    controller.stored.set(outage.until, [{ occurrence, logged_at }])
    this.#returns.push({ at: outage.until, controller })
  }

  /** Sends what a controller stored. A full buffer has lost the oldest events. */
  #upload(controller: Controller, at: number): void {
    const { buffer, flush } = this.#settings
    const stored = controller.stored.get(at) ?? []
    controller.stored.delete(at)
    for (const [turn, own] of stored.slice(-buffer).entries()) {
      const rng = new Rng(child(child(this.#substream, "upload"), own.occurrence.id))
      const wait = Math.floor((turn * second) / flush.per_second) + Math.floor(between(rng, 0, flush.jitter))
      // During a further outage, the upload waits for the end of that outage.
      const outage = controller.outageAt(at + wait)
      this.#send({ ...own, at: (outage?.until ?? at) + wait }, rng)
    }
  }

  #send(record: Recorded<Occurrence>, rng: Rng): void {
    this.#sent.push(record)
    const { occurrence } = record
    const { repeats } = this.#settings
    if (occurrence._tag === "Call" || !chance(rng, repeats.share)) return
    const at = record.at + Math.floor(Math.min(longestWait, second + exponential(rng) * repeats.after))
    const id = occurrence.id + quarters.repeated * this.#quarter
    const again: Access = chance(rng, repeats.new_id) ? { ...occurrence, id, label: "repeated" } : occurrence
    this.#sent.push({ ...record, at, occurrence: again })
  }

  /** Adds the alarms that follow an opening: the door is held open, or the contact reports a forced door. */
  #addAlarms(opening: Access, rng: Rng): void {
    const { alarms } = this.#settings
    const add = (kind: "held" | "forced", release_status: Access["release_status"], wait: number) => {
      const id = opening.id + quarters[kind] * this.#quarter
      const time = opening.time + Math.floor(wait)
      const alarm = { name: "Unknown", tenant_ids: [], entry_method: "none", role: "other", cause: null } as const
      this.#later.push({ at: time, occurrence: { ...opening, ...alarm, id, time, release_status } })
    }
    if (chance(rng, alarms.held)) add("held", "Held open", between(rng, ...heldFor))
    if (chance(rng, alarms.forced)) add("forced", "Forced", Math.min(longestWait, exponential(rng) * 10 * 60 * second))
  }
}

/** Shares of answered calls that are answered at another device or rejected, and of others that the visitor ends. */
const ends = { elsewhere: 0.3, rejected: 0.05, hungUp: 0.3 } as const

/** Returns how long a call rings, in milliseconds, and why the ringing ends. */
const endOf = (
  { answered, ring_out }: Call,
  rng: Rng
): { readonly after: number; readonly reason: CallEnd["reason"] } => {
  const draw = rng.uniform()
  if (answered !== null) {
    const isElsewhere = draw < ends.elsewhere
    const reason = isElsewhere ? "answered_elsewhere" : draw < ends.elsewhere + ends.rejected ? "rejected" : "answered"
    return { after: answered, reason }
  }
  if (draw >= ends.hungUp) return { after: ring_out, reason: "missed" }
  return { after: Math.floor(ring_out * rng.uniform()), reason: "cancelled" }
}

/**
 * Adds the end of each call, in order of publication. `quarter`: numbers of ids between an event and the events that are
 * added to it.
 */
export function* withCallEnds(
  records: Iterable<Recorded<Occurrence>>,
  substream: Substream,
  quarter: number
): IterableIterator<Recorded> {
  const open = new Heap<Recorded>(isBefore)
  const own = child(substream, "call ends")
  for (const record of records) {
    for (let end = open.top; end !== undefined && isBefore(end, record); end = open.top) {
      open.pop()
      yield end
    }
    yield record
    const { at, logged_at, occurrence } = record
    if (occurrence._tag !== "Call") continue
    const { building_id, flow, id, tenant_ids, time } = occurrence
    const { after, reason } = endOf(occurrence, new Rng(child(own, id)))
    const ended = { _tag: "CallEnd", role: "other", label: null, cause: id, reason } as const
    const end = { ...ended, building_id, flow, tenant_ids, id: id + quarters.ended * quarter, time: time + after }
    open.push({ occurrence: end, at: at + after, logged_at: logged_at + after })
  }
  for (let end = open.pop(); end !== undefined; end = open.pop()) yield end
}
