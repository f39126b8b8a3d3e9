/**
 * What a contender's own process is asked to do, and what it answers.
 */
import type { ContenderName } from "./Contenders.ts"

interface Common {
  readonly contender: ContenderName
  readonly storage: string
  /** The receiver's. */
  readonly port: number
  /** Deliveries that come before, and do not count. */
  readonly warmUp: number
  /** Processes of the storage, whose time counts too. */
  readonly servers: ReadonlyArray<number>
}

/** Publish so many, as fast as they are taken in. */
export interface DrainTask extends Common {
  readonly kind: "drain"
  readonly count: number
}

export interface DrainAnswer {
  /** From the first publication to the last settled, a second. */
  readonly rate: number
  /** Processor time of all processes but the receiver, in milliseconds per delivery. */
  readonly cpu: number
}

/** Publish one by one, so many a second. */
export interface SteadyTask extends Common {
  readonly kind: "steady"
  readonly rate: number
  readonly seconds: number
  /** The name of a profile to make of it. */
  readonly profile?: string
}

export interface SteadyAnswer {
  /** Processor time of all processes but the receiver, in milliseconds per delivery. */
  readonly cpu: number
  /** Of these, in the servers. */
  readonly cpu_of_servers: number
  /** From the call that publishes to the acknowledgement, in milliseconds. */
  readonly p50: number
  readonly p99: number
}
