/**
 * The store of a receiver: known deliveries, and which of them still need work.
 */
import type { Delivery } from "./Delivery.ts"

/** Work claimed by one worker. */
export interface ClaimedWork {
  /** The key of the delivery. */
  readonly key: string
  readonly delivery: Delivery
  /** Number of failures of the work so far. */
  readonly failures: number
}

/** Claimed work whose delivery the store can't read. */
export interface DamagedWork {
  /** The key of the delivery. */
  readonly key: string
  /** The `webhook-id`. */
  readonly id: string
  /** What is wrong. */
  readonly damage: string
}

/**
 * A store. `Tx` is the database or client through which `record` writes in the transaction that stores the delivery.
 * Times are in milliseconds.
 */
export interface ReceiverStore<Tx> {
  /**
   * Stores a delivery unless its key is known, and calls `record` in the same transaction. Resolves once the delivery
   * is on disk: true if it is new. Rejects if nothing was stored. Only one of several calls with the same key may
   * resolve to true, whether the calls are concurrent or years apart. `dueAt` is when the delivery's work is due; null
   * for no work.
   */
  readonly keep: (
    key: string,
    delivery: Delivery,
    record: (tx: Tx) => void | Promise<void>,
    dueAt: number | null
  ) => Promise<boolean>
  /**
   * Claims work due at `now`, oldest first, and makes it due again at `until`. No other worker gets it until that time.
   */
  readonly claim: (now: number, until: number, limit: number) => Promise<ReadonlyArray<ClaimedWork | DamagedWork>>
  /** Returns when the next work is due; null if there is none. */
  readonly nextDue: () => Promise<number | null>
  /** Sets when work is due again (null for never), and counts a failure unless `failure` is null. */
  readonly settle: (key: string, dueAt: number | null, failure: string | null) => Promise<void>
}

interface Row {
  readonly delivery: Delivery
  failures: number
  dueAt: number | null
}

/** Makes a store in memory, for tests. */
export const memoryStore = (): ReceiverStore<undefined> => {
  const rows = new Map<string, Row>()
  const open = (): ReadonlyArray<{ readonly key: string; readonly row: Row; readonly dueAt: number }> =>
    [...rows]
      .flatMap(([key, row]) => (row.dueAt === null ? [] : [{ key, row, dueAt: row.dueAt }]))
      .toSorted((a, b) => a.dueAt - b.dueAt)
  return {
    keep: async (key, delivery, record, dueAt) => {
      if (rows.has(key)) return false
      // Set before `record` is awaited, so that a concurrent call with the same key is not new.
      rows.set(key, { delivery, failures: 0, dueAt })
      try {
        await record(undefined)
      } catch (error) {
        rows.delete(key)
        throw error
      }
      return true
    },
    claim: async (now, until, limit) => {
      const due = open()
        .filter(({ dueAt }) => dueAt <= now)
        .slice(0, limit)
      for (const { row } of due) row.dueAt = until
      return due.map(({ key, row: { delivery, failures } }) => ({ key, delivery, failures }))
    },
    nextDue: async () => open()[0]?.dueAt ?? null,
    settle: async (key, dueAt, failure) => {
      const row = rows.get(key)
      if (row === undefined || row.dueAt === null) return
      row.dueAt = dueAt
      if (failure !== null) row.failures += 1
    }
  }
}
