/**
 * A signal within this process: a publisher has stored events. Feeds that are being followed then look for them at once.
 */
import { Context } from "effect"

export class EventSignal {
  readonly #listeners = new Set<() => void>()

  /** Costs nothing while nobody listens. */
  signal(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Calls back at each signal until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

/** One for the whole process: a signal of another doorhook in it only causes a look that finds nothing. */
export const StoredEvents = Context.Reference<EventSignal>("@doorhook/core/publish/StoredEvents", {
  defaultValue: () => new EventSignal()
})
