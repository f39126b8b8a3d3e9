/**
 * A delivery belongs to one engine at a time.
 */
import { tooLittleLeft } from "../rules/LeaseTime.ts"
import type { Check, Violation } from "./Check.ts"
import type { Request, Trace } from "./Trace.ts"
import { clockOf, entriesOf, putBackSince } from "./Trace.ts"

const outlasting = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap(({ delivery, entry, grant }) => {
    if (grant === null) return [{ what: `delivery ${delivery.id} was sent without a lease`, entries: [entry.index] }]
    const left = tooLittleLeft(grant.lease, clockOf(trace, entry.engine, entry), trace.settings.ackTimeout)
    const jumped = trace.clockJumps.some(({ index }) => index > grant.index && index < entry.index)
    if (left === null || jumped) return []
    return [
      {
        what: `delivery ${delivery.id} was sent with ${left} ms left of its lease`,
        entries: [grant.index, entry.index]
      }
    ]
  })

/** Leases outlast attempts by more than clocks are apart, so that only a clock that jumps makes two of one. */
const overlap = (trace: Trace, first: Request, second: Request): ReadonlyArray<Violation> => {
  const isOver =
    first.response === null ? first.endedAt <= second.entry.at : first.response.entry.index < second.entry.index
  const { grant } = first
  if (isOver || grant === null || second.grant === null) return []
  const isOther = grant.lease.token !== second.grant.lease.token
  const ranOut = second.grant.clock + putBackSince(trace, grant.index) >= grant.lease.until
  const jumped = trace.clockJumps.some(({ index }) => index > grant.index && index < second.entry.index)
  if (isOther && ranOut && jumped) return []
  const what = `delivery ${first.delivery.id} was open twice at once`
  return [{ what, entries: [grant.index, first.entry.index, second.grant.index, second.entry.index] }]
}

/** Fencing: what is settled was settled under the lease that the delivery had then. */
const unfenced = ({ deliveries, entries }: Trace): ReadonlyArray<Violation> =>
  entriesOf(entries, "settled").flatMap(({ applied, index, settlements }) =>
    applied.flatMap((id) => {
      const grant = deliveries.get(id)?.grants.findLast((lease) => lease.index < index)
      if (settlements.some(({ delivery_id, token }) => delivery_id === id && token === grant?.lease.token)) return []
      const what = `delivery ${id} was settled under a lease that it had no longer`
      return [{ what, entries: [...(grant === undefined ? [] : [grant.index]), index] }]
    })
  )

export const leases: Check = {
  name: "leases",
  rule: "A delivery is never open twice at once, unless a clock jumps; attempts fit into their leases; stale ones settle nothing.",
  violations: (trace) => [
    ...outlasting(trace),
    ...unfenced(trace),
    ...[...trace.deliveries.values()].flatMap(({ requests }) =>
      requests.flatMap((first, at) => requests.slice(at + 1).flatMap((second) => overlap(trace, first, second)))
    )
  ]
}
