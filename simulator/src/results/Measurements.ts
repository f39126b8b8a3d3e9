/**
 * Everything that a run measures, in memory that does not depend on how long it is. `totals` is the record of counters that
 * the JSON report holds.
 */
import type { AttemptOutcome, DeliveryState } from "@doorhook/core"
import { noDeliveries } from "@doorhook/core"
import type { ReceiverDescription } from "../receivers/ReceiverText.ts"
import { undescribed } from "../receivers/ReceiverText.ts"
import { Histogram } from "./Histogram.ts"
import { Series } from "./Series.ts"

/** What `totals` counts. */
export const noCounts = {
  /** Events whose time has come: planned = accepted + failed + unanswered. */
  planned: 0,
  accepted: 0,
  /** Events that were not accepted after all retries. */
  failed: 0,
  /** Events whose publishing had no answer when the run ended. */
  unanswered: 0,
  /** Requests to publish that were made again. */
  republished: 0,
  /** Requests to publish that waited because `--max-inflight` requests were open. */
  held: 0,
  deliveries: 0,
  delivered: 0,
  exhausted: 0,
  expired: 0,
  cancelled: 0,
  skipped: 0,
  /** Deliveries that had not ended when the run did. */
  open: 0,
  /** Accepted events whose deliveries were not looked up, because there are too many. */
  unfollowed: 0,
  /** Requests to receivers: all that left, cut-off ones included. */
  requests: 0,
  /** Requests that a modelled receiver had processed before. */
  duplicates: 0,
  /** The most deliveries open at once, and when, since the beginning. */
  backlog: 0,
  backlog_at: 0,
  /** The most requests to receivers open at once. */
  most_in_flight: 0,
  /** The most events planned, and requests made, in one minute. */
  peak_planned: 0,
  peak_requests: 0
}
export type Counters = typeof noCounts

/** How a request to a receiver ended. `cut_off`: its process died; `in_flight`: the run ended before it. */
export type Outcome = AttemptOutcome | "cut_off" | "in_flight" | "not_sampled"

/** Deliveries that wait because their receiver is down: each from its first refusal to its end. */
interface Outage {
  open: number
  /** In the worst outage, and when, since the beginning; null when nothing waited. */
  most_open: number
  most_open_at: number | null
  /** After that: when the first was delivered, and when none was left. */
  delivered_at: number | null
  empty_at: number | null
  exhausted: number
  cancelled: number
}

/** What one integration got. */
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
  /** Null where its receiver is not modelled as down. */
  readonly outage: Outage | null
  readonly ack: Histogram
}

/** Requests of a delivery that are counted one by one; the last place is "or more". */
const mostRequests = 16

/** Requests that were sent, of a modelled receiver that is down, connections are refused. No other trait does that. */
const isDown = (outcome: Outcome): boolean => outcome === "connection_refused"

export const latencies = ["ack", "answer", "delivery", "intended", "service", "late_start"] as const
export type LatencyName = (typeof latencies)[number]

/** Deliveries looked up at a service. */
export interface Sample {
  wanted: number
  failed: number
  why: string | null
}

export class Measurements {
  readonly totals: Counters = { ...noCounts }
  readonly series = new Series()
  /**
   * `ack` and `answer`: requests to receivers, acknowledged ones and all. `delivery`: from acceptance to acknowledgement.
   * `intended` and `service`: publishing, from the planned time and from the actual start. `late_start`: between these two.
   */
  readonly latency: Readonly<Record<LatencyName, Histogram>> = {
    ack: new Histogram(),
    answer: new Histogram(),
    delivery: new Histogram(),
    intended: new Histogram(),
    service: new Histogram(),
    late_start: new Histogram()
  }
  readonly integrations = new Map<number, IntegrationTotals>()
  /** Settled deliveries by how many requests they took. */
  readonly attemptsPerDelivery: Array<number> = Array.from({ length: mostRequests + 1 }, () => 0)
  readonly outcomes: Partial<Record<Outcome, number>> = {}
  /** Statuses of answers that did not acknowledge. */
  readonly statuses: Record<string, number> = {}
  readonly sample: Sample = { wanted: 0, failed: 0, why: null }
  lastFailure: string | null = null
  /** Latencies of the time before, in milliseconds since the beginning, are left out. */
  readonly warmUp: number

  constructor(warmUp = 0) {
    this.warmUp = warmUp
  }

  #time(name: LatencyName, time: number, millis: number): void {
    if (time >= this.warmUp) this.latency[name].add(millis)
  }

  /** The time of an event has come, in milliseconds since the beginning. */
  plan(planned: number): void {
    this.totals.planned++
    this.totals.unanswered++
    this.series.countPeak(planned, "planned")
    this.totals.peak_planned = Math.max(this.totals.peak_planned, this.series.at(planned).peak_planned)
  }

  /** Its sending begins, this much later than planned; null without a schedule. */
  start(planned: number, started: number, late: number | null): void {
    this.series.count(started, "sent")
    if (late !== null) this.#time("late_start", planned, late)
  }

  /** It was accepted, this long after its planned time, if it has one, and after its sending began. */
  accept(intended: number | null, service: number, time = Infinity): void {
    this.totals.accepted++
    this.totals.unanswered--
    if (intended !== null) this.#time("intended", time, intended)
    this.#time("service", time, service)
    if (time !== Infinity) this.series.at(time).publish.add(intended ?? service)
  }

  /** Events were not accepted, after all retries. */
  fail(time: number, count: number, why: string): void {
    this.totals.failed += count
    this.totals.unanswered -= count
    this.lastFailure = why
    this.series.count(time, "failed", count)
  }

  /** A request to publish is made again. */
  republish(time: number): void {
    this.totals.republished++
    this.series.count(time, "republished")
  }

  /** A delivery is open from now on. */
  deliver(time: number, integration: IntegrationTotals): void {
    const { totals } = this
    totals.deliveries++
    totals.open++
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

  /** A request to a receiver has ended, or is given up; `took` is null where that is not known. */
  request(
    time: number,
    integration: IntegrationTotals | null,
    outcome: Outcome,
    took: number | null,
    { isRetry = false, status = null }: { readonly isRetry?: boolean; readonly status?: number | null } = {}
  ): void {
    this.totals.requests++
    if (integration !== null) integration.requests++
    this.series.countPeak(time, "requests")
    this.totals.peak_requests = Math.max(this.totals.peak_requests, this.series.at(time).peak_requests)
    if (isRetry) this.series.count(time, "retries")
    this.#ended(time, outcome, took, status)
    if (outcome === "acknowledged") integration?.ack.add(took ?? 0)
  }

  /** A request of a service's sample; `age` is that of its event when it ended. */
  sampled(time: number, outcome: AttemptOutcome, took: number, age: number, status: number | null = null): void {
    this.#ended(time, outcome, took, status)
    if (outcome === "acknowledged") this.#time("delivery", time, age)
  }

  #ended(time: number, outcome: Outcome, took: number | null, status: number | null): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
    if (outcome === "bad_status" && status !== null) this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (outcome === "acknowledged") this.series.count(time, "acknowledged")
    if (took === null) return
    this.series.at(time).answer.add(took)
    this.#time("answer", time, took)
    if (outcome === "acknowledged") this.#time("ack", time, took)
  }

  /** A receiver got what it had processed before. */
  duplicate(time: number, integration: IntegrationTotals): void {
    this.totals.duplicates++
    integration.duplicates++
    this.series.count(time, "duplicates")
  }

  /** A delivery is settled for good. */
  settle(time: number, integration: IntegrationTotals, state: DeliveryState, requests: number, age: number): void {
    this.#settled(integration, state, requests)
    integration.open--
    if (integration.open === 0) integration.empty_at ??= time
    this.totals.open--
    if (state === "delivered") this.#time("delivery", time, age)
    this.series.open(time, this.totals.open)
  }

  #settled(integration: IntegrationTotals, state: DeliveryState, requests: number): void {
    integration.states[state]++
    if (state === "pending" || state === "delivering" || state === "retrying") return void this.totals.open++
    this.totals[state]++
    const place = Math.min(requests, mostRequests)
    this.attemptsPerDelivery[place] = (this.attemptsPerDelivery[place] ?? 0) + 1
  }

  /** A service reported a delivery. Most of its requests are known by number alone. */
  reported(integration: IntegrationTotals, state: DeliveryState, requests: number): void {
    this.totals.deliveries++
    integration.deliveries++
    this.totals.requests += requests
    integration.requests += requests
    this.#settled(integration, state, requests)
  }

  /** A delivery waits because its receiver is down. */
  outageBegan(time: number, { outage }: IntegrationTotals, outcome: Outcome): boolean {
    if (!isDown(outcome)) return false
    if (outage === null || ++outage.open <= outage.most_open) return true
    Object.assign(outage, { most_open: outage.open, most_open_at: time, delivered_at: null, empty_at: null })
    return true
  }

  /** It waits no longer. */
  outageEnded(time: number, { outage }: IntegrationTotals, state: DeliveryState): void {
    if (outage === null) return
    outage.open--
    if (state === "delivered" && outage.empty_at === null) outage.delivered_at ??= time
    if (state === "exhausted" || state === "cancelled") outage[state]++
    if (outage.open === 0) outage.empty_at ??= time
  }

  /** The totals of an integration, made at its first mention. */
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
