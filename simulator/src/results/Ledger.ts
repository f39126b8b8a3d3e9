/**
 * Follows every delivery of an engine that the simulator runs itself, from acceptance to end, and checks four rules on the
 * way. What has ended is forgotten, so memory depends on the backlog alone. The engine's own simulation checks more rules,
 * on whole histories of small worlds.
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
import { deliveryStates, RetryPolicy } from "@doorhook/core"
import type { IntegrationTotals, Measurements } from "./Measurements.ts"

export const rules = {
  "nothing-lost":
    "Every accepted event gets a delivery for each integration it matches, each delivery ends or waits, and only those of a disabled integration are skipped",
  "retry-times":
    "A retry comes when its schedule or Retry-After says, up to a fifth later, or early after an outage; nothing is given up before, and no call is sent after its lifetime",
  "nothing-after-end": "Nothing is sent after a delivery has ended, or to an integration that is deleted or disabled",
  "delivered-is-received": "What ends as delivered was answered 200 in time"
} as const
export type RuleName = keyof typeof rules

/** A place where a rule was broken; `at` in milliseconds since the epoch. */
export interface Violation {
  readonly rule: RuleName
  readonly what: string
  readonly at: number
}

/** Broken places that are described; the others are counted. */
const mostDescribed = 20

export interface LedgerOptions {
  readonly measurements: Measurements
  /** An instant on the report's axis, in milliseconds since the beginning. */
  readonly timeOf: (instant: number) => number
  readonly retry: RetryPolicy.RetryPolicies
  readonly ackTimeout: number
  /** How far the clocks of engine and ledger can be apart, in milliseconds. */
  readonly tolerance: number
  /** The longest that a due retry may wait while there is room for it, in milliseconds; null is not checked. */
  readonly slack: number | null
}

export interface Tracked {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly totals: IntegrationTotals
  /** Recorded attempts. */
  attempts: number
  /** Failed attempts that were made early. */
  early: number
  /** When the next attempt was due, if it is made early. */
  earlyOf: number | null
  requests: number
  isOpen: boolean
  processed: boolean
  /** Its receiver was down when it came. */
  refused: boolean
  dueAt: number | null
  last: TransportResult | null
  lastEnd: number
  /** When it was last stored, sent, answered or settled. */
  movedAt: number
}

export class Ledger {
  readonly violations: Array<Violation> = []
  /** Settled deliveries that were deleted for their age. */
  purged = 0
  /** Open deliveries that do not wait for a retry. */
  moving = 0
  /** Broken places, those without description included. */
  broken = 0
  readonly #options: LedgerOptions
  readonly #byId = new Map<DeliveryId, Tracked>()
  readonly #byIntegration = new Map<IntegrationId, Map<string, Tracked>>()
  readonly #ended = new Set<IntegrationId>()
  /** Requests that have no answer yet. */
  readonly #inFlight = new Set<Tracked>()
  /** What was stored as ended for integrations that have not: the first of each, and how many. */
  readonly #unsent = new Map<IntegrationId, { readonly first: string; count: number }>()
  readonly #brokenIn = new Map<RuleName, number>()
  /** Until when retries may wait for a place or a process. */
  #busyAt = Number.NEGATIVE_INFINITY

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** Deliveries that have not ended. */
  get open(): number {
    return this.#byId.size
  }

  /** No place or no process is free until an instant, which may lie ahead. */
  busy(until: number): void {
    this.#busyAt = Math.max(this.#busyAt, until)
  }

  stored(
    id: DeliveryId,
    state: DeliveryState,
    event: Event,
    integration: IntegrationId,
    totals: IntegrationTotals
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
    if (state !== "skipped" && state !== "cancelled") return
    this.#end(tracked, state, event.created_at)
    if (this.#ended.has(integration)) return
    const unsent = this.#unsent.get(integration) ?? { first: `delivery ${id} was stored as ${state}`, count: 0 }
    unsent.count++
    this.#unsent.set(integration, unsent)
  }

  /** An event was stored with deliveries to some integrations, and matches others. */
  matched(event: Event, to: ReadonlyArray<IntegrationId>, wanted: ReadonlySet<IntegrationId>): void {
    const reached = new Set(to.filter((id) => wanted.has(id))).size
    if (to.length === wanted.size && reached === wanted.size) return
    const what = `event ${event.id} went to ${to.join(", ") || "nobody"} instead of ${[...wanted].join(", ") || "nobody"}`
    this.report("nothing-lost", event.created_at, what, Math.max(1, wanted.size - reached))
  }

  /** A request leaves. Null when it fits no open delivery. */
  requested(integration: IntegrationId, webhookId: string, attempt: number, now: number): Tracked | null {
    const tracked = this.#byIntegration.get(integration)?.get(webhookId)
    if (tracked === undefined || this.#ended.has(integration)) {
      const what = `event ${webhookId} was sent to integration ${integration}, where it is not open`
      this.report("nothing-after-end", now, what)
      this.#options.measurements.request(this.#options.timeOf(now), null, "cut_off", null)
      return null
    }
    if (tracked.isOpen) this.cutOff(tracked, now)
    this.#checkSending(tracked, attempt, now)
    if (tracked.dueAt !== null) this.moving++
    tracked.dueAt = null
    tracked.requests++
    tracked.isOpen = true
    tracked.movedAt = now
    this.#inFlight.add(tracked)
    return tracked
  }

  /** A delivery is claimed; `earlyOf` is when it was due, if it is sent before. */
  leased(id: DeliveryId, earlyOf: number | null = null): void {
    const tracked = this.#byId.get(id)
    if (tracked !== undefined) tracked.earlyOf = earlyOf
  }

  /** The process of an open request died: its receiver got it, and no answer is recorded. */
  cutOff(tracked: Tracked, now: number): void {
    this.#closed(tracked, "cut_off", null, now)
  }

  /** A request did not leave. */
  unsent(tracked: Tracked): void {
    if (!this.#inFlight.delete(tracked)) return
    tracked.isOpen = false
    tracked.requests--
  }

  /** A receiver has processed it. */
  processed(tracked: Tracked, now: number): void {
    if (tracked.processed) this.#options.measurements.duplicate(this.#options.timeOf(now), tracked.totals)
    tracked.processed = true
  }

  /** A request has ended, as the engine that sent it sees it. */
  responded(tracked: Tracked, result: TransportResult, outcome: AttemptOutcome, now: number): void {
    this.#closed(tracked, outcome, result, now)
    tracked.last = result
    tracked.lastEnd = now
    tracked.movedAt = now
    // Its integration may have been deleted in the meantime: then it waits for nothing.
    if (tracked.refused || !this.#byId.has(tracked.id)) return
    const { measurements, timeOf } = this.#options
    tracked.refused = measurements.outageBegan(timeOf(now), tracked.totals, outcome)
  }

  #closed(tracked: Tracked, outcome: AttemptOutcome | "cut_off", result: TransportResult | null, now: number): void {
    if (!this.#inFlight.delete(tracked)) return
    tracked.isOpen = false
    const { measurements, timeOf } = this.#options
    const took = result === null ? null : Math.round(result.elapsed)
    const status = result?._tag === "Answered" ? result.status : null
    measurements.request(timeOf(now), tracked.totals, outcome, took, { status, isRetry: tracked.requests > 1 })
  }

  /** The result of an attempt is recorded. */
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
    const { last } = tracked
    const isAcknowledged =
      last?._tag === "Answered" && last.status === 200 && last.headers_elapsed <= this.#options.ackTimeout
    if (state === "delivered" && !isAcknowledged)
      this.report("delivered-is-received", now, `delivery ${delivery_id} ended as delivered, and was not acknowledged`)
    this.#end(tracked, state, now)
  }

  /** An integration is deleted or disabled: nothing more is sent to it, what was open is cancelled. */
  integrationEnded(id: IntegrationId, now: number): void {
    this.#ended.add(id)
    this.#unsent.delete(id)
    for (const tracked of this.#byIntegration.get(id)?.values() ?? []) this.#end(tracked, "cancelled", now)
  }

  /**
   * Judges the end. The store must know every delivery. What is open must wait for a retry, or have moved since an instant,
   * or waited for a place then. In real time an instant before all others takes everything open for being under way.
   */
  finish(now: number, { states }: DeliverySummary, since: number): void {
    const { measurements, timeOf } = this.#options
    for (const tracked of this.#inFlight)
      measurements.request(timeOf(now), tracked.totals, "in_flight", null, { isRetry: tracked.requests > 1 })
    this.#inFlight.clear()
    const stuck = [...this.#byId.values()].filter(
      ({ dueAt, movedAt }) => (dueAt === null || dueAt < now) && Math.max(movedAt, this.#busyAt) < since
    )
    // Only now: that an integration has ended may be known after what was stored because of it.
    for (const [id, { count, first }] of this.#unsent)
      this.report("nothing-lost", now, `${first}, and integration ${id} is neither disabled nor deleted`, count)
    for (const { id } of stuck) this.report("nothing-lost", now, `delivery ${id} did not end and waits for nothing`)
    const { deliveries } = measurements.totals
    const stored = deliveryStates.reduce((sum, state) => sum + states[state], 0) + this.purged
    if (stored === deliveries) return
    const what = `${deliveries} deliveries were stored, and ${stored} are accounted for`
    this.report("nothing-lost", now, what, Math.max(1, Math.abs(deliveries - stored) - stuck.length))
  }

  brokenIn(rule: RuleName): number {
    return this.#brokenIn.get(rule) ?? 0
  }

  /** A rule is broken, in one place or several. */
  report(rule: RuleName, at: number, what: string, places = 1): void {
    this.broken += places
    this.#brokenIn.set(rule, this.brokenIn(rule) + places)
    if (this.violations.length < mostDescribed) this.violations.push({ rule, at, what })
  }

  #checkSending({ dueAt, earlyOf, event, id }: Tracked, attempt: number, now: number): void {
    const { retry, slack, tolerance } = this.#options
    const { lifetime } = RetryPolicy.policyOf(retry, event.resource_type)
    const sent = `delivery ${id} was sent, as attempt ${attempt},`
    if (lifetime !== null && now - event.created_at >= lifetime + tolerance)
      this.report("retry-times", now, `${sent} when its event was ${now - event.created_at} ms old`)
    if (dueAt === null || earlyOf !== null) return
    if (now < dueAt - tolerance) this.report("retry-times", now, `${sent} ${dueAt - now} ms before it was due`)
    if (slack !== null && now - dueAt > slack && this.#busyAt < dueAt)
      this.report("retry-times", now, `${sent} ${now - dueAt} ms after it was due`)
  }

  /** What is wrong with what follows a failed attempt; null when nothing is. */
  #flawOf(tracked: Tracked, settlement: Settlement, now: number): string | null {
    const { retry, tolerance } = this.#options
    const { attempts, early, earlyOf, event, last, lastEnd } = tracked
    const { attempt, early: earlyNow, next_attempt_at: dueAt, state } = settlement
    const { delays, lifetime } = RetryPolicy.policyOf(retry, event.resource_type)
    const answer = last?._tag === "Answered" ? last : null
    const asks = answer?.status === 429 || answer?.status === 503 ? answer.retry_after : null
    const asked = Math.min(RetryPolicy.parseRetryAfter(asks, lastEnd) ?? 0, RetryPolicy.maxRetryAfter)
    const delay = attempt === null ? 0 : delays[attempts - early - 1]
    const latest = (from: number, wait: number) =>
      from + Math.max(Math.floor(wait * (1 + RetryPolicy.maxJitter)), attempt === null ? 0 : asked)
    if (state !== "retrying") {
      const isOver =
        delay === undefined ||
        (lifetime !== null &&
          latest(attempt === null ? now : lastEnd, delay) >= event.created_at - tolerance + lifetime)
      const isRight = state === "cancelled" ? answer?.status === 410 : isOver
      return isRight ? null : `is ${state} after ${attempts} attempts, which its schedule does not say`
    }
    if (earlyOf !== null) {
      if (earlyNow !== early + 1) return `counts attempt ${attempts}, which was made early, in its schedule`
      const again = Math.max(earlyOf, asked === 0 ? 0 : lastEnd + asked)
      return Math.abs((dueAt ?? 0) - again) <= tolerance
        ? null
        : `is not due when it was before attempt ${attempts}, which was made early`
    }
    if (delay === undefined || dueAt === null) return `has no retry ${attempts} in its schedule`
    const isInTime =
      dueAt >= lastEnd + Math.max(delay, asked) - tolerance && dueAt <= latest(lastEnd, delay) + tolerance
    return isInTime
      ? null
      : `has a retry ${dueAt - lastEnd} ms after attempt ${attempts}, which its schedule does not say`
  }

  #end(tracked: Tracked, state: DeliveryState, now: number): void {
    const { measurements, timeOf } = this.#options
    if (!this.#byId.delete(tracked.id)) return
    if (tracked.dueAt === null) this.moving--
    this.#byIntegration.get(tracked.integration_id)?.delete(tracked.event.id)
    const time = timeOf(now)
    measurements.settle(time, tracked.totals, state, tracked.requests, now - tracked.event.created_at)
    if (tracked.refused) measurements.outageEnded(time, tracked.totals, state)
  }
}
