/**
 * What a receiver must remember, as a port: which deliveries it has, and which of them still want work.
 */
import type { Delivery } from "./Delivery.ts"

/** A delivery that is kept and whose work is not done. */
export interface Waiting {
  readonly delivery: Delivery
  /** How often its work failed. */
  readonly failures: number
}

/**
 * `Tx` is what the host writes with in the same transaction: a database, a client.
 */
export interface ReceiverStore<Tx> {
  /**
   * Keeps the delivery unless its id is known, and calls `record` in the same transaction when it is new. Two calls
   * with one id, at the same time or years apart, must never both be new. Resolves when it is on disk; rejects when
   * nothing was kept. Resolves to whether it was new. With `wantsWork` its work is due at once.
   */
  readonly keep: (delivery: Delivery, record: (tx: Tx) => void | Promise<void>, wantsWork: boolean) => Promise<boolean>
  /** Deliveries whose work is due at `now` (milliseconds since the epoch), the oldest first. */
  readonly due: (now: number, limit: number) => Promise<ReadonlyArray<Waiting>>
  /** When the next work is due; null when none waits. */
  readonly nextDue: () => Promise<number | null>
  /** The work of a delivery is done. */
  readonly done: (id: string) => Promise<void>
  /** The work of a delivery failed and is due again at a time; null when it is given up. */
  readonly failed: (id: string, why: string, dueAt: number | null) => Promise<void>
}
