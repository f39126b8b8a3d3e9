/**
 * Who follows a feed sees everything that was stored, once and in order.
 */
import type { Check, Violation } from "./Check.ts"
import type { EntryOf, Trace } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

/** What one reader has read, part by part. */
const readBy = (trace: Trace, parts: ReadonlyArray<EntryOf<"fed">>): ReadonlyArray<Violation> => {
  const invoked = new Map(entriesOf(trace.entries, "invoke").map(({ index, op }) => [op, index]))
  const violations: Array<Violation> = []
  const seen = new Set<number>()
  let last = 0
  for (const { cursor, ids, index, integration_id, more, op } of parts) {
    for (const id of ids) {
      if (id <= last || trace.deliveries.get(id)?.integration_id !== integration_id)
        violations.push({ what: `delivery ${id} was read after ${last}, twice or in the wrong feed`, entries: [index] })
      last = id
      seen.add(id)
    }
    const asked = invoked.get(op) ?? 0
    // What was stored before it was asked for, up to where the part ends, and was not purged before.
    const upTo = more ? cursor : Infinity
    for (const { enqueued, id, integration_id: of, purged } of trace.deliveries.values()) {
      const isDue = of === integration_id && id <= upTo && enqueued.index < asked && (purged?.index ?? Infinity) > index
      if (!isDue || seen.has(id)) continue
      violations.push({ what: `delivery ${id} was passed over`, entries: [enqueued.index, index] })
      seen.add(id)
    }
  }
  return violations
}

export const feeds: Check = {
  name: "feeds",
  rule: "Who follows a feed by cursor sees every delivery of the integration once, in the order of storing, but for those purged before.",
  violations: (trace) => {
    const readers = new Map<number, Array<EntryOf<"fed">>>()
    for (const entry of entriesOf(trace.entries, "fed")) {
      readers.set(entry.reader, [...(readers.get(entry.reader) ?? []), entry])
    }
    return [...readers.values()].flatMap((parts) => readBy(trace, parts))
  }
}
