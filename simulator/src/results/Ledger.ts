/**
 * Follows every delivery of an engine that the simulator runs, from acceptance to end, and checks four rules.
 * Deliveries that have ended are dropped, so memory depends only on the backlog. The simulation of the engine
 * (`packages/simulation`) checks more rules, on whole histories of small worlds.
 */
import type {
  AttemptOutcome,
  DeliveryId,
  DeliveryState,
  DeliverySummary,
  Event,
  EventId,
  IntegrationId,
  Settlement,
  TransportResult
} from "@doorhook/core"
import { callLifetime, deliveryStates, RetryPolicy } from "@doorhook/core"
import { acknowledges, flawOf, flawOfStart, retryAfterOf } from "./DeliveryRules.ts"
import type { IntegrationTotals, Measurements } from "./Measurements.ts"

export const rules = {
  "nothing-lost":
    "Every accepted event gets a delivery for each integration it matches. Each delivery ends or waits for a retry. Only deliveries of disabled integrations are skipped",
  "retry-times":
    "A retry is sent after the delay in its schedule (plus up to a fifth), after Retry-After, or early after an outage. No delivery is given up before its schedule ends, and no call is sent after its lifetime",
  "nothing-after-end": "Nothing is sent after a delivery has ended, or to an integration that is deleted or disabled",
  "delivered-is-received": "A delivery in state delivered was answered with 200 in time"
} as const
export type RuleName = keyof typeof rules

/** A broken rule. `at` is in milliseconds since the epoch. */
export interface Violation {
  readonly rule: RuleName
  readonly what: string
  readonly at: number
}

/** How long after the end of a call other processes may still send it, besides the tolerance, in milliseconds. */
const heardWithin = 1_000

/** A call that began, ended or both within `callLifetime`. */
interface FollowedCall {
  readonly at: number
  readonly deliveries: Array<Tracked>
  endedAt: number | null
}

/** Maximum number of violations to describe. Further violations are only counted. */
const mostDescribed = 20

export interface LedgerOptions {
  readonly measurements: Measurements
  /** Returns the position of an instant on the report's axis, in milliseconds since the beginning. */
  readonly timeOf: (instant: number) => number
  readonly retry: RetryPolicy.RetryPolicies
  readonly ackTimeout: number
  /** Maximum difference between the clocks of the engine and the ledger, in milliseconds. */
  readonly tolerance: number
  /** Maximum wait of a due retry while a slot is free, in milliseconds; null to skip this check. */
  readonly slack: number | null
}

export interface Tracked {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly totals: IntegrationTotals
  /** Recorded attempts. */
  attempts: number
  /** Number of failed early attempts. */
  early: number
  /** Regular due time of the next attempt if it is sent early, else null. */
  earlyOf: number | null
  requests: number
  /** Time at which the latest request began. */
  begunAt: number
  isOpen: boolean
  processed: boolean
  /** Whether the delivery is counted as waiting for a receiver that is down. */
  refused: boolean
  dueAt: number | null
  last: TransportResult | null
  lastEnd: number
  /** Time at which the delivery was last stored, sent, answered or settled. */
  movedAt: number
}

export class Ledger {
  readonly violations: Array<Violation> = []
  /** Number of settled deliveries that retention deleted. */
  purged = 0
  /** Number of open deliveries that don't wait for a retry. */
  moving = 0
  /** Number of violations, including those without a description. */
  broken = 0
  readonly #options: LedgerOptions
  readonly #byId = new Map<DeliveryId, Tracked>()
  readonly #byIntegration = new Map<IntegrationId, Map<string, Tracked>>()
  readonly #ended = new Set<IntegrationId>()
  /** Unanswered requests. */
  readonly #inFlight = new Set<Tracked>()
  /**
   * Deliveries stored as skipped or cancelled although their integration was not known to be disabled or deleted: the
   * first for each integration, and their number.
   */
  readonly #unsent = new Map<IntegrationId, { readonly first: string; count: number }>()
  readonly #brokenIn = new Map<RuleName, number>()
  /** Calls by `callKeyOf`, the oldest first. */
  readonly #calls = new Map<string, FollowedCall>()
  /** Deliveries of calls that ended a moment ago, by integration and event. */
  readonly #late = new Map<string, { readonly tracked: Tracked; readonly until: number }>()
  /** Until this time, retries may be late because no slot was free or no process was running. */
  #busyAt = Number.NEGATIVE_INFINITY

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** Number of deliveries that have not ended. */
  get open(): number {
    return this.#byId.size
  }

  /** Records that no slot is free or no process is running until this time, which can lie in the future. */
  busy(until: number): void {
    this.#busyAt = Math.max(this.#busyAt, until)
  }

  /** Records a stored delivery. `call`: the key of the call that its event begins, if calls have ends. */
  stored(
    id: DeliveryId,
    state: DeliveryState,
    event: Event,
    integration: IntegrationId,
    totals: IntegrationTotals,
    call: string | null = null
  ): void {
    const { measurements, timeOf } = this.#options
    measurements.deliver(timeOf(event.created_at), totals)
    const tracked: Tracked = {
      id,
      event,
      integration_id: integration,
      totals,
      attempts: 0,
      early: 0,
      earlyOf: null,
      requests: 0,
      begunAt: 0,
      isOpen: false,
      processed: false,
      refused: false,
      dueAt: null,
      last: null,
      lastEnd: 0,
      movedAt: event.created_at
    }
    this.#byId.set(id, tracked)
    const siblings = this.#byIntegration.get(integration) ?? new Map<EventId, Tracked>()
    this.#byIntegration.set(integration, siblings)
    siblings.set(event.id, tracked)
    this.moving++
    const followed = call === null ? null : this.#call(call, event.created_at)
    followed?.deliveries.push(tracked)
    if (state !== "skipped" && state !== "cancelled") return
    if (state === "cancelled" && followed !== null && followed.endedAt !== null)
      return this.#callEnded(tracked, event.created_at)
    this.#end(tracked, state, event.created_at)
    if (this.#ended.has(integration)) return
    const unsent = this.#unsent.get(integration) ?? { first: `delivery ${id} was stored as ${state}`, count: 0 }
    unsent.count++
    this.#unsent.set(integration, unsent)
  }

  /**
   * Records the end of a call, which cancels the call's open deliveries. Returns the integrations concerned, of which
   * other processes must be informed.
   */
  callEnded(call: string, now: number): ReadonlyArray<IntegrationId> {
    const followed = this.#call(call, now)
    followed.endedAt = now
    const open = followed.deliveries.filter(({ id }) => this.#byId.has(id))
    for (const tracked of open) this.#callEnded(tracked, now)
    return open.map(({ integration_id }) => integration_id)
  }

  #callEnded(tracked: Tracked, now: number): void {
    this.#options.measurements.totals.call_ended++
    this.#end(tracked, "cancelled", now, true)
    const until = now + this.#options.tolerance + heardWithin
    this.#late.set(`${tracked.integration_id} ${tracked.event.id}`, { tracked, until })
  }

  #call(key: string, now: number): FollowedCall {
    for (const [other, { at }] of this.#calls) {
      if (at + callLifetime > now) break
      this.#calls.delete(other)
    }
    for (const [other, { until }] of this.#late) {
      if (until >= now) break
      this.#late.delete(other)
    }
    const known = this.#calls.get(key)
    if (known !== undefined) return known
    const followed = { at: now, deliveries: [], endedAt: null }
    this.#calls.set(key, followed)
    return followed
  }

  /** Checks that an event was stored with a delivery to each integration that it matches. */
  matched(event: Event, to: ReadonlyArray<IntegrationId>, wanted: ReadonlySet<IntegrationId>): void {
    const reached = new Set(to.filter((id) => wanted.has(id))).size
    if (to.length === wanted.size && reached === wanted.size) return
    const what = `event ${event.id} went to ${to.join(", ") || "nobody"} instead of ${[...wanted].join(", ") || "nobody"}`
    this.report("nothing-lost", event.created_at, what, Math.max(1, wanted.size - reached))
  }

  /** Records a request. Returns null if the request belongs to no open delivery. */
  requested(integration: IntegrationId, webhookId: string, attempt: number, now: number): Tracked | null {
    const { measurements, timeOf } = this.#options
    const tracked = this.#byIntegration.get(integration)?.get(webhookId)
    if (tracked === undefined || this.#ended.has(integration)) {
      const late = this.#late.get(`${integration} ${webhookId}`)
      if (late !== undefined && now <= late.until) return this.#begun(late.tracked, now)
      const what = `event ${webhookId} was sent to integration ${integration} without an open delivery`
      this.report("nothing-after-end", now, what)
      measurements.begin(timeOf(now), null, null)
      measurements.request(timeOf(now), null, "cut_off", null)
      return null
    }
    if (tracked.isOpen) this.cutOff(tracked)
    this.#checkSending(tracked, attempt, now)
    if (tracked.dueAt !== null) this.moving++
    tracked.dueAt = null
    return this.#begun(tracked, now)
  }

  #begun(tracked: Tracked, now: number): Tracked {
    const { measurements, timeOf } = this.#options
    const { created_at, resource_type } = tracked.event
    measurements.begin(timeOf(now), tracked.requests === 0 ? now - created_at : null, resource_type)
    tracked.requests++
    tracked.begunAt = now
    tracked.isOpen = true
    tracked.movedAt = now
    this.#inFlight.add(tracked)
    return tracked
  }

  /** Records a claim. `earlyOf` is the regular due time of a delivery that is sent early. */
  leased(id: DeliveryId, earlyOf: number | null = null): void {
    const tracked = this.#byId.get(id)
    if (tracked !== undefined) tracked.earlyOf = earlyOf
  }

  /** Records that the process of an open request died: the receiver got the request, but no answer is recorded. */
  cutOff(tracked: Tracked): void {
    this.#closed(tracked, "cut_off", null)
  }

  /** Records that a request was not sent. */
  unsent(tracked: Tracked): void {
    if (!this.#inFlight.delete(tracked)) return
    tracked.isOpen = false
    tracked.requests--
    const { measurements, timeOf } = this.#options
    measurements.unsent(timeOf(tracked.begunAt), tracked.requests === 0)
  }

  /** Records that a receiver processed the event. */
  processed(tracked: Tracked, now: number): void {
    if (tracked.processed) this.#options.measurements.duplicate(this.#options.timeOf(now), tracked.totals)
    tracked.processed = true
  }

  /** Records the end of a request, as seen by the engine that sent it. */
  responded(tracked: Tracked, result: TransportResult, outcome: AttemptOutcome, now: number): void {
    this.#closed(tracked, outcome, result)
    tracked.last = result
    tracked.lastEnd = now
    tracked.movedAt = now
    // If the integration was deleted in the meantime, the delivery no longer waits for the receiver.
    if (tracked.refused || !this.#byId.has(tracked.id)) return
    const { measurements, timeOf } = this.#options
    tracked.refused = measurements.outageBegan(timeOf(now), tracked.totals, outcome)
  }

  #closed(tracked: Tracked, outcome: AttemptOutcome | "cut_off", result: TransportResult | null): void {
    if (!this.#inFlight.delete(tracked)) return
    tracked.isOpen = false
    const { measurements, timeOf } = this.#options
    const took = result === null ? null : Math.round(result.elapsed)
    const status = result?._tag === "Answered" ? result.status : null
    const type = tracked.event.resource_type
    measurements.request(timeOf(tracked.begunAt), tracked.totals, outcome, took, { status, type })
  }

  /** Records a settlement, and checks it. */
  settled(settlement: Settlement, now: number): void {
    const { attempt, delivery_id, early, next_attempt_at, state } = settlement
    const tracked = this.#byId.get(delivery_id)
    if (tracked === undefined) return
    tracked.movedAt = now
    if (attempt !== null) tracked.attempts = attempt.number
    const flaw = state === "delivered" ? null : this.#flawOf(tracked, settlement, now)
    if (flaw !== null) this.report("retry-times", now, `delivery ${tracked.id} ${flaw}`)
    tracked.early = early
    tracked.earlyOf = null
    if (state === "retrying") {
      if (tracked.dueAt === null && next_attempt_at !== null) this.moving--
      tracked.dueAt = next_attempt_at
      return
    }
    if (state === "delivered" && !acknowledges(tracked.last, this.#options.ackTimeout))
      this.report("delivered-is-received", now, `delivery ${delivery_id} ended as delivered but was not acknowledged`)
    this.#end(tracked, state, now)
  }

  /**
   * Records that an integration was deleted or disabled: its open deliveries are cancelled, and nothing more may be
   * sent to it.
   */
  integrationEnded(id: IntegrationId, now: number): void {
    this.#ended.add(id)
    this.#unsent.delete(id)
    for (const tracked of this.#byIntegration.get(id)?.values() ?? []) this.#end(tracked, "cancelled", now)
  }

  /**
   * Checks the end of the run. The store must account for every delivery. An open delivery must wait for a future
   * retry, unless it changed at `since` or later, or no slot was free at `since` or later. Runs in real time pass
   * `-Infinity`, which accepts every open delivery.
   */
  finish(now: number, { states }: DeliverySummary, since: number): void {
    const { measurements, timeOf } = this.#options
    for (const tracked of this.#inFlight)
      measurements.request(timeOf(tracked.begunAt), tracked.totals, "in_flight", null)
    this.#inFlight.clear()
    const stuck = [...this.#byId.values()].filter(
      ({ dueAt, movedAt }) => (dueAt === null || dueAt < now) && Math.max(movedAt, this.#busyAt) < since
    )
    // Checked at the end, because deliveries can be stored as skipped before the ledger records that their integration
    // was disabled.
    for (const [id, { count, first }] of this.#unsent)
      this.report("nothing-lost", now, `${first}, but integration ${id} is neither disabled nor deleted`, count)
    for (const { id } of stuck) this.report("nothing-lost", now, `delivery ${id} has not ended and waits for no retry`)
    const { deliveries } = measurements.totals
    const stored = deliveryStates.reduce((sum, state) => sum + states[state], 0) + this.purged
    if (stored === deliveries) return
    const what = `${deliveries} deliveries were stored, but ${stored} are accounted for`
    this.report("nothing-lost", now, what, Math.max(1, Math.abs(deliveries - stored) - stuck.length))
  }

  brokenIn(rule: RuleName): number {
    return this.#brokenIn.get(rule) ?? 0
  }

  /** Records one or more violations of a rule. */
  report(rule: RuleName, at: number, what: string, places = 1): void {
    this.broken += places
    this.#brokenIn.set(rule, this.brokenIn(rule) + places)
    if (this.violations.length < mostDescribed) this.violations.push({ rule, at, what })
  }

  #checkSending({ dueAt, earlyOf, event, id }: Tracked, attempt: number, now: number): void {
    const { retry, slack, tolerance } = this.#options
    const { lifetime } = RetryPolicy.policyOf(retry, event.resource_type)
    const sent = `attempt ${attempt} of delivery ${id} was sent`
    if (lifetime !== null && now - event.created_at >= lifetime + tolerance)
      this.report("retry-times", now, `${sent} when its event was ${now - event.created_at} ms old`)
    if (dueAt === null || earlyOf !== null) return
    const flaw = flawOfStart(now, dueAt, tolerance, this.#busyAt < dueAt ? slack : null)
    if (flaw !== null) this.report("retry-times", now, `${sent} ${flaw}`)
  }

  /** Describes what is wrong with the settlement of a delivery that is not delivered; null if it is right. */
  #flawOf(tracked: Tracked, settlement: Settlement, now: number): string | null {
    const { retry, tolerance } = this.#options
    const { attempts, early, earlyOf, event, last, lastEnd } = tracked
    if (settlement.state === "cancelled")
      return last?._tag === "Answered" && last.status === 410 ? null : `is cancelled after ${attempts} attempts`
    const { delays, lifetime } = RetryPolicy.policyOf(retry, event.resource_type)
    const lastAttempt = { number: attempts, early, earlyOf, endedAt: lastEnd, retryAfter: retryAfterOf(last, lastEnd) }
    return flawOf(
      {
        ...settlement,
        settledAt: now,
        publishedAt: event.created_at,
        last: settlement.attempt === null ? null : lastAttempt
      },
      { schedules: [delays], lifetime },
      tolerance
    )
  }

  #end(tracked: Tracked, state: DeliveryState, now: number, hasCallEnded = false): void {
    const { measurements, timeOf } = this.#options
    if (!this.#byId.delete(tracked.id)) return
    if (tracked.dueAt === null) this.moving--
    this.#byIntegration.get(tracked.integration_id)?.delete(tracked.event.id)
    const time = timeOf(now)
    const { created_at, resource_type } = tracked.event
    measurements.settle(time, tracked.totals, state, tracked.requests, now - created_at, resource_type)
    if (tracked.refused) measurements.outageEnded(time, tracked.totals, hasCallEnded ? null : state)
  }
}
