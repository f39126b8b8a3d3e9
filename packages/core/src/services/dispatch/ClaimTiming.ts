/**
 * The one rule for when a dispatcher looks into the store for due deliveries.
 *
 * It looks at once while it is known that there is something to be had and there is good room for it: the last claim was
 * cut short, an integration that we hold little of has more in the store, somebody signalled. With little room, or when
 * it has only just looked, it waits a moment, so that each claim is worth its transaction. Else it looks when the next
 * delivery becomes due, as far as that is known, and once in each poll interval in any case.
 *
 * Plain data: nothing here waits. All times are in milliseconds since the epoch.
 */

/** The shortest time between two looks that bring little, in milliseconds. */
export const moment = 20

/** How far ahead the due times of retries are remembered, in milliseconds: then it asks anew for what is due later. */
export const horizon = 60_000

/** Due times are rounded up to this, so that few are remembered, and retries of one moment are claimed together. In milliseconds. */
export const grain = 20

/**
 * When it looks again for what was due and was not taken, in milliseconds: another worker may be taking it, and may fail to.
 */
export const secondLook = 1_000

export interface ClaimTimingOptions {
  /** How long to go at most without looking. */
  readonly pollInterval: number
  /** How much room is good room: enough for a claim that is worth it. */
  readonly goodRoom: number
}

/** What the buffer says. */
export interface Demand {
  /** How many more deliveries can be taken. */
  readonly room: number
  /** Whether something that is known to wait in the store should be taken. */
  readonly hasAppetite: boolean
}

/** What a claim showed. */
export interface ClaimResult {
  /** It took as much as it was allowed to: there may be more that is due. */
  readonly cutShort: boolean
  /** When the next delivery will be due, as the store says; null when it did not say. */
  readonly nextDue: number | null
}

export class ClaimTiming {
  private readonly options: ClaimTimingOptions
  /** When it looked last, null before the first time. */
  private lookedAt: number | null = null
  private signalled = false
  private cutShort = false
  private readonly dueTimes = new Set<number>()
  /** The first of them. */
  private firstDue = Number.POSITIVE_INFINITY

  constructor(options: ClaimTimingOptions) {
    this.options = options
  }

  /** Somebody says that there is something to claim. */
  signal(): void {
    this.signalled = true
  }

  /** A delivery will be due. */
  noteDue(at: number): void {
    const until = this.lookedAt === null ? at : this.lookedAt + horizon
    // A poll asks anew before that.
    if (at > until && this.options.pollInterval <= horizon) return
    const time = Math.ceil(Math.min(at, until) / grain) * grain
    this.dueTimes.add(time)
    this.firstDue = Math.min(this.firstDue, time)
  }

  /** A claim begins. What is signalled from now on asks for another. */
  begin(now: number): void {
    this.lookedAt = now
    this.signalled = false
    // Until the claim has ended it is not known what it left; after a defect it never will be.
    this.cutShort = true
    if (this.firstDue > now) return
    for (const time of this.dueTimes) if (time <= now) this.dueTimes.delete(time)
    this.firstDue = Math.min(...this.dueTimes)
  }

  /** A claim has ended. */
  end({ cutShort, nextDue }: ClaimResult): void {
    this.cutShort = cutShort
    if (nextDue === null || this.lookedAt === null) return
    // What is due already and was not taken has no room here, and whoever makes room asks again; or somebody else has it.
    this.noteDue(nextDue > this.lookedAt ? nextDue : this.lookedAt + secondLook)
  }

  /** When to look next. */
  next({ hasAppetite, room }: Demand): number {
    if (this.lookedAt === null) return Number.NEGATIVE_INFINITY
    const poll = this.lookedAt + this.options.pollInterval
    if (room === 0) return poll
    const soon = this.lookedAt + moment
    let at = poll
    if (this.cutShort || hasAppetite) at = room >= this.options.goodRoom ? this.lookedAt : soon
    else if (this.signalled) at = soon
    return Math.min(at, Math.max(this.firstDue, soon), poll)
  }
}
