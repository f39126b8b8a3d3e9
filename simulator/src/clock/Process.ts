/**
 * A process that can be killed at any moment, and a mailbox for input from outside. After the kill, none of its fibers
 * or finalizers runs again.
 */
import { Clock, Context, Duration, Effect, Random, References, Scheduler } from "effect"
import type { Rng } from "../random/Substream.ts"
import type { VirtualTime } from "./VirtualTime.ts"

const nanos = (millis: number): bigint => BigInt(millis) * 1_000_000n

export class Process {
  readonly number: number
  /** How far the process's clock is ahead of the world's, in milliseconds. Its clock jumps when this changes. */
  skew: number
  readonly context: Context.Context<never>
  #alive = true

  constructor(number: number, time: VirtualTime, rng: Rng, skew: number) {
    this.number = number
    this.skew = skew
    const alive = () => this.#alive
    const wall = () => time.wall + this.skew
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: wall,
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanosUnsafe: () => nanos(wall()),
      currentTimeNanos: Effect.sync(() => nanos(wall())),
      monotonicTimeNanosUnsafe: () => nanos(time.now),
      monotonicTimeNanos: Effect.sync(() => nanos(time.now)),
      sleep: (duration) => this.wait(time, Duration.toMillis(duration))
    }
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      // A fiber runs until it waits, so no other fiber runs in the middle of a synchronous step.
      shouldYield: () => false,
      makeDispatcher: () => ({
        scheduleTask: (task) => time.schedule(() => (alive() ? task() : undefined)),
        flush: () => {}
      })
    }
    const random = {
      nextDoubleUnsafe: () => rng.uniform(),
      nextIntUnsafe: () => Math.floor(rng.uniform() * Number.MAX_SAFE_INTEGER)
    }
    this.context = Context.make(Clock.Clock, clock).pipe(
      Context.add(Scheduler.Scheduler, scheduler),
      Context.add(Random.Random, random),
      Context.add(References.MinimumLogLevel, "None")
    )
  }

  get alive(): boolean {
    return this.#alive
  }

  kill(): void {
    this.#alive = false
  }

  /** Waits on virtual time; forever if `millis` is infinite. */
  wait(time: VirtualTime, millis: number): Effect.Effect<void> {
    if (millis === Infinity) return Effect.never
    if (millis <= 0) return Effect.yieldNow
    return Effect.callback<void>((resume) => {
      const timer = time.after(millis, () => (this.#alive ? resume(Effect.void) : undefined))
      return Effect.sync(() => {
        timer.cancelled = true
      })
    })
  }
}

/** Queue of input from outside the process. Only one fiber may take from the queue. */
export class Mailbox<A> {
  readonly #items: Array<A> = []
  #waiting: ((item: Effect.Effect<A>) => void) | null = null

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  put(item: A): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (waiting === null) this.#items.push(item)
    else waiting(Effect.succeed(item))
  }

  readonly take: Effect.Effect<A> = Effect.callback<A>((resume) => {
    const [item] = this.#items.splice(0, 1)
    if (item !== undefined) return resume(Effect.succeed(item))
    this.#waiting = resume
    return Effect.sync(() => {
      this.#waiting = null
    })
  })
}
