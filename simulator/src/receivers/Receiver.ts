/**
 * A modelled receiver: what becomes of a request, without a network.
 *
 * A receiver is a chain of traits, asked in order; the first that has an answer gives it. What no trait answers is
 * acknowledged after the latency that the chain says.
 */
import type { TransportResult } from "@doorhook/core"
import type { Lognormal } from "../random/Distribution.ts"
import { lognormal } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"

/** A request as a receiver meets it. All times in milliseconds. */
export interface Arrival {
  /** Since the epoch. */
  readonly now: number
  /** Since the beginning of the run. */
  readonly sinceStart: number
  /** How long the sender waits for the answer. */
  readonly deadline: number
  /** The minute of the day and the date at the receiver. */
  readonly local: { readonly minute: number; readonly date: string }
}

/** What became of a request. */
export interface Reception {
  readonly result: TransportResult
  /** Whether the receiver did with it what it does with events, whatever the sender heard. */
  readonly processed: boolean
}

/** What a trait draws from. */
export interface Senses {
  readonly rng: Rng
  /** How long this receiver takes today, in milliseconds. */
  readonly latency: () => number
}

/** One way in which a receiver is not perfect. Null when it lets a request pass to the next trait. */
export type Trait = (arrival: Arrival, senses: Senses) => Reception | null

/** Times from the start to the answer. */
export interface ReceiverModel {
  readonly traits: ReadonlyArray<() => Trait>
  readonly latency: Lognormal
}

export const answered = (
  status: number,
  elapsed: number,
  processed: boolean,
  retry_after: string | null = null
): Reception => ({
  processed,
  result: { _tag: "Answered", status, retry_after, excerpt: "", headers_elapsed: elapsed, elapsed }
})

export const failed = (
  outcome: "timeout" | "connection_refused" | "connection_reset",
  elapsed: number,
  processed: boolean
): Reception => ({ processed, result: { _tag: "Failed", outcome, detail: `modelled: ${outcome}`, elapsed } })

/** What is answered after a time; too late for the deadline it is a timeout to the sender, and done all the same. */
const answeredAfter = (status: number, elapsed: number, deadline: number, processed: boolean): Reception =>
  elapsed > deadline ? failed("timeout", deadline, processed) : answered(status, elapsed, processed)

/** How long a refusal takes: it needs no thought. In milliseconds. */
export const refusalTime = 20

export class Receiver {
  readonly #traits: ReadonlyArray<Trait>
  readonly #senses: Senses

  constructor(model: ReceiverModel, rng: Rng) {
    this.#traits = model.traits.map((make) => make())
    this.#senses = { rng, latency: () => Math.max(1, Math.round(lognormal(rng, model.latency))) }
  }

  receive(arrival: Arrival): Reception {
    for (const trait of this.#traits) {
      const reception = trait(arrival, this.#senses)
      if (reception !== null) return reception
    }
    return answeredAfter(200, this.#senses.latency(), arrival.deadline, true)
  }
}
