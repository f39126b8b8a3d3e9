/**
 * A system that delivers webhooks durably: ours, or a queue that is commonly used for webhooks.
 *
 * The interface uses promises because the queues do.
 */

export type OnAnswer = (n: number) => void

/** The storage and receiver of a contender. */
export interface Place {
  /** File or URL of the storage; empty for none. */
  readonly storage: string
  /** The receiver's port on 127.0.0.1. */
  readonly port: number
  /** Called when the receiver has acknowledged an event; null if not needed. */
  readonly onAnswer: OnAnswer | null
}

/** A running contender. */
export interface Session {
  /** Publishes the events with these numbers. Resolves when they are durable. */
  readonly publish: (numbers: ReadonlyArray<number>) => Promise<void>
  /** Returns how many events are acknowledged and recorded; while requests are open, the number may be too low. */
  readonly settled: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface Contender {
  /** Name, version and durability. */
  readonly title: string
  readonly storage: "sqlite" | "postgres" | "redis-always" | "redis-everysec" | "none"
  /** The contender's best batch size, and the best number of concurrent callers. */
  readonly batch: number
  readonly publishers: number
  readonly open: (place: Place) => Promise<Session>
}
