/**
 * The task of a contender's process, and its result.
 */
import type { ContenderName } from "./Contenders.ts"

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
  /** Name of the profile to make, if any. */
  readonly profile?: string
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
