/**
 * Waits for the effects of a batch's events and reads them, for all traces of the batch together.
 *
 * Reads events until each acknowledged event has its effect and two readings some time apart are equal, or until no new
 * effect appears for the settling time. While a receiver works through a backlog, the wait goes on for up to
 * `mostWaits` settling times. A reading may be a slow command, so no event is read twice without need. If an operation
 * sends many events, only a sample of them is read.
 */
import { Clock, Effect } from "effect"
import type { Effects, Trace } from "../evidence/Trace.ts"
import { isNumbered, storiesOf } from "../judgement/Judge.ts"
import type { EventStory } from "../judgement/Judge.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { subjectOf } from "../probes/Probe.ts"
import type { Probe, ProbeReading, ProbeUnusable } from "../probes/Probe.ts"
import type { ProbeCalibration } from "../record/Evidence.ts"

/** A probe with its calibration and the settings for reading it. */
export interface Reader {
  readonly probe: Probe
  readonly calibration: ProbeCalibration
  readonly criteria: Criteria
  /** The receiver's URLs; most events go to the first. */
  readonly endpoints: ReadonlyArray<string>
  /** Seed for drawing the sample of a trace that has too many events to read them all. */
  readonly seed: number
}

/** Maximum size of the sample of a trace's bulk events, by kind of probe; unlimited if a reading costs nothing. */
const mostBulk: Readonly<Record<Probe["kind"], number>> = { log: Infinity, http: 300, exec: 300 }
/**
 * Size of the minimum sample, which is read however long that takes. The rest of the sample is read for at most
 * `bulkTime` milliseconds.
 */
const leastBulk = 12
const bulkTime = 1_000

/** Minimum time between two equal readings for an event to count as settled, in milliseconds. */
const leastQuiet = 100

/** Limits of the pause between readings, in milliseconds, which is otherwise a tenth of the wait so far. */
const pauses = { shortest: 50, longest: 1_000 } as const

/** Maximum wait for a receiver that still produces effects, in settling times. */
const mostWaits = 4

/** An event of a trace whose effects are read. */
interface Watched {
  readonly trace: number
  readonly story: EventStory
  readonly endpoint: string | null
  readonly elsewhere: boolean
  /** Whether the event lies outside the minimum sample. */
  readonly spare: boolean
  /** The watched events that the story's `alike` refers to. */
  readonly alike: Array<Watched>
  reading: ProbeReading | null
  /** The time of the last reading, in milliseconds since the epoch. */
  at: number
  /** The time of the last reading that differed from the one before it. */
  changedAt: number
  most: number
}

/** Draws a sample from a seed. A sample of every nth event could miss a fault that occurs at the same interval. */
export const drawn = <One>(all: ReadonlyArray<One>, most: number, seed: number): ReadonlyArray<One> => {
  if (all.length <= most) return all
  // The final mix of MurmurHash3, which spreads neighbouring numbers.
  const weight = (place: number): number => {
    let mixed = Math.imul(place + 1, 0x9e3779b1) ^ seed
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return (mixed ^ (mixed >>> 16)) >>> 0
  }
  const chosen = new Set([...all.keys()].toSorted((a, b) => weight(a) - weight(b)).slice(0, most))
  return all.filter((_, place) => chosen.has(place))
}

/** Whether a trace is a single event sent to one URL. Such traces are the control for events sent to two URLs. */
const isControl = ({ history }: Trace): boolean => history.ops.length === 1 && history.ops[0]?.k === "new"

/** Returns the events to read. A probe that finds events by `data.id` can't read an event whose id is not a number. */
const watchedOf = (traces: ReadonlyArray<Trace>, reader: Reader): ReadonlyArray<Watched> => {
  const { calibration, endpoints, probe, seed, criteria } = reader
  return traces.flatMap((trace, place) => {
    const stories = storiesOf(trace, criteria).filter(({ sent }) => !calibration.byDataId || isNumbered(sent))
    const [single, many] = [stories.filter(({ sent }) => !sent.bulk), stories.filter(({ sent }) => sent.bulk)]
    const concernsAll = trace.history.ops.some(({ k }) => k === "elsewhere") || isControl(trace)
    const [here = null, there] = endpoints
    const chosen = [...single, ...drawn(many, mostBulk[probe.kind], seed)]
    const enough = new Set([...single, ...drawn(many, leastBulk, seed)])
    const at = (endpoint: string | null, elsewhere: boolean): ReadonlyArray<Watched> => {
      const watched = chosen.map((story): Watched => ({
        trace: place,
        story,
        endpoint,
        elsewhere,
        spare: !enough.has(story),
        alike: [],
        reading: null,
        at: 0,
        changedAt: 0,
        most: 0
      }))
      for (const one of watched) one.alike.push(...watched.filter(({ story }) => one.story.alike.includes(story.event)))
      return watched
    }
    return there !== undefined && concernsAll ? [...at(here, false), ...at(there, true)] : at(null, false)
  })
}

/** Whether an acknowledged event has fewer effects than it must have. */
const lacks = ({ owed, shared, state }: EventStory, effects: number): boolean =>
  state === "acknowledged" && owed && effects < shared

const isAsExpected = ({ alike, elsewhere, reading, story }: Watched): boolean =>
  elsewhere ||
  !lacks(
    story,
    alike.reduce((sum, other) => sum + (other.reading?.effects ?? 0), reading?.effects ?? 0)
  )

/** Whether an acknowledged event of a trace lacked its effect when it was read. */
export const lacksEffects = (trace: Trace, criteria: Criteria): boolean =>
  storiesOf(trace, criteria).some((story) => story.last !== null && lacks(story, story.last))

/** Reads events once, in order. Stops at `until`, in milliseconds since the epoch. */
const readAll = (probe: Probe, some: ReadonlyArray<Watched>, until = Infinity): Effect.Effect<void, ProbeUnusable> =>
  Effect.forEach(
    some,
    Effect.fnUntraced(function* (one) {
      const at = yield* Clock.currentTimeMillis
      if (at > until) return
      const reading = yield* probe.read(subjectOf(one.story.sent, one.endpoint))
      if (one.reading !== null && one.reading.effects !== reading.effects) one.changedAt = at
      one.reading = reading
      one.at = at
      one.most = Math.max(one.most, reading.effects)
    }),
    { concurrency: probe.concurrency, discard: true }
  )

const effectsOf = ({ data, digest, effects }: ProbeReading, most: number): Effects => ({
  last: effects,
  most: Math.max(effects, most),
  digest,
  ...(data === null ? {} : { data })
})

/** Adds the effects that were read to a trace. `keep` merges them with the effects of earlier readings. */
const put = (
  trace: Trace,
  place: number,
  watched: ReadonlyArray<Watched>,
  keep: (one: Watched, before: Effects | null) => Effects | null
): Trace => {
  const readings = (elsewhere: boolean, before: Trace["effects"]): Trace["effects"] => {
    const effects = trace.events.map((_, event) => before[event] ?? null)
    for (const one of watched) {
      if (one.trace !== place || one.elsewhere !== elsewhere || one.reading === null) continue
      effects[one.story.event] = keep(one, effects[one.story.event] ?? null)
    }
    return effects
  }
  return {
    ...trace,
    effects: readings(false, trace.effects),
    effectsElsewhere: watched.some((one) => one.trace === place && one.elsewhere)
      ? readings(true, trace.effectsElsewhere)
      : trace.effectsElsewhere
  }
}

const withReading = (one: Watched, before: Effects | null): Effects | null =>
  one.reading === null ? before : effectsOf(one.reading, Math.max(one.most, before?.most ?? 0))

/** Reads the effects of traces. Returns the traces with their effects, and whether no effect is missing. */
export const awaitEffects = Effect.fnUntraced(function* (
  given: ReadonlyArray<Trace>,
  reader: Reader,
  patience: number
): Effect.fn.Return<{ readonly traces: ReadonlyArray<Trace>; readonly complete: boolean }, ProbeUnusable> {
  const { calibration, endpoints, probe } = reader
  const { byDataId, foldsCase, lag } = calibration
  const sight = { byDataId, foldsCase, blindToUrls: endpoints.length > 1 && calibration.blindToUrls }
  const traces = given.map((trace) => ({ ...trace, sight }))
  const all = watchedOf(traces, reader)
  const begun = yield* Clock.currentTimeMillis
  let until = begun + patience
  yield* readAll(
    probe,
    all.filter(({ spare }) => !spare)
  )
  yield* readAll(
    probe,
    all.filter(({ spare }) => spare),
    (yield* Clock.currentTimeMillis) + bulkTime
  )
  const watched = all.filter(({ reading }) => reading !== null)
  let missing = watched.filter((one) => !isAsExpected(one))
  while (missing.length > 0 && (yield* Clock.currentTimeMillis) < until) {
    const waited = (yield* Clock.currentTimeMillis) - begun
    yield* Effect.sleep(Math.max(pauses.shortest, Math.min(pauses.longest, waited / 10)))
    yield* readAll(probe, missing)
    const before = missing.length
    missing = missing.filter((one) => !isAsExpected(one))
    if (missing.length < before) {
      until = Math.min((yield* Clock.currentTimeMillis) + patience, begun + mostWaits * patience)
    }
  }
  // A second effect may follow soon after the first, so read again after a while.
  const quiet = Math.max(leastQuiet, Math.min(2 * lag, patience / 2))
  const isEarly = ({ at, changedAt }: Watched): boolean => at < Math.max(begun, changedAt) + quiet
  let early = watched.filter(isEarly)
  while (early.length > 0) {
    yield* Effect.sleep(quiet)
    yield* readAll(probe, early)
    early = (yield* Clock.currentTimeMillis) < until ? watched.filter(isEarly) : []
  }
  return {
    complete: missing.length === 0,
    traces: traces.map((trace, place) => put(trace, place, watched, withReading))
  }
})

/** Puts events that were sent more than once first, because they are most likely to have a second effect. */
const byWorth = (a: Watched, b: Watched): number =>
  Number(b.story.attempts.length > 1) - Number(a.story.attempts.length > 1) || Number(a.spare) - Number(b.spare)

/**
 * Reads events once more, within `limit` milliseconds, to find effects that appeared since the last reading. Ignores a
 * count that has dropped: a receiver stopped in the meantime may have lost effects that were only in memory. Other
 * requirements test for that loss.
 */
export const rereadEffects = Effect.fnUntraced(function* (
  traces: ReadonlyArray<Trace>,
  reader: Reader,
  limit: number
): Effect.fn.Return<ReadonlyArray<Trace>, ProbeUnusable> {
  const watched = watchedOf(traces, reader)
  yield* readAll(reader.probe, watched.toSorted(byWorth), (yield* Clock.currentTimeMillis) + limit)
  return traces.map((trace, place) =>
    put(trace, place, watched, (one, before) =>
      before === null || one.most <= before.most ? before : withReading(one, before)
    )
  )
})
