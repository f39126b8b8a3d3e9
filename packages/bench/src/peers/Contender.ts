/**
 * Something that delivers webhooks durably: ours, or a queue that others would use for it.
 *
 * Plain promises, because that is what the queues are used with.
 */

export type OnAnswer = (n: number) => void

/** Where a contender works. */
export interface Place {
  /** Its storage: a file or a URL; empty for none. */
  readonly storage: string
  /** The receiver's port on 127.0.0.1. */
  readonly port: number
  /** To be called when the receiver has acknowledged an event; null when nobody wants to know. */
  readonly onAnswer: OnAnswer | null
}

/** A contender at work. */
export interface Session {
  /** Takes events in by their numbers; resolves when they are durable. */
  readonly publish: (numbers: ReadonlyArray<number>) => Promise<void>
  /** How many are done with: acknowledged, and that recorded. It may tell fewer while requests are open. */
  readonly settled: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface Contender {
  /** Name, version and durability. */
  readonly title: string
  readonly storage: "sqlite" | "postgres" | "redis-always" | "redis-everysec" | "none"
  /** How many events it takes in best at once, and by how many callers. */
  readonly batch: number
  readonly publishers: number
  readonly open: (place: Place) => Promise<Session>
}
