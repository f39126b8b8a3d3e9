/**
 * Everything a run measures, in memory that does not depend on how long it is. A report is made of it at any time.
 */
import type { AttemptOutcome, DeliveryState } from "@doorhook/core"
import { activeStates, noDeliveries } from "@doorhook/core"
import type { LocalClock } from "../receivers/LocalClock.ts"
import type { ReceiverDescription } from "../receivers/ReceiverText.ts"
import { undescribed } from "../receivers/ReceiverText.ts"
import { Histogram } from "./Histogram.ts"
import { Outage } from "./Outage.ts"
import type { Sending } from "../plan/Disorder.ts"
import type { RunSummary } from "./RunSummary.ts"
import { summaryOf } from "./RunSummary.ts"
import { Series } from "./Series.ts"

/** What one integration got. */
export interface IntegrationTotals {
  readonly name: string
  /** Its receiver, as it is described; nothing for a real one. */
  readonly receiver: ReceiverDescription
  readonly states: Record<DeliveryState, number>
  deliveries: number
  attempts: number
  /** Requests that its receiver had processed before. */
  duplicates: number
  open: number
  mostOpen: number
  /** Since the beginning: when the most were open, and when none was for the first time after that. */
  mostOpenAt: number
  emptyAt: number | null
  /** What waited because its receiver was down; null where that is not modelled. */
  readonly outage: Outage | null
  readonly ack: Histogram
}

const hours = 24
const weekdays = 7

/** The most attempts that are told apart. */
const mostAttempts = 16

export class Measurements {
  readonly series = new Series()
  /** From the time that the plan says to the answer of whoever took the event in; none without a schedule. */
  readonly intended = new Histogram()
  /** From the actual start of sending to that answer. */
  readonly service = new Histogram()
  /** How much later than intended sending began; none where there is no schedule to keep. */
  readonly lateStart = new Histogram()
  /** How long acknowledged requests to receivers took. */
  readonly ack = new Histogram()
  /** How long all requests took, acknowledged or not. */
  readonly answer = new Histogram()
  /** From an event's acceptance to its acknowledgement by a receiver, over all attempts. */
  readonly delivery = new Histogram()
  readonly integrations = new Map<number, IntegrationTotals>()
  /** Events by weekday (0 is Sunday) and hour of their building. */
  readonly week: ReadonlyArray<ReadonlyArray<number>>
  readonly #week: ReadonlyArray<Array<number>>
  /** How many settled deliveries took so many attempts; the last one is «or more». */
  readonly attemptsPerDelivery: Array<number> = Array.from({ length: mostAttempts + 1 }, () => 0)
  readonly outcomes = new Map<AttemptOutcome, number>()
  /** Statuses of answers that did not acknowledge. */
  readonly statuses = new Map<number, number>()
  readonly states: Record<DeliveryState, number> = { ...noDeliveries }
  planned = 0
  accepted = 0
  /** Events that were not taken in, after all retries, and why the last were not. */
  refused = 0
  lastFailure: string | null = null
  /** Requests to publish that were made again. */
  retries = 0
  /** Deliveries that whoever took events in said it made of them. */
  promised = 0
  /** Events sent a second time on purpose. */
  repeated = 0
  /** Events sent out of order, or late, on purpose. */
  reordered = 0
  delayed = 0
  deliveries = 0
  /** Accepted events that nobody was asked about, because there are too many of them. */
  unfollowed = 0
  attempts = 0
  duplicates = 0
  open = 0
  mostOpen = 0
  mostOpenAt = 0
  /** Requests to receivers open at once, at most. */
  mostInFlight = 0

  constructor() {
    this.#week = Array.from({ length: weekdays }, () => Array.from({ length: hours }, () => 0))
    this.week = this.#week
  }

  /** The sending of an event begins, so much later than its schedule says; null where it has none. */
  start(kind: Sending["kind"], late: number | null): void {
    this.planned++
    if (kind !== "planned") this[kind]++
    if (late !== null) this.lateStart.add(late)
  }

  /** When it was intended and when its sending began, since the beginning; and the instant by its building's clock. */
  place(intended: number, started: number, instant: number, clock: LocalClock): void {
    this.series.at(intended).planned++
    this.series.at(started).sent++
    const { hour, weekday } = clock.at(instant)
    const day = this.#week[weekday]
    if (day !== undefined) day[hour] = (day[hour] ?? 0) + 1
  }

  /** How publishing stands. */
  get summary(): RunSummary {
    return summaryOf(this)
  }

  /** It was accepted, so long after its time, if it had one, and after its sending began. */
  accept(intended: number | null, service: number): void {
    this.accepted++
    if (intended !== null) this.intended.add(intended)
    this.service.add(service)
  }

  /** A delivery is open from now on. */
  deliver(time: number, integration: IntegrationTotals): void {
    this.deliveries++
    integration.deliveries++
    integration.open++
    if (integration.open > integration.mostOpen) {
      integration.mostOpen = integration.open
      integration.mostOpenAt = time
      integration.emptyAt = null
    }
    this.open++
    if (this.open > this.mostOpen) {
      this.mostOpen = this.open
      this.mostOpenAt = time
    }
    this.series.open(time, this.open)
  }

  /** A request to a receiver has ended; with a status where it was answered. */
  attempt(
    time: number,
    integration: IntegrationTotals,
    outcome: AttemptOutcome,
    took: number,
    status: number | null = null
  ): void {
    this.attempts++
    integration.attempts++
    this.ended(time, outcome, took, status)
    if (outcome === "acknowledged") integration.ack.add(took)
  }

  /** A receiver got what it had processed before. */
  duplicate(time: number, integration: IntegrationTotals): void {
    this.duplicates++
    integration.duplicates++
    this.series.at(time).duplicates++
  }

  /** A delivery is settled for good. */
  settle(time: number, integration: IntegrationTotals, state: DeliveryState, attempts: number, age: number): void {
    this.states[state]++
    integration.states[state]++
    integration.open--
    if (integration.open === 0) integration.emptyAt ??= time
    this.open--
    this.countAttempts(attempts)
    if (state === "delivered") this.delivery.add(age)
    this.series.open(time, this.open)
  }

  /** A service says how a delivery stands. */
  told(integration: IntegrationTotals, state: DeliveryState, attempts: number): void {
    this.deliveries++
    integration.deliveries++
    this.states[state]++
    integration.states[state]++
    this.attempts += attempts
    integration.attempts += attempts
    if (!activeStates.some((active) => active === state)) this.countAttempts(attempts)
  }

  /** One of some attempts that a service was asked for; `age` is that of its event when it ended. */
  sampled(time: number, outcome: AttemptOutcome, took: number, age: number, status: number | null = null): void {
    this.ended(time, outcome, took, status)
    if (outcome === "acknowledged") this.delivery.add(age)
  }

  /** How an attempt that is known ended, and when. */
  private ended(time: number, outcome: AttemptOutcome, took: number, status: number | null): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
    if (outcome === "bad_status" && status !== null) this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const interval = this.series.at(time)
    interval.attempts++
    interval.answer.add(took)
    this.answer.add(took)
    if (outcome !== "acknowledged") return
    interval.acknowledged++
    this.ack.add(took)
  }

  /** A delivery that is settled took so many attempts. */
  private countAttempts(attempts: number): void {
    const place = Math.min(attempts, mostAttempts)
    this.attemptsPerDelivery[place] = (this.attemptsPerDelivery[place] ?? 0) + 1
  }

  /** The totals of an integration, made when it is first heard of. */
  integration(id: number, name: string, receiver: ReceiverDescription = undescribed): IntegrationTotals {
    const known = this.integrations.get(id)
    if (known !== undefined) return known
    const made: IntegrationTotals = {
      name,
      receiver,
      states: { ...noDeliveries },
      deliveries: 0,
      attempts: 0,
      duplicates: 0,
      open: 0,
      mostOpen: 0,
      mostOpenAt: 0,
      emptyAt: null,
      outage: receiver.down.length > 0 ? new Outage() : null,
      ack: new Histogram()
    }
    this.integrations.set(id, made)
    return made
  }
}
