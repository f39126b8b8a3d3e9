/**
 * The circuit breaker around what all deliveries of a dispatcher depend on: the directory, and the way out to receivers.
 *
 * It opens when one of them fails: then one delivery is tried at a time, at a slow pace (half-open), and all others wait in
 * the store. The first that gets through closes it.
 *
 * When the directory fails for one user while it answers for others, only that user's deliveries wait. Which of the two it
 * is shows with the next delivery of another user. So tries go round the users, and users who have not failed in this round
 * are tried without a pause, a few at most.
 *
 * Plain data: nothing here waits. All times are in milliseconds since the epoch.
 */
import type { UserId } from "../model/Ids.ts"

/** How long deliveries wait that could not be attempted through no fault of their receivers, in milliseconds. */
export const retryLater = 5_000

/** How much later deliveries of users who failed are due, in milliseconds: a claim finds the others alone. */
const afterOthers = 100

/** The most tries that are made without a pause between them, each for another user. */
const maxTries = 3

/** What can be away. */
export const breakerCauses = ["directory", "egress"] as const
export type BreakerCause = (typeof breakerCauses)[number]

const endTexts: Readonly<Record<BreakerCause, string>> = {
  directory: "The directory answers again",
  egress: "Outbound connections work again"
}

/** Describes the end of an outage that lasted this many milliseconds. */
export const endText = (cause: BreakerCause, lasted: number): string =>
  `${endTexts[cause]} after ${Math.round(lasted / 1_000)} s`

/** What is away, and since when. */
export interface Outage {
  readonly cause: BreakerCause
  readonly since: number
}

/**
 * What it means that a delivery could not be attempted: an outage begins, or there is one already; or it is the user's
 * own trouble, which is news or is known.
 */
export type BreakerVerdict = "begins" | "lasts" | "own" | "known"

export class CircuitBreaker {
  /** Since when each has lasted. */
  private readonly begun = new Map<BreakerCause, number>()
  /** Users about whom the directory did not answer, and has not answered since; and whether that was logged as their own trouble. */
  private readonly unanswered = new Map<UserId, boolean>()
  /** The user about whom the directory answered last; null once it has failed since for a user for the first time. */
  private answered: UserId | null = null
  /** Users about whom it did not answer in this round of tries. */
  private readonly round = new Set<UserId>()
  private tryAt = 0
  private tries = 0
  private trying = false

  /** Whether anything keeps deliveries from being sent. */
  get isOpen(): boolean {
    return this.begun.size > 0
  }

  /** Whether a delivery is tried at this moment. */
  get hasTrial(): boolean {
    return this.trying
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
    if (this.trying) return Number.POSITIVE_INFINITY
    // Not longer than a pause where the clock was set back.
    this.tryAt = Math.min(this.tryAt, now + retryLater)
    return now < this.tryAt ? this.tryAt : null
  }

  /** Whether a delivery of a user who has not failed in this round may be tried without a pause. A way out is the same for all. */
  private get mayTryOthers(): boolean {
    return !this.begun.has("egress") && this.tries < maxTries
  }

  /** Whether what is published for a user may be held, to be tried without a pause: else it waits in the store. */
  mayHold(user: UserId): boolean {
    // A try may hang. Behind it, much would gather of users about whom the directory failed before, to be given back at once.
    return !this.isOpen || (this.mayTryOthers && !(this.trying ? this.unanswered : this.round).has(user))
  }

  /** Whether the directory did not answer about a user in this round. */
  hasFailed(user: UserId): boolean {
    return this.round.has(user)
  }

  /** Whether a delivery of a user must wait during an outage, and is not to be tried next. */
  mustDefer(user: UserId, now: number): boolean {
    return this.round.has(user) || (now < this.tryAt && !this.mayTryOthers)
  }

  /** All users that could be tried have failed, and the pause is over: each may be tried again. */
  startRound(): void {
    this.round.clear()
  }

  /** When what could not be sent is due again. Users who failed come after the others, which are tried first. */
  dueAt(user: UserId, now: number): number {
    if (!this.isOpen) return now + retryLater
    const at = now < this.tryAt ? this.tryAt : now + retryLater
    return this.round.has(user) ? at + afterOthers : at
  }

  /** A delivery is tried. */
  beginTrial(now: number): void {
    if (now >= this.tryAt) this.tries = 0
    this.trying = true
    this.tries++
  }

  /** The try is over, however it went. */
  endTrial(): void {
    this.trying = false
  }

  /** A delivery of a user's integration could not be attempted. */
  failed(cause: BreakerCause, user: UserId, now: number): BreakerVerdict {
    if (cause === "directory") {
      const logged = this.unanswered.get(user)
      const answersOthers = this.answered !== null && this.answered !== user
      if (!this.isOpen && logged === true) return "known"
      if (!this.isOpen && answersOthers) {
        // Logged the second time: the first may be the directory going away, so others must be answered about first.
        const isNews = logged === undefined
        this.unanswered.set(user, !isNews)
        if (isNews) this.answered = null
        return isNews ? "known" : "own"
      }
      this.answered = null
      this.unanswered.set(user, logged ?? false)
      this.round.add(user)
    }
    const isNew = !this.begun.has(cause)
    if (isNew) this.begun.set(cause, now)
    if (isNew || this.trying) this.tryAt = now + retryLater
    return isNew ? "begins" : "lasts"
  }

  /** One got through; says how long the outage lasted that is over by it, null when there was none. */
  succeeded(cause: BreakerCause, user: UserId, now: number): number | null {
    if (cause === "directory") {
      this.answered = user
      if (this.unanswered.size > 0) this.unanswered.delete(user)
    }
    const since = this.begun.get(cause)
    if (since === undefined) return null
    this.begun.delete(cause)
    if (cause === "directory") this.round.clear()
    if (!this.isOpen) this.tries = 0
    return now - since
  }
}
