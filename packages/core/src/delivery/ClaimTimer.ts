/**
 * The one rule for when a dispatcher looks into the store for due deliveries.
 *
 * It looks at once while there is known to be something and good room for it: the last claim was cut short, an integration
 * that little is held of has more in the store, somebody signalled. With little room, or when it has only just looked, it
 * waits a moment, so that each claim is worth its cost. Otherwise it looks when the next delivery becomes due, and once in
 * each poll interval in any case.
 *
 * Plain data: nothing here waits. All times are in milliseconds since the epoch.
 */

/** The shortest time between two looks that bring little, in milliseconds. */
export const minPollInterval = 20

/** When it looks again for what was due and was not taken, in milliseconds: it has no room here, or another worker has it. */
export const recheckDelay = 1_000

export interface ClaimTimerOptions {
  /** How long to go at most without looking. */
  readonly pollInterval: number
  /** How much room is enough for a claim that is worth it. */
  readonly minBatch: number
}

/** What the queue says. */
export interface Demand {
  /** How many more deliveries can be taken. */
  readonly room: number
  /** Whether something that is known to wait in the store should be taken. */
  readonly needsRefill: boolean
}

/** What a claim showed. */
export interface ClaimResult {
  /** It took as much as it was allowed to: there may be more that is due. */
  readonly isCutShort: boolean
  /** When the next delivery is due, null when none waits. */
  readonly nextDue: number | null
}

export class ClaimTimer {
  private readonly options: ClaimTimerOptions
  /** When it looked last, null before the first time. */
  private polledAt: number | null = null
  private isSignalled = false
  private isCutShort = false
  /** When the first delivery that is known of is due. */
  private firstDue = Number.POSITIVE_INFINITY

  constructor(options: ClaimTimerOptions) {
    this.options = options
  }

  /** There is something to claim. */
  signal(): void {
    this.isSignalled = true
  }

  /** A delivery will be due. */
  noteDue(at: number): void {
    this.firstDue = Math.min(this.firstDue, at)
  }

  /** A claim begins. What is signalled or noted from now on asks for another. */
  begin(now: number): void {
    this.polledAt = now
    if (this.firstDue <= now) this.firstDue = Number.POSITIVE_INFINITY
    this.isSignalled = false
    // What it leaves is unknown until it has ended, and after a defect.
    this.isCutShort = true
  }

  /** A claim has ended. */
  end({ isCutShort, nextDue }: ClaimResult): void {
    this.isCutShort = isCutShort
    if (nextDue === null || this.polledAt === null) return
    this.noteDue(nextDue > this.polledAt ? nextDue : this.polledAt + recheckDelay)
  }

  /** When to look next. */
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
