/**
 * Circuit breaker for the two things that every delivery depends on: the directory and outbound connections.
 *
 * It opens when one of them fails. Then one delivery is tried at a time, with pauses (half-open), and all others wait
 * in the store. The first success closes it.
 *
 * If the directory fails for one user only, only that user's deliveries wait. The next delivery of another user shows
 * whether the failure is limited to one user. Trials therefore alternate between users. After each pause, deliveries of
 * a few different users are tried one after another (`maxTrials`).
 *
 * Plain state without timers or I/O. All times are in milliseconds since the epoch.
 */
import type { UserId } from "../model/Ids.ts"
import { afterOthers, maxTrials, retryLater } from "./EngineConstants.ts"

/** The dependencies that can fail. */
export const breakerCauses = ["directory", "egress"] as const
export type BreakerCause = (typeof breakerCauses)[number]

const endTexts: Readonly<Record<BreakerCause, string>> = {
  directory: "The directory answers again",
  egress: "Outbound connections work again"
}

/** Returns the log text for the end of an outage. `lasted` is in milliseconds. */
export const endText = (cause: BreakerCause, lasted: number): string =>
  `${endTexts[cause]} after ${Math.round(lasted / 1_000)} s`

/** A failed dependency, and when its failure began. */
export interface Outage {
  readonly cause: BreakerCause
  readonly since: number
}

/**
 * Meaning of a failure: an outage begins (`begins`) or continues (`lasts`). Otherwise the directory fails for this user
 * only, which should be logged now (`own`) or not (`known`).
 */
export type BreakerVerdict = "begins" | "lasts" | "own" | "known"

export class CircuitBreaker {
  /** Start of each current outage. */
  private readonly begun = new Map<BreakerCause, number>()
  /**
   * Users whose last directory request failed. The value is true once the log has reported the failure as limited to
   * the user.
   */
  private readonly unanswered = new Map<UserId, boolean>()
  /** The user of the last successful directory request. Null after a later failure that may concern all users. */
  private answered: UserId | null = null
  /** Users for whom the directory failed in this round of trials. */
  private readonly round = new Set<UserId>()
  private tryAt = 0
  private tries = 0
  private trying = false

  /** Whether an outage stops deliveries. */
  get isOpen(): boolean {
    return this.begun.size > 0
  }

  /** Whether a trial is in progress. */
  get hasTrial(): boolean {
    return this.trying
  }

  /** The longest current outage; null if there is none. */
  get longest(): Outage | null {
    let longest: Outage | null = null
    for (const [cause, since] of this.begun) {
      if (longest === null || since < longest.since) longest = { cause, since }
    }
    return longest
  }

  /** End of the pause before the next claim for a trial; null if a claim is allowed now. */
  pausedUntil(now: number): number | null {
    if (!this.isOpen) return null
    if (this.trying) return Number.POSITIVE_INFINITY
    // Limits the wait to one pause if the clock was set back.
    this.tryAt = Math.min(this.tryAt, now + retryLater)
    return now < this.tryAt ? this.tryAt : null
  }

  /**
   * Whether another user may be tried without a pause. False while outbound connections fail, which affects all users.
   */
  private get mayTryOthers(): boolean {
    return !this.begun.has("egress") && this.tries < maxTrials
  }

  /**
   * Whether a user's published deliveries may be held in memory, to be tried without a pause. Otherwise they wait in
   * the store.
   */
  mayHold(user: UserId): boolean {
    // A trial may hang. Deliveries of users with earlier failures would pile up behind it and then have to be released
    // again.
    return !this.isOpen || (this.mayTryOthers && !(this.trying ? this.unanswered : this.round).has(user))
  }

  /** Whether the directory failed for a user in this round. */
  hasFailed(user: UserId): boolean {
    return this.round.has(user)
  }

  /** Whether a delivery of a user must wait instead of being the next trial. */
  mustDefer(user: UserId, now: number): boolean {
    return this.round.has(user) || (now < this.tryAt && !this.mayTryOthers)
  }

  /** Starts a new round, in which every user may be tried again. */
  startRound(): void {
    this.round.clear()
  }

  /** Returns when a delivery that could not be sent is due again. Users for whom the directory failed come last. */
  dueAt(user: UserId, now: number): number {
    if (!this.isOpen) return now + retryLater
    const at = now < this.tryAt ? this.tryAt : now + retryLater
    return this.round.has(user) ? at + afterOthers : at
  }

  /** Notes the start of a trial. */
  beginTrial(now: number): void {
    if (now >= this.tryAt) this.tries = 0
    this.trying = true
    this.tries++
  }

  /** Notes the end of a trial, successful or not. */
  endTrial(): void {
    this.trying = false
  }

  /** Notes that a delivery of a user's integration could not be attempted. */
  failed(cause: BreakerCause, user: UserId, now: number): BreakerVerdict {
    if (cause === "directory") {
      const logged = this.unanswered.get(user)
      const answersOthers = this.answered !== null && this.answered !== user
      if (!this.isOpen && logged === true) return "known"
      if (!this.isOpen && answersOthers) {
        // A user's first failure may be the start of an outage, which the next user's request shows. Only the second
        // failure is logged.
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

  /** Notes a success. Returns the length of the outage that this ended, in milliseconds; null if there was none. */
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
