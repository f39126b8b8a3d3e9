/**
 * No engine has more requests open than it may.
 */
import { placesOf } from "../rules/Places.ts"
import type { Check, Violation } from "./Check.ts"
import { isDisturbed } from "./Disturbances.ts"
import type { Request, Trace } from "./Trace.ts"
import { beatInterval, entriesOf } from "./Trace.ts"

/** The places at which more than `cap` of some requests were open at once. */
const above = (requests: ReadonlyArray<Request>, cap: number, name: string): ReadonlyArray<Violation> => {
  let open: ReadonlyArray<Request> = []
  return requests.flatMap((request) => {
    open = [...open.filter(({ endedAt, response }) => isOpen(endedAt, response?.entry.index, request)), request]
    if (open.length <= cap) return []
    return [
      { what: `${open.length} requests open ${name}, more than ${cap}`, entries: open.map(({ entry }) => entry.index) }
    ]
  })
}

/** Whether a request that ends at some time is open when another one starts. */
const isOpen = (endedAt: number, responseIndex: number | undefined, { entry }: Request): boolean =>
  responseIndex === undefined ? endedAt > entry.at : responseIndex > entry.index

const groupBy = (requests: ReadonlyArray<Request>, keyOf: (request: Request) => string) => {
  const groups = new Map<string, Array<Request>>()
  for (const request of requests) {
    const key = keyOf(request)
    groups.set(key, [...(groups.get(key) ?? []), request])
  }
  return groups
}

/** How long workers need to hear of each other, and what was open before to end, in milliseconds. */
const acquaintance = ({ outcome: { scenario }, settings }: Trace): number =>
  2 * beatInterval + settings.ackTimeout + 8 * scenario.storeLatency

/** What all workers together have open to one integration too much, when they had time to hear of each other. */
const shared = (trace: Trace): ReadonlyArray<Violation> => {
  const starts = entriesOf(trace.entries, "process").filter(({ what }) => what === "started")
  const needed = acquaintance(trace)
  return [...groupBy(trace.requests, ({ delivery }) => `to integration ${delivery.integration_id}`)].flatMap(
    ([name, group]) =>
      above(group, placesOf(trace.settings, trace.outcome.scenario.engines).toOne, name).filter(({ entries }) => {
        const at = trace.entries[entries.at(-1) ?? 0]?.at ?? 0
        return !starts.some((start) => start.at <= at && start.at > at - needed) && !isDisturbed(trace, at - needed, at)
      })
  )
}

export const caps: Check = {
  name: "caps",
  rule: "An engine never has more requests open than its settings say, and all engines together never more to one integration.",
  violations: (trace) => {
    const { outcome, requests, settings } = trace
    const places = placesOf(settings, outcome.scenario.engines)
    const toOne = groupBy(requests, ({ delivery, entry }) => `by engine ${entry.engine} to ${delivery.integration_id}`)
    return [
      ...[...groupBy(requests, ({ entry }) => `by engine ${entry.engine}`)].flatMap(([name, group]) =>
        above(group, places.ofProcess, name)
      ),
      ...[...toOne].flatMap(([name, group]) => above(group, places.ofProcessToOne, name)),
      ...shared(trace)
    ]
  }
}
