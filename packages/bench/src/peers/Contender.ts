/**
 * A system that delivers webhooks durably: ours, or a queue that is commonly used for webhooks.
 *
 * The interface uses promises because the queues do.
 */

export type OnAnswer = (n: number) => void

/** The storage and receiver of a contender. */
export interface Place {
  /** File or URL of the storage. */
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
  readonly storage: "sqlite" | "postgres" | "redis"
  /** The contender's best batch size, and the best number of concurrent callers. */
  readonly batch: number
  readonly publishers: number
  readonly open: (place: Place) => Promise<Session>
}

/** All contenders by name. Each is loaded only in the process that runs it. */
const loaders = {
  "doorhook-sqlite": async () => (await import("./doorhook/Doorhook.ts")).onSqlite,
  "doorhook-postgres": async () => (await import("./doorhook/Doorhook.ts")).onPostgres,
  bullmq: async () => (await import("./bullmq/BullMq.ts")).contender,
  "pg-boss": async () => (await import("./pg-boss/PgBoss.ts")).contender,
  "graphile-worker": async () => (await import("./graphile-worker/GraphileWorker.ts")).contender
} satisfies Record<string, () => Promise<Contender>>

export type ContenderName = keyof typeof loaders

export const loadContender = (name: ContenderName): Promise<Contender> => loaders[name]()

interface Common {
  readonly contender: ContenderName
  readonly storage: string
  /** The receiver's port. */
  readonly port: number
  /** Number of deliveries to make before the measurement. */
  readonly warmUp: number
  /** Process ids of the storage servers. The processor time of these servers is included in the result. */
  readonly servers: ReadonlyArray<number>
}

/** A task that publishes `count` events as fast as they are accepted. */
export interface DrainTask extends Common {
  readonly kind: "drain"
  readonly count: number
}

export interface DrainAnswer {
  /** Deliveries per second, from the first publication until all are settled. */
  readonly rate: number
  /** Processor time of all processes except the receiver, in milliseconds per delivery. */
  readonly cpu: number
}

/** A task that publishes events one by one, at a rate per second. */
export interface SteadyTask extends Common {
  readonly kind: "steady"
  readonly rate: number
  readonly seconds: number
}

export interface SteadyAnswer {
  /** Processor time of all processes except the receiver, in milliseconds per delivery. */
  readonly cpu: number
  /** The storage servers' part of `cpu`. */
  readonly cpu_of_servers: number
  /** Latency from publish to acknowledgement, in milliseconds. */
  readonly p50: number
  readonly p99: number
}
