/**
 * The memory of a receiver: known deliveries, and which of them still need work.
 */
import type { Delivery } from "./Delivery.ts"

/** Work that one worker has claimed. */
export interface ClaimedWork {
  /** The key of the delivery. */
  readonly key: string
  readonly delivery: Delivery
  /** How often its work has failed. */
  readonly failures: number
}

/** `Tx` is what `record` writes with, in the same transaction: a database, a client. Times are in milliseconds. */
export interface ReceiverStore<Tx> {
  /**
   * Keeps a delivery unless its key is known, and calls `record` in the same transaction. Resolves, once it is on disk, to
   * whether it was new; rejects if nothing was kept. Of two calls with one key, at the same time or years apart, only one
   * may be new. `dueAt` is when its work is due; null for no work.
   */
  readonly keep: (
    key: string,
    delivery: Delivery,
    record: (tx: Tx) => void | Promise<void>,
    dueAt: number | null
  ) => Promise<boolean>
  /** Takes work that is due at `now`, the oldest first, and makes it due again at `until`: no other worker gets it before. */
  readonly claim: (now: number, until: number, limit: number) => Promise<ReadonlyArray<ClaimedWork>>
  /** When the next work is due; null for never. */
  readonly nextDue: () => Promise<number | null>
  /** Makes unfinished work due at another time, null for never again, and counts a failure if there was one. */
  readonly settle: (key: string, dueAt: number | null, failure: string | null) => Promise<void>
}

interface Row {
  readonly delivery: Delivery
  failures: number
  dueAt: number | null
}

/** Forgets everything when the process ends: for tests. */
export const memoryStore = (): ReceiverStore<undefined> => {
  const rows = new Map<string, Row>()
  const open = (): ReadonlyArray<{ readonly key: string; readonly row: Row; readonly dueAt: number }> =>
    [...rows]
      .flatMap(([key, row]) => (row.dueAt === null ? [] : [{ key, row, dueAt: row.dueAt }]))
      .toSorted((a, b) => a.dueAt - b.dueAt)
  return {
    keep: async (key, delivery, record, dueAt) => {
      if (rows.has(key)) return false
      // Set before `record` is awaited, so that no other call is new in the meantime.
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
