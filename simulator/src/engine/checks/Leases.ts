/**
 * A delivery belongs to one engine at a time, and only while it is a member.
 */
import type { Check, Violation } from "./Check.ts"
import type { Request, Trace } from "./Trace.ts"
import { clockOf } from "./Trace.ts"

/** Whether a clock jumped so that memberships ended that had not, or the other way round. */
const jumpedBetween = ({ clockJumps }: Trace, from: number, to: number): boolean =>
  clockJumps.some(({ index }) => index > from && index < to)

/** Attempts must fit into what is surely left of a membership, or somebody else can begin another one before they end. */
const outlasting = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap(({ delivery, entry, grant }) => {
    if (grant === null) return [{ what: `delivery ${delivery.id} was sent without a lease`, entries: [entry.index] }]
    const known = trace.members.get(entry.engine)?.filter(({ index }) => index < entry.index) ?? []
    const member = known.at(-1)
    if (member === undefined) {
      const what = `delivery ${delivery.id} was sent by an engine that does not know that it is a member`
      return [{ what, entries: [grant.index, entry.index] }]
    }
    const violations: Array<Violation> = []
    const left = (member.until ?? 0) - clockOf(trace, entry.engine, entry)
    if (left < trace.settings.ackTimeout && !jumpedBetween(trace, member.index, entry.index)) {
      const what = `delivery ${delivery.id} was sent with ${left} ms left of the membership`
      violations.push({ what, entries: [member.index, entry.index] })
    }
    // In the same millisecond the request came first.
    const lapsed = known.find(({ at, continued, index }) => !continued && index > grant.index && at < entry.at)
    if (lapsed !== undefined) {
      const what = `delivery ${delivery.id} was sent under a lease that its engine knew to have lapsed`
      violations.push({ what, entries: [grant.index, lapsed.index, entry.index] })
    }
    return violations
  })

/** Memberships outlast attempts by more than clocks are apart, so that only a clock that jumps makes two of one. */
const overlap = (trace: Trace, first: Request, second: Request): ReadonlyArray<Violation> => {
  const isOver =
    first.response === null ? first.endedAt <= second.entry.at : first.response.entry.index < second.entry.index
  const { grant } = first
  if (isOver || grant === null || second.grant === null) return []
  const beat = trace.members.get(first.entry.engine)?.findLast(({ index }) => index < first.entry.index)
  const isOther = grant !== second.grant
  if (isOther && jumpedBetween(trace, beat?.index ?? grant.index, second.entry.index)) return []
  const what = `delivery ${first.delivery.id} was open twice at once`
  return [{ what, entries: [grant.index, first.entry.index, second.grant.index, second.entry.index] }]
}

export const leases: Check = {
  name: "leases",
  rule: "A delivery is leased to one worker and never open twice at once, unless a clock jumps; attempts fit into memberships; stale outcomes settle nothing.",
  violations: (trace) => [
    ...trace.breaches,
    ...outlasting(trace),
    ...[...trace.deliveries.values()].flatMap(({ requests }) =>
      requests.flatMap((first, at) => requests.slice(at + 1).flatMap((second) => overlap(trace, first, second)))
    )
  ]
}
