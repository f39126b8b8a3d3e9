/**
 * What keeps all deliveries of a dispatcher from being sent: the directory can't be asked, or there is no way out to any
 * receiver.
 *
 * While there is an outage one delivery is tried at a time, at a slow pace, and all others wait in the store. The first
 * that gets through ends it. A user about whom the directory does not answer while it answers about others is no outage:
 * that user's deliveries wait, and nobody else's.
 *
 * Plain data: nothing here waits. All times are in milliseconds since the epoch.
 */
import type { UserId } from "../../domain/Ids.ts"

/** How long deliveries wait that could not be attempted through no fault of their receivers, in milliseconds. */
export const retryLater = 5_000

/** A try that failed sooner than this cost nothing: another may be made at once. In milliseconds. */
const quick = 100

/** The most tries that are made at once, one after the other, each for another user. */
const maxTries = 3

/** What can be away. */
export const outageCauses = ["directory", "egress"] as const
export type OutageCause = (typeof outageCauses)[number]

/** What is away, and since when. */
export interface Outage {
  readonly cause: OutageCause
  readonly since: number
}

/**
 * What it means that a delivery could not be attempted: an outage begins, or there is one already; or it is the user's
 * own trouble, which is news or is known.
 */
export type Verdict = "begins" | "lasts" | "own" | "known"

export class Outages {
  /** Since when each has lasted. */
  private readonly begun = new Map<OutageCause, number>()
  /** Users about whom the directory did not answer, and has not answered since; and whether that was told as their own trouble. */
  private readonly unanswered = new Map<UserId, boolean>()
  private tryAt = 0
  private tries = 0
  private tryingSince: number | null = null

  /** Whether anything keeps deliveries from being sent. */
  get isOpen(): boolean {
    return this.begun.size > 0
  }

  /** The one that has lasted longest; null when there is none. */
  get longest(): Outage | null {
    let longest: Outage | null = null
    for (const [cause, since] of this.begun) {
      if (longest === null || since < longest.since) longest = { cause, since }
    }
    return longest
  }

  /** Until when nothing should be claimed for a try; null when something may be claimed now. */
  pausedUntil(now: number): number | null {
    if (!this.isOpen) return null
    if (this.tryingSince !== null) return Number.POSITIVE_INFINITY
    // Not longer than a pause where the clock was set back.
    this.tryAt = Math.min(this.tryAt, now + retryLater)
    return now < this.tryAt ? this.tryAt : null
  }

  /** When what could not be sent is due again. */
  dueAt(now: number): number {
    return this.isOpen && now < this.tryAt ? this.tryAt : now + retryLater
  }

  /** A delivery is tried. */
  beginTry(now: number): void {
    this.tryingSince = now
    this.tries++
  }

  /** The try is over, however it went. */
  endTry(): void {
    this.tryingSince = null
  }

  /** Whether another delivery, of another user, should be tried at once after one could not be sent. */
  mayTryAnother(now: number): boolean {
    return this.tryingSince !== null && now - this.tryingSince <= quick && this.tries < maxTries
  }

  /** A delivery of a user's integration could not be attempted. */
  failed(cause: OutageCause, user: UserId, now: number): Verdict {
    const told = this.unanswered.get(user)
    if (cause === "directory") {
      this.unanswered.set(user, told ?? false)
      if (!this.isOpen && told !== undefined) {
        this.unanswered.set(user, true)
        return told ? "known" : "own"
      }
    }
    const isNew = !this.begun.has(cause)
    if (isNew) this.begun.set(cause, now)
    if (isNew || this.tryingSince !== null) this.pause(now)
    return isNew ? "begins" : "lasts"
  }

  /** The next try waits. */
  private pause(now: number): void {
    if (this.mayTryAnother(now)) return
    this.tryAt = now + retryLater
    this.tries = 0
  }

  /** One got through; says how long the outage lasted that is over by it, null when there was none. */
  passed(cause: OutageCause, user: UserId, now: number): number | null {
    if (cause === "directory" && this.unanswered.size > 0) this.unanswered.delete(user)
    const since = this.begun.get(cause)
    if (since === undefined) return null
    this.begun.delete(cause)
    if (!this.isOpen) this.tries = 0
    return now - since
  }
}
