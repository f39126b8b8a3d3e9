/**
 * When the suite may send: at most ten requests at the same time, as doorhook, and no faster than `--max-rate`.
 *
 * A receiver may have limits of its own and answer 429 or 503 beyond them. The suite respects the pause that it asks
 * for, as doorhook does. It then sends fewer requests at once, and if that does not help, fewer requests a second.
 */
import { RetryPolicy } from "@doorhook/core"
import { Effect, Scope, Semaphore } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import { limitSpan } from "../evidence/Trace.ts"
import type { Limit } from "../evidence/Trace.ts"

/** Maximum number of requests that doorhook has in flight to one integration. */
export const maxInFlight = 10

/** A request in flight. */
export interface Flight {
  /** Highest number of requests in flight since this request began, itself included. */
  atOnce: number
  /** When the request began and ended, in milliseconds since the run began; `Infinity` while it is in flight. */
  readonly began: number
  ended: number
  /** Whether a limit of the receiver refused it. */
  refused: boolean
}

/** Pause after a refusal that asks for none, in milliseconds. */
const usualPause = 1_000

/** Added to each pause, because the clocks of the suite and the receiver don't agree, in milliseconds. */
const margin = 50

/** How often one request is sent again while a limit refuses it. */
export const mostTries = 5

/** Share of a receiver's apparent rate at which the suite sends. */
const prudence = 0.9

const second = 1_000

/** Requests are remembered for this many milliseconds. */
const remembered = 60_000

/** Number of other requests shortly before a refusal from which the refusal may be due to a limit. */
const leastBefore = 2

/** Maximum number of times in a run that refused requests are sent again. */
const mostRepeats = 60

/** Number of permits that a request takes, for at most 10, 5, 2 or 1 requests at the same time. */
const weights = [1, 2, 5, maxInFlight] as const

export class Slots {
  readonly #now: () => number
  readonly #longestPause: number
  readonly #permits = Semaphore.makeUnsafe(maxInFlight)
  /** A semaphore prefers callers that take few permits. This queue ensures that a call for all permits gets its turn. */
  readonly #queue = Semaphore.makeUnsafe(1)
  readonly #underWay = new Set<Flight>()
  /** Requests by when they began. */
  readonly #sent: Array<Flight> = []
  /**
   * Number of other requests shortly before a refusal from which the refusal may be due to a limit: no number while the
   * receiver has accepted nothing, then 1, and `leastBefore` once it has accepted that many within a second.
   */
  #leastOthers = Infinity
  /** Index in `weights`. */
  #restraint = 0
  /** Requests a second; null for no bound. */
  #rate: number | null
  #nextTurn = 0
  #pausedUntil = 0
  #adaptedAt = 0
  #repeats = 0

  /**
   * `now` returns the milliseconds since the run began. `maxRate` is in requests a second, null for no bound. A pause
   * longer than `longestPause` milliseconds is not waited for.
   */
  constructor(now: () => number, maxRate: number | null, longestPause: number) {
    this.#now = now
    this.#rate = maxRate
    this.#longestPause = longestPause
  }

  /** Time from one request to the next, in milliseconds; 0 without a bound. */
  get interval(): number {
    return this.#rate === null ? 0 : second / this.#rate
  }

  /** Sends one request when it is its turn. */
  one<A, E, R>(send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.#take(() => weights[this.#restraint] ?? maxInFlight, 1, send)
  }

  /** Sends this many requests once they can all be sent at the same time. */
  together<A, E, R>(count: number, send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.#take(() => Math.min(count, maxInFlight), count, send)
  }

  /**
   * Sends a request that does not end by itself, when it is its turn. It takes no permit: requests that need more than
   * are left would wait for its end.
   */
  unfinished<A, E, R>(send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.#take(() => 0, 1, send)
  }

  /** Sends with no other request in flight, except unfinished ones. Deadlocks inside `one` and `together`. */
  alone<A, E, R>(send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.#take(() => maxInFlight, 1, send)
  }

  /** Counts a request as in flight while it is sent. */
  counted<A, E, R>(send: (flight: Flight) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const flight: Flight = { atOnce: 0, began: this.#now(), ended: Infinity, refused: false }
      this.#underWay.add(flight)
      this.#sent.push(flight)
      for (const one of this.#underWay) one.atOnce = Math.max(one.atOnce, this.#underWay.size)
      return Effect.ensuring(
        send(flight),
        Effect.sync(() => {
          flight.ended = this.#now()
          this.#underWay.delete(flight)
        })
      )
    })
  }

  /**
   * Returns the limit that an answer shows; null if it shows none. A refusal is due to a limit if other requests were in
   * flight or came shortly before: a receiver that refuses a single request has another reason.
   *
   * A receiver may count a request at any time between its begin and its end, which are far apart on a busy machine. It
   * counts over a second, or over the pause that it asks for.
   */
  limitIn(flight: Flight, exchange: Exchange): Limit | null {
    if (exchange._tag !== "Answered" || (exchange.status !== 429 && exchange.status !== 503)) {
      if (this.#leastOthers === leastBefore) return null
      const since = this.#now() - second
      const isAccepted = (one: Flight): boolean => !one.refused && (one === flight || one.ended < Infinity)
      const together = this.#sent.filter((one) => one.began >= since && isAccepted(one)).length
      this.#leastOthers = Math.min(leastBefore, Math.max(1, together))
      return null
    }
    flight.refused = true
    const asked = RetryPolicy.parseRetryAfter(exchange.retry_after, Date.now())
    const span = limitSpan({ asked })
    const from = flight.began - span
    // Some receivers count refused requests, too.
    const others = this.#sent.filter((one) => one !== flight && one.ended >= from).length
    if (flight.atOnce === 1 && others < this.#leastOthers) return null
    return { asked, before: this.#accepted(span) }
  }

  /**
   * Adapts to a limit: pauses all requests, and sends fewer at once or a second from then on. Returns false if the
   * refused request must not be sent again, because the pause is too long or too many requests were refused.
   */
  adapt(flight: Flight, { asked }: Limit): boolean {
    const pause = asked ?? usualPause
    if (pause > this.#longestPause || ++this.#repeats > mostRepeats) return false
    const now = this.#now()
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pause + margin)
    // Requests that were already in flight say nothing about the adapted rate.
    if (flight.began >= this.#adaptedAt) {
      this.#adaptedAt = now
      if (flight.atOnce > 1 && this.#restraint < weights.length - 1) this.#restraint += 1
      else this.#slowDown(limitSpan({ asked: pause }))
    }
    return true
  }

  /** Forgets the requests so far, because the receiver has restarted. */
  forget(): void {
    this.#sent.length = 0
  }

  /** Bounds the rate by what the receiver accepted within `span` milliseconds. */
  #slowDown(span: number): void {
    const rate = (prudence * Math.max(1, this.#accepted(span)) * second) / span
    this.#rate = Math.min(this.#rate ?? Infinity, rate)
  }

  /** Counts the requests that the receiver accepted in the last `span` milliseconds. */
  #accepted(span: number): number {
    const from = this.#now() - span
    return this.#sent.filter(({ ended, refused }) => !refused && ended >= from && ended < Infinity).length
  }

  #take<A, E, R>(permits: () => number, count: number, send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.scopedWith((scope) =>
      Effect.andThen(
        this.#queue.withPermits(1)(
          Effect.suspend(() => this.#permits.takeScoped(permits())).pipe(
            Effect.provideService(Scope.Scope, scope),
            Effect.andThen(this.#turn(count))
          )
        ),
        send
      )
    )
  }

  /** Waits until `count` requests may be sent. */
  #turn(count: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const oldest = this.#sent[0]?.began ?? 0
      if (oldest < this.#now() - 2 * remembered) {
        const since = this.#now() - remembered
        this.#sent.splice(0, this.#sent.findLastIndex(({ began }) => began < since) + 1)
      }
      for (let wait = this.#wait(); wait > 0; wait = this.#wait()) yield* Effect.sleep(wait)
      this.#nextTurn = this.#now() + count * this.interval
    })
  }

  #wait(): number {
    return Math.max(this.#nextTurn, this.#pausedUntil) - this.#now()
  }
}
