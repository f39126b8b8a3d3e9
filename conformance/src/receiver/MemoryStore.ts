/**
 * A store for tests: it forgets everything when the process ends, and so does not pass level 3.
 */
import type { Delivery } from "./Delivery.ts"
import type { ReceiverStore, Waiting } from "./Store.ts"

interface Row {
  readonly delivery: Delivery
  failures: number
  /** Null when nothing is to be done any more. */
  dueAt: number | null
}

export const memoryStore = (): ReceiverStore<undefined> => {
  const rows = new Map<string, Row>()
  const waiting = (): ReadonlyArray<Row & { readonly dueAt: number }> =>
    [...rows.values()].flatMap((row) => (row.dueAt === null ? [] : [{ ...row, dueAt: row.dueAt }]))
  return {
    keep: async (delivery, record, wantsWork) => {
      if (rows.has(delivery.id)) return false
      // Taken before `record` is waited for, so that no other call is new in the meantime.
      rows.set(delivery.id, { delivery, failures: 0, dueAt: wantsWork ? delivery.receivedAt : null })
      try {
        await record(undefined)
      } catch (error) {
        rows.delete(delivery.id)
        throw error
      }
      return true
    },
    due: async (now, limit) =>
      waiting()
        .filter(({ dueAt }) => dueAt <= now)
        .toSorted((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit)
        .map(({ delivery, failures }): Waiting => ({ delivery, failures })),
    nextDue: async () => waiting().reduce<number | null>((least, { dueAt }) => Math.min(least ?? dueAt, dueAt), null),
    done: async (id) => {
      const row = rows.get(id)
      if (row !== undefined) row.dueAt = null
    },
    failed: async (id, _why, dueAt) => {
      const row = rows.get(id)
      if (row === undefined) return
      row.failures += 1
      row.dueAt = dueAt
    }
  }
}
