/**
 * When things went wrong, or so much was asked for, that nobody can expect anything in time.
 */
import { entriesOf, leastShare, longestLapse, longestUnseen } from "./Trace.ts"
import type { Trace } from "./Trace.ts"

interface Span {
  readonly from: number
  readonly to: number
}

/** What the dispatcher waits for at most after a fault before it tries again: store retries, and given-back deliveries. */
const aftermath = 8_000

const cached = new WeakMap<Trace, ReadonlyArray<Span>>()

const spansOf = (trace: Trace): ReadonlyArray<Span> => {
  const { entries } = trace
  // What a process held when it died is out of reach until its membership ends; so is what it was about to be given.
  const outOfReach = longestLapse(trace) + longestUnseen(trace) + 1_000
  const absences = entriesOf(entries, "process").map((entry) => {
    const back = entry.what === "started" ? entry.at : Math.max(entry.at, startAfter(trace, entry.index))
    return { from: entry.at, to: back + outOfReach }
  })
  const faults = entriesOf(entries, "fault").map(({ at, until }) => ({ from: at, to: until + outOfReach + aftermath }))
  const jumps = entriesOf(entries, "clock").map(({ at }) => ({ from: at, to: at + outOfReach + aftermath }))
  return [...absences.filter(({ from }) => from > 0), ...faults, ...jumps]
}

const startAfter = ({ entries }: Trace, index: number): number =>
  entries.slice(index).find((entry) => entry.kind === "process" && entry.what === "started")?.at ?? 0

/** Whether anything went wrong in a span of time, in milliseconds since the start. */
export const isDisturbed = (trace: Trace, from: number, to: number): boolean => {
  const spans = cached.get(trace) ?? spansOf(trace)
  cached.set(trace, spans)
  return spans.some((span) => span.from <= to && span.to >= from)
}

/** Whether an engine had as many requests open, to one integration or in all, as retries may have, or no room. */
export const isBusy = (trace: Trace, from: number, to: number): boolean => {
  const { requests, settings } = trace
  const open = requests.filter(({ endedAt, entry }) => entry.at <= to && endedAt >= from)
  const perIntegration = new Map<string, number>()
  const perEngine = new Map<number, number>()
  for (const { delivery, entry } of open) {
    const key = `${entry.engine} ${delivery.integration_id}`
    perIntegration.set(key, (perIntegration.get(key) ?? 0) + 1)
    perEngine.set(entry.engine, (perEngine.get(entry.engine) ?? 0) + 1)
  }
  const { concurrency } = settings
  return (
    Math.max(0, ...perIntegration.values()) >= Math.max(1, Math.floor(0.8 * leastShare(trace))) ||
    Math.max(0, ...perEngine.values()) >= Math.max(1, Math.floor(concurrency / 2)) ||
    mostHeld(trace, from, to) >= settings.buffer
  )
}

/** The most deliveries that an engine can have held in a span of time. */
const mostHeld = ({ deliveries }: Trace, from: number, to: number): number => {
  const held = new Map<number, number>()
  for (const { grants, released, settlements } of deliveries.values()) {
    for (const { at, engine } of grants) {
      const isOver = (end: number) => end >= at && end < from
      if (at > to || released.some(isOver) || settlements.some(({ entry }) => isOver(entry.at))) continue
      held.set(engine, (held.get(engine) ?? 0) + 1)
    }
  }
  return Math.max(0, ...held.values())
}
