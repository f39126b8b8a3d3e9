/**
 * Decides when a dispatcher claims due deliveries from the store.
 *
 * The next claim is immediate if there is room and known work: the last claim reached its limit, an integration with
 * few queued deliveries has more in the store, or a wake signal arrived. With little room, or right after a claim, the
 * timer waits briefly, because small claims are not worth their cost. Without known work, the next claim is made when
 * the next delivery falls due, and at least once per poll interval.
 *
 * Plain state without timers or I/O. All times are in milliseconds since the epoch.
 */
import { minPollInterval, recheckDelay } from "./EngineConstants.ts"

export interface ClaimTimerOptions {
  /** Longest time between two claims. */
  readonly pollInterval: number
  /** Minimum room for an immediate claim. With less room, the timer waits `minPollInterval` after the last claim. */
  readonly minBatch: number
}

/** The state of the delivery queue. */
export interface Demand {
  /** Number of further deliveries that the queue can take. */
  readonly room: number
  /** Whether an integration with deliveries in the store needs more of them in memory. */
  readonly needsRefill: boolean
}

/** The result of a claim. */
export interface ClaimResult {
  /** Whether the claim reached its limit, so that more deliveries may be due. */
  readonly isCutShort: boolean
  /** When the next delivery is due; null if none waits. */
  readonly nextDue: number | null
}

export class ClaimTimer {
  private readonly options: ClaimTimerOptions
  /** Time of the last claim; null before the first. */
  private polledAt: number | null = null
  private isSignalled = false
  private isCutShort = false
  /** Earliest due time among the known deliveries. */
  private firstDue = Number.POSITIVE_INFINITY

  constructor(options: ClaimTimerOptions) {
    this.options = options
  }

  /** Notes a wake signal. */
  signal(): void {
    this.isSignalled = true
  }

  /** Notes that a delivery will be due at `at`. */
  noteDue(at: number): void {
    this.firstDue = Math.min(this.firstDue, at)
  }

  /** Notes the start of a claim. Later signals cause another claim. */
  begin(now: number): void {
    this.polledAt = now
    if (this.firstDue <= now) this.firstDue = Number.POSITIVE_INFINITY
    this.isSignalled = false
    // Until the claim ends, more deliveries may be due. If a defect aborts the claim, the flag stays true.
    this.isCutShort = true
  }

  /** Notes the end of a claim. */
  end({ isCutShort, nextDue }: ClaimResult): void {
    this.isCutShort = isCutShort
    if (nextDue === null || this.polledAt === null) return
    this.noteDue(nextDue > this.polledAt ? nextDue : this.polledAt + recheckDelay)
  }

  /** Returns the time of the next claim. */
  next({ needsRefill, room }: Demand): number {
    if (this.polledAt === null) return Number.NEGATIVE_INFINITY
    const poll = this.polledAt + this.options.pollInterval
    if (room === 0) return poll
    const soon = this.polledAt + minPollInterval
    let at = poll
    if (this.isCutShort || needsRefill) at = room >= this.options.minBatch ? this.polledAt : soon
    else if (this.isSignalled) at = soon
    return Math.min(at, Math.max(this.firstDue, soon), poll)
  }
}
