/**
 * Disturbances of a plan to order: events that are sent twice, out of their order, or long after they happened.
 *
 * An event that is moved keeps what it says of itself (`logged_at`); only when it is sent changes.
 */
import { Stream } from "effect"
import { fromIso } from "./IsoTime.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"
import { between, chance } from "../random/Distribution.ts"
import { exp, ln } from "../random/Arithmetic.ts"
import type { Rng } from "../random/Substream.ts"

/** Shares of events, from 0 to 1. */
export interface DisorderRates {
  readonly repeated: number
  /** Of those that are not delayed. */
  readonly reordered: number
  readonly delayed: number
}

export const orderly: DisorderRates = { repeated: 0, reordered: 0, delayed: 0 }

/** An event and when it is sent, in milliseconds since the epoch, in the time of the plan. */
export interface Sending {
  readonly event: PlannedEvent
  readonly at: number
  readonly kind: "planned" | "repeated" | "reordered" | "delayed"
}

const second = 1_000
const minute = 60 * second

/** Of what is sent twice, the second time comes so much later; what is out of order comes after others; what is late, long after. */
const repeatedAfter = [100, 30 * second] as const
const reorderedBy = [1 * second, 30 * second] as const
const delayedBy = [5 * minute, 120 * minute] as const

/** What waits for its time, the earliest first. */
class Waiting {
  readonly #sendings: Array<Sending> = []

  add(sending: Sending): void {
    let [low, high] = [0, this.#sendings.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sendings[middle]?.at ?? 0) <= sending.at) low = middle + 1
      else high = middle
    }
    this.#sendings.splice(low, 0, sending)
  }

  takeUntil(at: number): Array<Sending> {
    const count = this.#sendings.findIndex((sending) => sending.at > at)
    return this.#sendings.splice(0, count === -1 ? this.#sendings.length : count)
  }
}

/** The plan with its times, disturbed. Sendings are in order of time. */
export const disturbed = <E, R>(
  events: Stream.Stream<PlannedEvent, E, R>,
  { delayed, reordered, repeated }: DisorderRates,
  rng: Rng
): Stream.Stream<Sending, E, R> =>
  Stream.suspend(() => {
    const waiting = new Waiting()
    const moved = (at: number): { readonly at: number; readonly kind: Sending["kind"] } => {
      if (delayed > 0 && chance(rng, delayed)) {
        const [least, most] = delayedBy
        return { at: at + Math.round(least * exp(ln(most / least) * rng.uniform())), kind: "delayed" }
      }
      if (reordered > 0 && chance(rng, reordered))
        return { at: at + Math.round(between(rng, ...reorderedBy)), kind: "reordered" }
      return { at, kind: "planned" }
    }
    const next = (event: PlannedEvent): ReadonlyArray<Sending> => {
      const planned = fromIso(event.at)
      const ready = waiting.takeUntil(planned)
      const sending: Sending = { event, ...moved(planned) }
      if (repeated > 0 && chance(rng, repeated))
        waiting.add({ event, at: sending.at + Math.round(between(rng, ...repeatedAfter)), kind: "repeated" })
      if (sending.kind === "planned") ready.push(sending)
      else waiting.add(sending)
      return ready
    }
    const rest = Stream.suspend(() => Stream.fromIterable(waiting.takeUntil(Number.POSITIVE_INFINITY)))
    return events.pipe(
      Stream.chunks,
      Stream.map((chunk) => chunk.flatMap(next)),
      Stream.flatMap(Stream.fromArray),
      Stream.concat(rest)
    )
  })
