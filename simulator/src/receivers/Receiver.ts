/**
 * A modelled receiver, which answers requests without a network.
 *
 * A request passes through a chain of traits until one of them answers it. If none does, one of the receiver's workers
 * processes the request, which takes the receiver's latency.
 */
import type { TransportResult } from "@doorhook/core"
import type { Lognormal } from "../random/Distribution.ts"
import { chance, lognormal } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { parseDay } from "../world/CalendarDate.ts"
import type { momentAt } from "../world/LocalDay.ts"

/** A request as a receiver gets it. Times in milliseconds. */
export interface IncomingRequest {
  /** Time since the epoch. */
  readonly now: number
  /** Time since the beginning of the run. */
  readonly sinceStart: number
  /** How long the sender waits for the answer. */
  readonly deadline: number
  /** Day and minute in the receiver's local time. */
  readonly local: ReturnType<typeof momentAt>
}

/** Outcome of a request as the sender sees it, and whether the receiver processed the event. */
export interface Reception {
  readonly result: TransportResult
  readonly processed: boolean
  /** Whether the receiver is down. */
  readonly isDown?: boolean
}

interface Senses {
  readonly rng: Rng
  /** Draws the receiver's latency, in milliseconds. */
  readonly latency: () => number
}

/** A kind of misbehaviour of a receiver. Returns null to pass the request on to the next trait. */
export type Trait = (request: IncomingRequest, senses: Senses) => Reception | null

/** Limits of a receiver that can't process all requests at the same time. */
export interface Capacity {
  /** Number of requests that the receiver can process at the same time. */
  readonly workers: number
  /** Number of requests that can wait for a worker. Further requests get a 503. */
  readonly queue: number
  /**
   * Time, in milliseconds, for which the receiver is slower after an outage. The receiver starts at a fifth of its
   * usual speed and recovers steadily.
   */
  readonly recovery: number
}

export interface ReceiverModel {
  readonly traits: ReadonlyArray<() => Trait>
  readonly latency: Lognormal
  /** Null for a receiver without limits. */
  readonly capacity: Capacity | null
}

/** Time to refuse a request, in milliseconds. A refusal needs no worker. */
const refusalTime = 20

/** Factor by which a request takes longer right after an outage. */
const slowest = 5

const answered = (
  status: number,
  elapsed: number,
  processed: boolean,
  retry_after: string | null = null
): Reception => ({
  processed,
  result: { _tag: "Answered", status, retry_after, excerpt: "", headers_elapsed: elapsed, elapsed }
})

const failed = (
  outcome: "timeout" | "connection_refused" | "connection_reset",
  elapsed: number,
  processed: boolean
): Reception => ({ processed, result: { _tag: "Failed", outcome, detail: `modelled: ${outcome}`, elapsed } })

export class Receiver {
  readonly #traits: ReadonlyArray<Trait>
  readonly #senses: Senses
  readonly #capacity: Capacity | null
  /**
   * Times at which each worker becomes free, and at which each waiting request begins, in milliseconds since the epoch.
   */
  readonly #freeAt: Array<number>
  #waiting: Array<number> = []
  #downUntil = Number.NEGATIVE_INFINITY

  constructor({ capacity, latency, traits }: ReceiverModel, rng: Rng) {
    this.#traits = traits.map((make) => make())
    this.#capacity = capacity
    this.#freeAt = Array.from({ length: capacity?.workers ?? 0 }, () => 0)
    this.#senses = { rng, latency: () => Math.max(1, Math.round(lognormal(rng, latency))) }
  }

  receive(request: IncomingRequest): Reception {
    for (const trait of this.#traits) {
      const reception = trait(request, this.#senses)
      if (reception === null) continue
      if (reception.isDown === true) this.#downUntil = request.now
      return reception
    }
    const elapsed = this.#capacity === null ? this.#senses.latency() : this.#served(request.now, this.#capacity)
    if (elapsed === null) return answered(503, refusalTime, false)
    // After the deadline, the sender sees a timeout, but the event is processed.
    return elapsed > request.deadline ? failed("timeout", request.deadline, true) : answered(200, elapsed, true)
  }

  /**
   * Returns the time that a request takes, in milliseconds, including the wait for a worker; null if the queue is full.
   */
  #served(now: number, { queue, recovery }: Capacity): number | null {
    this.#waiting = this.#waiting.filter((begins) => begins > now)
    const worker = this.#freeAt.indexOf(Math.min(...this.#freeAt))
    const begins = Math.max(now, this.#freeAt[worker] ?? 0)
    if (begins > now && this.#waiting.length >= queue) return null
    const since = recovery === 0 ? 1 : Math.min(1, (now - this.#downUntil) / recovery)
    const ends = begins + Math.round(this.#senses.latency() * (slowest - (slowest - 1) * since))
    this.#freeAt[worker] = ends
    if (begins > now) this.#waiting.push(begins)
    return ends - now
  }
}

/** A down time of a receiver on every day or on one day, in minutes of local time. Can span midnight. */
export interface DownTime {
  readonly from: number
  readonly to: number
  /** `2026-03-03`; null for every day. */
  readonly on: string | null
  /** Whether requests are taken but never answered, instead of refused. */
  readonly swallows: boolean
}

/** Whether a moment, in the receiver's local time, lies within a down time. */
export const isWithin = (
  { from, on, to }: Omit<DownTime, "swallows">,
  { day, minute }: IncomingRequest["local"]
): boolean => {
  const isOn = (date: number) => on === null || parseDay(on) === date
  if (from < to) return minute >= from && minute < to && isOn(day)
  return (minute >= from && isOn(day)) || (minute < to && isOn(day - 1))
}

/** Traits for common failures of receivers. Shares are from 0 to 1, times in milliseconds. */
export const traits = {
  /** Connections are refused, or requests get no answer. */
  down:
    (time: DownTime) =>
    (): Trait =>
    ({ deadline, local }) => {
      if (!isWithin(time, local)) return null
      const reception = time.swallows
        ? failed("timeout", deadline, false)
        : failed("connection_refused", refusalTime, false)
      return { ...reception, isDown: true }
    },

  /** Answers 410 to every request once `after` milliseconds of the run have passed. */
  gone:
    (after: number) =>
    (): Trait =>
    ({ sinceStart }) =>
      sinceStart >= after ? answered(410, refusalTime, false) : null,

  /** Some requests get a server error or a broken connection. */
  flaky:
    (share: number) =>
    (): Trait =>
    ({ deadline }, { latency, rng }) => {
      if (!chance(rng, share)) return null
      const elapsed = Math.min(latency(), deadline)
      return chance(rng, 0.7)
        ? answered(rng.below(2) === 0 ? 500 : 502, elapsed, false)
        : failed("connection_reset", elapsed, false)
    },

  /** Some events are processed, but the answer is lost. */
  acknowledgementLost:
    (share: number) =>
    (): Trait =>
    ({ deadline }, { latency, rng }) =>
      chance(rng, share) ? failed("connection_reset", Math.min(latency(), deadline), true) : null,

  /** Some answers arrive after the deadline: the event is processed, but sent again. */
  late:
    (share: number) =>
    (): Trait =>
    ({ deadline }, { rng }) =>
      chance(rng, share) ? failed("timeout", deadline, true) : null,

  /** Accepts `limit` requests in each period, and answers the others with 429 and a Retry-After. */
  rateLimited: (limit: number, period: number, retryAfter: number | null) => (): Trait => {
    let current = 0
    let taken = 0
    return ({ now }) => {
      const place = Math.floor(now / period)
      if (place !== current) taken = 0
      current = place
      if (++taken <= limit) return null
      const wait = retryAfter ?? period - (now % period)
      return answered(429, refusalTime, false, `${Math.max(1, Math.ceil(wait / 1_000))}`)
    }
  }
}
