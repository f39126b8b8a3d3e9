/**
 * Follows every delivery of an engine that the simulator runs itself, from its acceptance to its end, and checks on the
 * way that the engine's rules are kept. What has ended is forgotten, so memory depends on the backlog alone.
 *
 * The rules are those of the engine's own checks (`engine/checks`): these see whole histories of small worlds, this sees a
 * stream of months of large ones. What both must agree on about one request or answer is defined once (`engine/rules`).
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
import { bodyOf, deliveryStates, RetryPolicy } from "@doorhook/core"
import { acknowledges } from "../engine/rules/Acknowledging.ts"
import type { IntegrationTotals, Measurements } from "./Measurements.ts"
import { isDown } from "./Outage.ts"
import type { RuleName, Violation } from "./Rules.ts"
import { flawOfEnd, flawOfRetry } from "./Schedules.ts"

/** The most broken places that are described. */
const mostDescribed = 20

export interface LedgerOptions {
  readonly measurements: Measurements
  /** Milliseconds since the beginning of the run, on the report's axis, of an instant. */
  readonly timeOf: (instant: number) => number
  readonly retry: RetryPolicy.RetryPolicies
  readonly ackTimeout: number
  /** By how much clocks of the engine and the ledger can be apart, in milliseconds. */
  readonly tolerance: number
  /** The longest that a due retry may wait while there are places for it, in milliseconds; null is not checked. */
  readonly slack: number | null
}

interface Tracked {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly totals: IntegrationTotals
  /** Attempts that are recorded. */
  attempts: number
  processed: boolean
  /** Whether its receiver was down when it came. */
  refused: boolean
  /** The worker that it was leased to last. */
  worker: string | null
  /** When the attempt that is made next was due, if it is made early. */
  earlyOf: number | null
  /** Attempts that were made early and failed. */
  early: number
  /** Until when its last request is open at the latest; it is answered before, or its process dies. */
  openUntil: number
  dueAt: number | null
  /** How the last request ended, and when. */
  last: TransportResult | null
  lastEnd: number
  requests: number
  /** When it was last stored, sent, answered or settled. */
  movedAt: number
}

export class Ledger {
  readonly violations: Array<Violation> = []
  /** Deliveries that were settled and are deleted for their age. */
  purged = 0
  /** Open deliveries that do not wait for a retry. */
  moving = 0
  /** How many places there were where a rule was broken, those without description too. */
  broken = 0
  readonly #options: LedgerOptions
  readonly #byId = new Map<DeliveryId, Tracked>()
  readonly #byIntegration = new Map<IntegrationId, Map<EventId, Tracked>>()
  readonly #ended = new Set<IntegrationId>()
  /** When the membership of each worker ends. */
  readonly #members = new Map<string, number>()
  /** What was stored as ended for integrations that have not: the first of each, and how many. */
  readonly #unsent = new Map<IntegrationId, { readonly first: string; count: number }>()
  readonly #brokenIn = new Map<RuleName, number>()
  /** When a retry last had to wait for a place, or for a process. */
  #busyAt = Number.NEGATIVE_INFINITY

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** How many deliveries have not ended. */
  get open(): number {
    return this.#byId.size
  }

  /** There are no places, or no process: retries wait until then. It may be known beforehand. */
  busy(until: number): void {
    this.#busyAt = Math.max(this.#busyAt, until)
  }

  /** A delivery is stored. */
  stored(
    id: DeliveryId,
    state: DeliveryState,
    event: Event,
    integration: IntegrationId,
    totals: IntegrationTotals
  ): void {
    const { measurements, timeOf } = this.#options
    const time = timeOf(event.created_at)
    measurements.deliver(time, totals)
    const tracked: Tracked = {
      id,
      event,
      integration_id: integration,
      totals,
      attempts: 0,
      processed: false,
      refused: false,
      worker: null,
      earlyOf: null,
      early: 0,
      openUntil: 0,
      dueAt: null,
      last: null,
      lastEnd: 0,
      requests: 0,
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

  /** An event was stored with deliveries to some integrations, and matches these. */
  matched(event: Event, to: ReadonlyArray<IntegrationId>, wanted: ReadonlySet<IntegrationId>): void {
    const reached = new Set(to.filter((id) => wanted.has(id))).size
    if (to.length !== wanted.size || reached !== wanted.size)
      this.tell(
        "nothing-lost",
        event.created_at,
        `event ${event.id} went to ${to.join(", ") || "nobody"} instead of ${[...wanted].join(", ") || "nobody"}`,
        Math.max(1, wanted.size - reached)
      )
  }

  /** A request is sent. Null when it fits no delivery that is open. */
  requested(integration: IntegrationId, webhookId: string, attempt: number, body: string, now: number): Tracked | null {
    const tracked = this.#find(integration, webhookId)
    if (tracked === undefined || this.#ended.has(integration)) {
      this.tell(
        "nothing-after-end",
        now,
        `event ${webhookId} was sent to integration ${integration}, where it is not open`
      )
      return null
    }
    const { retry, slack, tolerance } = this.#options
    const { dueAt, event } = tracked
    const who = `delivery ${tracked.id}`
    if (attempt !== tracked.attempts + 1)
      this.tell("attempt-numbers", now, `${who} was sent as attempt ${attempt} after ${tracked.attempts} attempts`)
    const { lifetime } = RetryPolicy.policyOf(retry, event.resource_type)
    if (lifetime !== null && now - event.created_at >= lifetime + tolerance)
      this.tell("call-lifetime", now, `${who} was sent when its event was ${now - event.created_at} ms old`)
    if (dueAt !== null && tracked.earlyOf === null) {
      if (now < dueAt - tolerance) this.tell("retry-times", now, `${who} was sent ${dueAt - now} ms before it was due`)
      if (slack !== null && now - dueAt > slack && this.#busyAt < dueAt)
        this.tell("retry-times", now, `${who} was sent ${now - dueAt} ms after it was due`)
    }
    if (body !== bodyOf(event)) this.tell("same-body", now, `${who} was sent with other bytes than were published`)
    this.#checkLease(tracked, now)
    if (dueAt !== null) this.moving++
    tracked.dueAt = null
    tracked.requests++
    tracked.movedAt = now
    return tracked
  }

  /** The membership of a worker goes on until an instant; null when it has ended. */
  member(worker: string, until: number | null): void {
    if (until === null) this.#members.delete(worker)
    else this.#members.set(worker, until)
  }

  /** It is leased to the worker that stored or claimed it; `earlyOf` is when it was due, if it is to be sent before. */
  leased(id: DeliveryId, worker: string, earlyOf: number | null = null): void {
    const tracked = this.#byId.get(id)
    if (tracked === undefined) return
    tracked.worker = worker
    tracked.earlyOf = earlyOf
  }

  /** The process died that had a request open: nobody waits for the answer. */
  cutOff(tracked: Tracked): void {
    tracked.openUntil = 0
  }

  /** A receiver has processed it. */
  processed(tracked: Tracked, now: number): void {
    if (tracked.processed) this.#options.measurements.duplicate(this.#options.timeOf(now), tracked.totals)
    tracked.processed = true
  }

  /** A request has ended, in the eyes of the engine that sent it. */
  responded(tracked: Tracked, result: TransportResult, outcome: AttemptOutcome, now: number): void {
    tracked.openUntil = 0
    tracked.last = result
    tracked.lastEnd = now
    tracked.movedAt = now
    const time = this.#options.timeOf(now)
    const status = result._tag === "Answered" ? result.status : null
    this.#options.measurements.attempt(time, tracked.totals, outcome, Math.round(result.elapsed), status)
    // Its integration may have been deleted meanwhile: then it waits for nothing.
    if (tracked.refused || !isDown(outcome) || !this.#byId.has(tracked.id)) return
    tracked.refused = true
    tracked.totals.outage?.begin(time)
  }

  /** What an attempt made of a delivery is recorded. */
  settled(settlement: Settlement, now: number): void {
    const { attempt, delivery_id, next_attempt_at, state } = settlement
    const tracked = this.#byId.get(delivery_id)
    if (tracked === undefined) return
    tracked.movedAt = now
    if (attempt !== null) {
      if (attempt.number !== tracked.attempts + 1)
        this.tell(
          "attempt-numbers",
          now,
          `delivery ${delivery_id} has attempt ${attempt.number} after ${tracked.attempts}`
        )
      tracked.attempts = attempt.number
    }
    this.#checkSchedule(tracked, settlement, now)
    tracked.early = settlement.early
    tracked.earlyOf = null
    if (state === "retrying") {
      if (tracked.dueAt === null && next_attempt_at !== null) this.moving--
      tracked.dueAt = next_attempt_at
      return
    }
    if (state === "delivered" && !this.#isAcknowledged(tracked))
      this.tell("delivered-is-received", now, `delivery ${delivery_id} ended as delivered, and was not acknowledged`)
    this.#end(tracked, state, now)
  }

  /** An integration is deleted or disabled: nothing more is sent to it, what was open is cancelled. */
  integrationEnded(id: IntegrationId, now: number): void {
    this.#ended.add(id)
    this.#unsent.delete(id)
    for (const tracked of this.#byIntegration.get(id)?.values() ?? []) this.#end(tracked, "cancelled", now)
  }

  /**
   * Judges how it stands at the end. The store must know of every delivery. What is open must wait for a retry that is
   * still to come, or have been under way: it has moved since an instant, or waited for a place then. An instant before
   * all others takes everything that is open for being under way, as where time is real and nobody can tell.
   */
  finish(now: number, { states }: DeliverySummary, since: number): void {
    const { deliveries } = this.#options.measurements
    const stuck = [...this.#byId.values()].filter(
      ({ dueAt, movedAt }) => (dueAt === null || dueAt < now) && Math.max(movedAt, this.#busyAt) < since
    )
    // Only now: that an integration has ended may be known after what was stored because of it.
    for (const [id, { count, first }] of this.#unsent)
      this.tell("nothing-lost", now, `${first}, and integration ${id} is neither disabled nor deleted`, count)
    for (const { id } of stuck) this.tell("nothing-lost", now, `delivery ${id} did not end and waits for nothing`)
    const stored = deliveryStates.reduce((sum, state) => sum + states[state], 0) + this.purged
    if (stored === deliveries) return
    const what = `${deliveries} deliveries were stored, and ${stored} are accounted for`
    this.tell("nothing-lost", now, what, Math.max(1, Math.abs(deliveries - stored) - stuck.length))
  }

  /** In how many places a rule was broken, those without description too. */
  brokenIn(rule: RuleName): number {
    return this.#brokenIn.get(rule) ?? 0
  }

  /** A rule is broken, in one place or several. */
  tell(rule: RuleName, at: number, what: string, places = 1): void {
    this.broken += places
    this.#brokenIn.set(rule, this.brokenIn(rule) + places)
    if (this.violations.length < mostDescribed) this.violations.push({ rule, at, what })
  }

  #find(integration: IntegrationId, webhookId: string): Tracked | undefined {
    const siblings: ReadonlyMap<string, Tracked> | undefined = this.#byIntegration.get(integration)
    return siblings?.get(webhookId)
  }

  #isAcknowledged({ last }: Tracked): boolean {
    return acknowledges(last, this.#options.ackTimeout)
  }

  #checkLease(tracked: Tracked, now: number): void {
    const { ackTimeout, tolerance } = this.#options
    const { id, openUntil, worker } = tracked
    if (openUntil > now) this.tell("leases", now, `delivery ${id} was open twice at once`)
    tracked.openUntil = now + ackTimeout
    if (worker === null) return this.tell("leases", now, `delivery ${id} was sent without a lease`)
    const left = (this.#members.get(worker) ?? Number.NEGATIVE_INFINITY) - now
    if (left < ackTimeout - tolerance)
      this.tell("leases", now, `delivery ${id} was sent with ${left} ms left of its worker's membership`)
  }

  #checkSchedule(tracked: Tracked, settlement: Settlement, now: number): void {
    const { retry, tolerance } = this.#options
    const { state } = settlement
    if (state === "delivered") return
    const schedule = RetryPolicy.policyOf(retry, tracked.event.resource_type)
    const flaw =
      state === "retrying"
        ? flawOfRetry(tracked, schedule, settlement, tolerance)
        : flawOfEnd(tracked, schedule, settlement, now, tolerance)
    if (flaw !== null) this.tell("retry-times", now, `delivery ${tracked.id} ${flaw}`)
  }

  #end(tracked: Tracked, state: DeliveryState, now: number): void {
    const { measurements, timeOf } = this.#options
    if (!this.#byId.delete(tracked.id)) return
    if (tracked.dueAt === null) this.moving--
    this.#byIntegration.get(tracked.integration_id)?.delete(tracked.event.id)
    const time = timeOf(now)
    measurements.settle(time, tracked.totals, state, tracked.requests, now - tracked.event.created_at)
    if (tracked.refused) tracked.totals.outage?.end(time, state)
  }
}

export type { Tracked }
