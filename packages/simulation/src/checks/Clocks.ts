/**
 * Checks which time engines use: over a store with a clock of its own, the store's. Each machine's own clock is wrong
 * by up to five minutes, and jumps.
 */
import { clockFault } from "@doorhook/core"
import { isDisturbed } from "./Knowledge.ts"
import type { Check, EntryOf, Trace, Violation } from "./Trace.ts"
import { clockError, entriesOf, jumpsSince } from "./Trace.ts"

/** Longest time between reading the clock and the effect of the call, in milliseconds, besides the store's latency. */
const longestCall = 2_000

/** The times that an engine has given the store with an entry. */
const timesIn = (entry: Trace["entries"][number]): ReadonlyArray<number> => {
  switch (entry.kind) {
    case "claimed":
    case "heartbeat":
    case "settled":
    case "warned":
    case "resent":
    case "probed":
      return [entry.now]
    case "purged":
      return [entry.request.now]
    case "enqueued":
      return entry.events.map(({ event }) => event.created_at)
    case "notification":
      return entry.notification.kind === "clock_offset" ? [entry.notification.at] : []
    default:
      return []
  }
}

/** Finds times that are not the store's. A jump of the store's clock excuses the calls until it is measured. */
const foreign = (trace: Trace): ReadonlyArray<Violation> => {
  const { scenario } = trace.outcome
  const ahead = clockError(scenario)
  const behind = ahead + scenario.storeLatency + longestCall
  return trace.entries.flatMap((entry) =>
    timesIn(entry).flatMap((time) => {
      const difference = time - entry.wall
      if (difference <= ahead && difference >= -behind) return []
      if (jumpsSince(trace, entry.index).some(({ index }) => index < entry.index)) return []
      return [{ what: `an engine's time was ${difference} ms ahead of the store's`, entries: [entry.index] }]
    })
  )
}

/** The clock of an engine from `from` on. */
interface Skew {
  readonly from: number
  readonly at: number
  readonly skew: number
}

const skewsOf = ({ entries }: Trace): ReadonlyMap<number, ReadonlyArray<Skew>> =>
  Map.groupBy(
    entries.flatMap((entry) =>
      entry.kind === "own_clock" || (entry.kind === "process" && entry.what === "started")
        ? [{ engine: entry.engine, from: entry.index, at: entry.at, skew: entry.skew }]
        : []
    ),
    ({ engine }) => engine
  )

/** Longest time from a measurement to its notification, in milliseconds. */
const longestReport = 10_000

/** Finds reported offsets that no clock had at that time. */
const untrue = (trace: Trace): ReadonlyArray<Violation> => {
  const skews = skewsOf(trace)
  return entriesOf(trace.entries, "notification").flatMap((entry: EntryOf<"notification">) => {
    const { notification } = entry
    if (notification.kind !== "clock_offset") return []
    const before = (skews.get(entry.engine) ?? []).filter(({ from }) => from < entry.index)
    const recent = before.filter((_, at) => (before[at + 1]?.at ?? Infinity) >= entry.at - longestReport)
    const isTrue = recent.some(
      ({ skew }) =>
        Math.abs(skew) > clockFault && Math.abs(notification.ahead_ms - skew) <= 2 * clockError(trace.outcome.scenario)
    )
    if (isTrue || jumpsSince(trace, entry.index).some(({ index }) => index < entry.index)) return []
    const what = `engine ${entry.engine} reported an offset of ${notification.ahead_ms} ms`
    return [{ what, entries: [...recent.map(({ from }) => from), entry.index] }]
  })
}

/** Finds wrong clocks that their engines did not report. An engine reports once until its clock agrees again. */
const unreported = (trace: Trace): ReadonlyArray<Violation> => {
  const reports = entriesOf(trace.entries, "notification").filter(
    ({ notification }) => notification.kind === "clock_offset"
  )
  const ends = entriesOf(trace.entries, "process").filter(({ what }) => what !== "started")
  return [...skewsOf(trace)].flatMap(([engine, skews]) =>
    skews.flatMap(({ at, from, skew }, nth) => {
      const by = at + longestReport
      const end = ends.find((entry) => entry.engine === engine)?.at ?? trace.entries.at(-1)?.at ?? 0
      const isSmall = Math.abs(skew) <= clockFault + 2 * clockError(trace.outcome.scenario)
      if (isSmall || by > Math.min(end, skews[nth + 1]?.at ?? Infinity) || isDisturbed(trace, at, by)) return []
      if (reports.some((report) => report.engine === engine && report.at <= by)) return []
      return [{ what: `engine ${engine} did not report that its clock was ${skew} ms ahead`, entries: [from] }]
    })
  )
}

export const clocks: Check = {
  name: "clocks",
  rule: "Over a store with a clock of its own, all times are the store's, whatever the clocks of the engines say. An engine reports a great offset of its clock, and only a true one.",
  violations: (trace) =>
    trace.outcome.scenario.hasStoreClock ? [...foreign(trace), ...untrue(trace), ...unreported(trace)] : []
}
