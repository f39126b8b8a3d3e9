/**
 * The clock of the store. It decides due times, lifetimes, leases and the expiry of tokens, so it must be the same for
 * all processes of a store.
 *
 * A store with a clock of its own, like a PostgreSQL server, is measured: a process asks for the store's time and then
 * counts on with its own monotonic clock. Neither a wrong wall clock of the process's machine nor its jumps matter. All
 * other stores use Effect's `Clock`.
 */
import { Clock, Context, Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** How far this machine's wall clock is ahead of the store's, in milliseconds; negative if it is behind. */
export interface ClockOffset {
  readonly ahead_ms: number
  /** Half the round trip of the measurement, and what the clocks may have drifted apart since. */
  readonly error_ms: number
}

/** Returns the part of an offset that is not an error of its measurement, in milliseconds. */
export const certainOffset = ({ ahead_ms, error_ms }: ClockOffset): number =>
  Math.sign(ahead_ms) * Math.max(0, Math.abs(ahead_ms) - error_ms)

/** Greatest offset that is not a fault, in milliseconds. A greater one is a health status and a notification. */
export const clockFault = 5_000

export interface StoreClockShape {
  /** Returns the store's time, in whole milliseconds since the epoch. */
  readonly now: () => number
  /**
   * False from the moment when this machine may have been suspended, until the next measurement. The monotonic clock
   * may not count a suspension, so the store's time may be later than `now`.
   */
  readonly isCertain: () => boolean
  /** Whether the store's clock jumped, or this machine was suspended, in the last `millis` milliseconds. */
  readonly hasJumped: (millis: number) => boolean
  /** Measures the store's clock. If it fails, the last measurement still counts. */
  readonly measure: Effect.Effect<void, StoreError>
  /** Returns the offset of this machine's clock; null without a clock of the store, or while the time is uncertain. */
  readonly offset: () => ClockOffset | null
}

/** The measured clock of the store; null for a store without a clock of its own. */
export const StoreClock = Context.Reference<StoreClockShape | null>("@doorhook/core/ports/StoreClock", {
  defaultValue: () => null
})

/**
 * Returns the store's clock, or Effect's for a store without one. Services call it when they are built. A fiber that
 * uses them later may belong to the host and have another clock.
 */
export const storeClock: Effect.Effect<StoreClockShape> = Effect.gen(function* () {
  const measured = yield* StoreClock
  const clock = yield* Clock.Clock
  return (
    measured ?? {
      now: () => clock.currentTimeMillisUnsafe(),
      isCertain: () => true,
      hasJumped: () => false,
      measure: Effect.void,
      offset: () => null
    }
  )
})

/** Returns a function that reads the store's time (see `storeClock`). */
export const storeTime: Effect.Effect<() => number> = Effect.map(storeClock, ({ now }) => now)

/** How far two clocks may drift apart, as a share of the time that passes. */
const drift = 500e-6

/**
 * Smallest difference that counts as a jump of a clock, in milliseconds. Programs that correct clocks gradually stay
 * below it between two measurements.
 */
const leastJump = 1_000

/** Maximum number of readings for one measurement, and the error with which a measurement ends early. */
const mostReadings = 3
const goodError = 20

/** A reading of the store's clock. `sent` and `received` are monotonic times. */
interface Reading {
  readonly sent: number
  readonly received: number
  readonly time: number
}

/** The monotonic time `at`, when the store's time was `time`, give or take `error`. */
interface Anchor {
  readonly at: number
  readonly time: number
  readonly error: number
}

const unread: Anchor = { at: 0, time: 0, error: Number.POSITIVE_INFINITY }

/** A store's clock, measured by readings. All times are in milliseconds. */
export class MeasuredClock implements StoreClockShape {
  readonly #clock: Clock.Clock
  readonly #read: Effect.Effect<number, StoreError>
  #anchor = unread
  /** How far the wall clock was ahead of the monotonic one at the last measurement. */
  #lead = Number.NaN
  /** Monotonic time of the last jump. */
  #jumpedAt = Number.NEGATIVE_INFINITY

  private constructor(clock: Clock.Clock, read: Effect.Effect<number, StoreError>) {
    this.#clock = clock
    this.#read = read
  }

  /** Makes a clock and measures it. `read` returns the store's time; it must not wait for locks. */
  static make(read: Effect.Effect<number, StoreError>): Effect.Effect<MeasuredClock, StoreError> {
    return Effect.gen(function* () {
      const clock = new MeasuredClock(yield* Clock.Clock, read)
      for (let count = 1; count <= mostReadings && clock.#anchor.error > goodError; count++) yield* clock.measure
      return clock
    })
  }

  readonly now = (): number => Math.floor(this.#timeAt(this.#steady()))

  readonly isCertain = (): boolean => Math.abs(this.#wall() - this.#steady() - this.#lead) <= leastJump

  readonly hasJumped = (millis: number): boolean => this.#steady() - this.#jumpedAt < millis

  readonly measure: Effect.Effect<void, StoreError> = Effect.suspend(() => this.#measureWithin(mostReadings))

  readonly offset = (): ClockOffset | null => {
    if (!this.isCertain()) return null
    const steady = this.#steady()
    return { ahead_ms: Math.round(this.#wall() - this.#timeAt(steady)), error_ms: Math.ceil(this.#errorAt(steady)) }
  }

  #measureWithin(readings: number): Effect.Effect<void, StoreError> {
    const sent = this.#steady()
    const lead = this.#wall() - sent
    return Effect.flatMap(this.#read, (time) => {
      const received = this.#steady()
      const leadNow = this.#wall() - received
      // The machine may have been suspended during the reading, which then seems shorter than it was.
      const isSound = Math.abs(leadNow - lead) <= leastJump
      if (!isSound && readings > 1) return this.#measureWithin(readings - 1)
      this.#note({ sent, received, time })
      if (isSound) this.#lead = leadNow
      return Effect.void
    })
  }

  /**
   * Takes a reading as the new anchor if it is more exact than the old anchor or contradicts it, or if the old one can't
   * be relied on.
   */
  #note({ received, sent, time }: Reading): void {
    const at = (sent + received) / 2
    const read = { at, time, error: (received - sent) / 2 }
    const expected = this.#errorAt(at)
    const difference = Math.abs(time - this.#timeAt(at))
    if (difference > expected + read.error + leastJump) this.#jumpedAt = received
    if (!this.isCertain() || read.error <= expected || difference > expected + read.error) this.#anchor = read
  }

  #timeAt(steady: number): number {
    return this.#anchor.time + (steady - this.#anchor.at)
  }

  #errorAt(steady: number): number {
    return this.#anchor.error + drift * Math.abs(steady - this.#anchor.at)
  }

  #steady(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  #wall(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }
}
