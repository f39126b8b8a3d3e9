/**
 * What a host publishes, until it is accepted: it makes a publication again that nobody answered, under the same key. A
 * store that refuses one again and again stops the run.
 */
import { StoreError } from "@doorhook/core"
import { Cause, Exit } from "effect"
import type { Measurements } from "../results/Measurements.ts"
import type { Publication } from "./VirtualOptions.ts"
import { VirtualStopped } from "./VirtualStopped.ts"
import type { Worker } from "./Worker.ts"

/** How often a store may refuse one publication: what passes by itself has passed by then. */
const mostRefusals = 10

/** What one request to publish carries. */
interface Batch {
  readonly publications: ReadonlyArray<Publication>
  readonly key: string | null
  /** How often a store has refused it. */
  refusals: number
}

export interface PublicationsOptions {
  readonly measurements: Measurements
  /** What the wall clock says. */
  readonly now: () => number
  /** A process that takes publications; undefined when there is none now. */
  readonly ready: () => Worker | undefined
  /** Whether processes die, so that publications need keys. */
  readonly keyed: boolean
}

export class Publications {
  readonly #options: PublicationsOptions
  #made = 0
  #open = 0
  /** What was given to a process and is not answered. */
  readonly #unanswered = new Map<Batch, Worker>()
  /** What waits for a process that takes it. */
  #waiting: Array<Batch> = []
  #stopped: VirtualStopped | null = null

  constructor(options: PublicationsOptions) {
    this.#options = options
  }

  /** How many have been given to a process and are not answered. */
  get open(): number {
    return this.#open
  }

  get isSettled(): boolean {
    return this.#open === 0 && this.#waiting.length === 0
  }

  /** Why nothing more is published; null as long as it is. */
  get stopped(): VirtualStopped | null {
    return this.#stopped
  }

  publish(publications: ReadonlyArray<Publication>): void {
    this.#hand({ publications, key: this.#options.keyed ? `run-${this.#made++}` : null, refusals: 0 })
  }

  /** There is a process again. */
  resume(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const batch of waiting) this.#hand(batch)
  }

  /** A process died: says what to do later on, when its host has given up waiting for it. */
  cutOff(dead: Worker): ReadonlyArray<() => void> {
    return [...this.#unanswered].flatMap(([batch, worker]) => {
      if (worker !== dead) return []
      this.#unanswered.delete(batch)
      return () => this.#again(batch)
    })
  }

  /** A process did not take it. Only a store that refused it may take it later. */
  #refused(batch: Batch, failure: unknown): void {
    const { measurements, now } = this.#options
    batch.refusals++
    if (failure instanceof StoreError && batch.refusals < mostRefusals) return this.#again(batch)
    this.#open--
    const tried = "publish an event"
    this.#stopped ??= new VirtualStopped({ tried, tries: batch.refusals, at: now(), cause: failure })
    measurements.fail(0, batch.publications.length, this.#stopped.message)
  }

  #again(batch: Batch): void {
    this.#open--
    this.#hand(batch)
  }

  #hand(batch: Batch): void {
    const { measurements, now, ready } = this.#options
    const worker = ready()
    if (worker === undefined) {
      this.#waiting.push(batch)
      return
    }
    this.#open++
    const { key, publications } = batch
    const began = now()
    this.#unanswered.set(batch, worker)
    const events = publications.map(({ event }) => event)
    worker.publish(events, key, (exit) => {
      if (!this.#unanswered.delete(batch)) return
      if (Exit.isFailure(exit)) return this.#refused(batch, Cause.squash(exit.cause))
      this.#open--
      for (const { at } of publications) measurements.accept(now() - at, now() - began)
    })
  }
}
