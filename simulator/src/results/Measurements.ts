/**
 * All measurements of a run, in memory that doesn't depend on the length of the run. `totals` contains the counters for
 * the JSON report.
 */
import type { AttemptOutcome, DeliveryState } from "@doorhook/core"
import { noDeliveries } from "@doorhook/core"
import type { ReceiverDescription } from "../receivers/ReceiverText.ts"
import { undescribed } from "../receivers/ReceiverText.ts"
import { Histogram } from "./Histogram.ts"
import { Series } from "./Series.ts"

/** Counters of `totals`. */
export const noCounts = {
  /** Events that were due: planned = accepted + failed + unanswered. */
  planned: 0,
  accepted: 0,
  /** Events that were not accepted even after the last retry. */
  failed: 0,
  /** Events whose publish request was unanswered when the run ended. */
  unanswered: 0,
  /** Publish requests that were repeated. */
  republished: 0,
  /** Publish requests that had to wait because `--max-inflight` requests were open. */
  held: 0,
  deliveries: 0,
  delivered: 0,
  exhausted: 0,
  expired: 0,
  cancelled: 0,
  /** Cancelled deliveries whose call had ended. */
  call_ended: 0,
  skipped: 0,
  /** Deliveries that had not ended at the end of the run. */
  open: 0,
  /** Accepted events whose deliveries were not tracked. */
  unfollowed: 0,
  /** Requests sent to receivers, including those that were cut off. */
  requests: 0,
  /** Requests whose event a modelled receiver had already processed. */
  duplicates: 0,
  /**
   * Maximum number of deliveries open at the same time, and the time of this peak, in milliseconds since the beginning.
   */
  backlog: 0,
  backlog_at: 0,
  /** Maximum number of requests to receivers open at the same time. */
  most_in_flight: 0,
  /** First requests of deliveries that began before the end of the load, or in time. */
  begun: 0,
  /** Deliveries that were accepted before the end of the load. */
  offered: 0,
  /** Maximum number of events planned, and of requests begun, in one minute; and of requests begun in one second. */
  peak_planned: 0,
  peak_requests: 0,
  peak_second: 0
}
export type Counters = typeof noCounts

/** Outcome of a request to a receiver. `cut_off`: the sending process died. `in_flight`: the run ended first. */
export type Outcome = AttemptOutcome | "cut_off" | "in_flight" | "not_sampled"

/**
 * Deliveries that wait because their receiver is down. A delivery counts from its first refused connection until it
 * ends.
 */
interface Outage {
  open: number
  /**
   * Maximum number of deliveries that wait at the same time, and the time of this peak, in milliseconds since the
   * beginning; null if none waited.
   */
  most_open: number
  most_open_at: number | null
  /** Times, after the peak, at which the first delivery succeeded and at which no delivery was waiting anymore. */
  delivered_at: number | null
  empty_at: number | null
  exhausted: number
  cancelled: number
}

/** Totals of one integration. */
export interface IntegrationTotals {
  readonly name: string
  readonly receiver: ReceiverDescription
  readonly states: Record<DeliveryState, number>
  deliveries: number
  requests: number
  duplicates: number
  open: number
  most_open: number
  most_open_at: number
  empty_at: number | null
  /** Null if no down time is modelled for the receiver. */
  readonly outage: Outage | null
  readonly ack: Histogram
}

/** Longest delay of an event or of a first request that is in time, in milliseconds. */
export const inTime = 1_000

/** Largest number of requests with its own count of deliveries. This count includes deliveries with more requests. */
const mostRequests = 16

/**
 * Whether an outcome means that a modelled receiver is down: no other trait refuses connections, and only a receiver that
 * swallows requests counts by its timeouts.
 */
const isDown = (outcome: Outcome, { down }: ReceiverDescription): boolean =>
  outcome === "connection_refused" || (outcome === "timeout" && down.some(({ swallows }) => swallows))

export const latencies = ["ack", "answer", "delivery", "queued", "intended", "service", "late_start"] as const
export type LatencyName = (typeof latencies)[number]

/** Sample of deliveries whose attempts are looked up at a service: its size, failed lookups, and why one failed. */
export interface Sample {
  wanted: number
  failed: number
  why: string | null
}

/**
 * `ack`: duration of acknowledged requests to receivers. `answer`: duration of all requests to receivers. `delivery`: from
 * acceptance to acknowledgement. `queued`: from acceptance to the first request. `intended`: publish latency from the
 * planned time. `service`: publish latency from the actual start. `late_start`: from the planned time to the actual start.
 */
export type Latencies = Readonly<Record<LatencyName, Histogram>>

const noLatencies = (): Latencies => ({
  ack: new Histogram(),
  answer: new Histogram(),
  delivery: new Histogram(),
  queued: new Histogram(),
  intended: new Histogram(),
  service: new Histogram(),
  late_start: new Histogram()
})

/** Latencies and settled deliveries of one resource type. */
export interface TypeFigures {
  readonly latency: Latencies
  readonly states: Record<DeliveryState, number>
}

export class Measurements {
  readonly totals: Counters = { ...noCounts }
  readonly series = new Series()
  readonly latency: Latencies = noLatencies()
  readonly types = new Map<string, TypeFigures>()
  readonly integrations = new Map<number, IntegrationTotals>()
  /** Settled deliveries by their number of requests. */
  readonly attemptsPerDelivery: Array<number> = Array.from({ length: mostRequests + 1 }, () => 0)
  readonly outcomes: Partial<Record<Outcome, number>> = {}
  /** Statuses of the answers that did not acknowledge. */
  readonly statuses: Record<string, number> = {}
  readonly sample: Sample = { wanted: 0, failed: 0, why: null }
  lastFailure: string | null = null
  /** Whether events are still being published. */
  isLoading = true
  readonly #second = { at: -1, count: 0 }
  /** Time, in milliseconds since the beginning, before which latencies are left out. */
  readonly warmUp: number

  constructor(warmUp = 0) {
    this.warmUp = warmUp
  }

  /** Returns the figures of a resource type, creating them on first use. */
  ofType(name: string): TypeFigures {
    const known = this.types.get(name) ?? { latency: noLatencies(), states: { ...noDeliveries } }
    this.types.set(name, known)
    return known
  }

  #time(name: LatencyName, time: number, millis: number, type: string | null): void {
    if (time < this.warmUp) return
    this.latency[name].add(millis)
    if (type !== null) this.ofType(type).latency[name].add(millis)
  }

  /**
   * Counts an event that is due. `planned` is in milliseconds since the beginning. So is `stored`: the time since which an
   * offline device had stored the event; null if none had.
   */
  plan(planned: number, stored: number | null = null): void {
    if (stored !== null) {
      this.series.count(Math.max(0, stored), "stored")
      this.series.count(planned, "uploaded")
    }
    this.totals.planned++
    this.totals.unanswered++
    this.series.countPeak(planned, "planned")
    this.totals.peak_planned = Math.max(this.totals.peak_planned, this.series.at(planned).peak_planned)
  }

  /** Counts an event whose sending begins. `late`: delay after the planned time; null without a schedule. */
  start(planned: number, started: number, late: number | null, type: string | null = null): void {
    this.series.count(started, "sent")
    if (late !== null) this.#time("late_start", planned, late, type)
  }

  /**
   * Counts an accepted event. `intended`: time since its planned time; null without a schedule. `service`: time since
   * sending began.
   */
  accept(intended: number | null, service: number, time = Infinity, type: string | null = null): void {
    this.totals.accepted++
    this.totals.unanswered--
    if (intended !== null) this.#time("intended", time, intended, type)
    this.#time("service", time, service, type)
    if (time !== Infinity) this.series.at(time).publish.add(intended ?? service)
  }

  /** Counts events that were not accepted even after the last retry. */
  fail(time: number, count: number, why: string): void {
    this.totals.failed += count
    this.totals.unanswered -= count
    this.lastFailure = why
    this.series.count(time, "failed", count)
  }

  /** Counts a repeated publish request. */
  republish(time: number): void {
    this.totals.republished++
    this.series.count(time, "republished")
  }

  /** Counts a new open delivery. */
  deliver(time: number, integration: IntegrationTotals): void {
    const { totals } = this
    totals.deliveries++
    totals.open++
    if (this.isLoading) totals.offered++
    integration.deliveries++
    integration.open++
    if (integration.open > integration.most_open) {
      integration.most_open = integration.open
      integration.most_open_at = time
      integration.empty_at = null
    }
    if (totals.open > totals.backlog) {
      totals.backlog = totals.open
      totals.backlog_at = time
    }
    this.series.open(time, totals.open)
  }

  /** Counts a request that begins. `queued`: time since the acceptance of its event; null for a retry. */
  begin(time: number, queued: number | null, type: string | null): void {
    const { totals } = this
    this.series.countPeak(time, "requests")
    totals.peak_requests = Math.max(totals.peak_requests, this.series.at(time).peak_requests)
    const at = Math.floor(time / 1_000)
    if (at !== this.#second.at) Object.assign(this.#second, { at, count: 0 })
    totals.peak_second = Math.max(totals.peak_second, ++this.#second.count)
    if (queued === null) return this.series.count(time, "retries")
    if (this.isLoading || queued <= inTime) totals.begun++
    this.#time("queued", time, queued, type)
  }

  /** Takes back a request that was counted by `begin` but was not sent. Its wait stays: it had to wait that long. */
  unsent(time: number, isFirst: boolean): void {
    this.series.count(time, "requests", -1)
    if (!isFirst) return this.series.count(time, "retries", -1)
    if (this.totals.begun > 0) this.totals.begun--
  }

  /**
   * Counts an ended or abandoned request to a receiver, at the time at which it began. `took` is its duration, null if
   * unknown.
   */
  request(
    time: number,
    integration: IntegrationTotals | null,
    outcome: Outcome,
    took: number | null,
    { status = null, type = null }: { readonly status?: number | null; readonly type?: string | null } = {}
  ): void {
    this.totals.requests++
    if (integration !== null) integration.requests++
    this.#ended(time, outcome, took, status, type)
    if (outcome === "acknowledged" && took !== null && time >= this.warmUp) integration?.ack.add(took)
  }

  /** Counts a request in the sample that was looked up at a service. `age`: age of the event when the request ended. */
  sampled(time: number, outcome: AttemptOutcome, took: number, age: number, status: number | null = null): void {
    this.#ended(time, outcome, took, status, null)
    if (outcome === "acknowledged") this.#time("delivery", time, age, null)
  }

  #ended(time: number, outcome: Outcome, took: number | null, status: number | null, type: string | null): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
    if (outcome === "bad_status" && status !== null) this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (outcome === "acknowledged") this.series.count(time, "acknowledged")
    if (took === null) return
    this.series.at(time).answer.add(took)
    this.#time("answer", time, took, type)
    if (outcome === "acknowledged") this.#time("ack", time, took, type)
  }

  /** Counts a request whose event the receiver had already processed. */
  duplicate(time: number, integration: IntegrationTotals): void {
    this.totals.duplicates++
    integration.duplicates++
    this.series.count(time, "duplicates")
  }

  /** Counts a settled delivery. */
  settle(
    time: number,
    integration: IntegrationTotals,
    state: DeliveryState,
    requests: number,
    age: number,
    type: string | null = null
  ): void {
    this.#settled(integration, state, requests)
    if (type !== null) this.ofType(type).states[state]++
    integration.open--
    if (integration.open === 0) integration.empty_at ??= time
    this.totals.open--
    if (state === "delivered") this.#time("delivery", time, age, type)
    this.series.open(time, this.totals.open)
  }

  #settled(integration: IntegrationTotals, state: DeliveryState, requests: number): void {
    integration.states[state]++
    if (state === "pending" || state === "delivering" || state === "retrying") return void this.totals.open++
    this.totals[state]++
    const place = Math.min(requests, mostRequests)
    this.attemptsPerDelivery[place] = (this.attemptsPerDelivery[place] ?? 0) + 1
  }

  /** Counts a delivery reported by a service. For most deliveries, only the number of requests is known. */
  reported(integration: IntegrationTotals, state: DeliveryState, requests: number): void {
    this.totals.deliveries++
    integration.deliveries++
    this.totals.requests += requests
    integration.requests += requests
    this.#settled(integration, state, requests)
  }

  /** Counts a delivery as waiting if the outcome shows that its receiver is down. Returns whether it was counted. */
  outageBegan(time: number, { outage, receiver }: IntegrationTotals, outcome: Outcome): boolean {
    if (!isDown(outcome, receiver)) return false
    if (outage === null || ++outage.open <= outage.most_open) return true
    Object.assign(outage, { most_open: outage.open, most_open_at: time, delivered_at: null, empty_at: null })
    return true
  }

  /** Counts a delivery that no longer waits for its receiver; `state` is null if its call has ended. */
  outageEnded(time: number, { outage }: IntegrationTotals, state: DeliveryState | null): void {
    if (outage === null) return
    outage.open--
    if (state === "delivered" && outage.empty_at === null) outage.delivered_at ??= time
    if (state === "exhausted" || state === "cancelled") outage[state]++
    if (outage.open === 0) outage.empty_at ??= time
  }

  /** Returns the totals of an integration, creating them on first use. */
  integration(id: number, name: string, receiver: ReceiverDescription = undescribed): IntegrationTotals {
    const known = this.integrations.get(id)
    if (known !== undefined) return known
    const noOutage: Outage = {
      open: 0,
      most_open: 0,
      most_open_at: null,
      delivered_at: null,
      empty_at: null,
      exhausted: 0,
      cancelled: 0
    }
    const made: IntegrationTotals = {
      name,
      receiver,
      states: { ...noDeliveries },
      deliveries: 0,
      requests: 0,
      duplicates: 0,
      open: 0,
      most_open: 0,
      most_open_at: 0,
      empty_at: null,
      outage: receiver.down.length > 0 ? noOutage : null,
      ack: new Histogram()
    }
    this.integrations.set(id, made)
    return made
  }
}
