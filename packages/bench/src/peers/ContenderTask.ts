/**
 * The task of a contender's process, and its result.
 */
import type { ContenderName } from "./Contenders.ts"

interface Common {
  readonly contender: ContenderName
  readonly storage: string
  /** The receiver's port. */
  readonly port: number
  /** Deliveries before the measurement. */
  readonly warmUp: number
  /** Main processes of the storage servers. Their processor time counts. */
  readonly servers: ReadonlyArray<number>
}

/** Publishes `count` events as fast as they are accepted. */
export interface DrainTask extends Common {
  readonly kind: "drain"
  readonly count: number
}

export interface DrainAnswer {
  /** Deliveries a second, from the first publication until all are settled. */
  readonly rate: number
  /** Processor time of all processes but the receiver, in milliseconds per delivery. */
  readonly cpu: number
}

/** Publishes events one by one, at a rate per second. */
export interface SteadyTask extends Common {
  readonly kind: "steady"
  readonly rate: number
  readonly seconds: number
  /** The name of the profile to make. */
  readonly profile?: string
}

export interface SteadyAnswer {
  /** Processor time of all processes but the receiver, in milliseconds per delivery. */
  readonly cpu: number
  /** The part of `cpu` in the storage servers. */
  readonly cpu_of_servers: number
  /** Latency from publish to acknowledgement, in milliseconds. */
  readonly p50: number
  readonly p99: number
}
