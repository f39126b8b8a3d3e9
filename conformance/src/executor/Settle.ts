/**
 * Waits until a receiver has done what it will do, and reads what that was.
 *
 * Events are read until every acknowledged one shows its effect and two readings in a row, some time apart, are equal; or
 * until nothing more has shown for the settling time: who works off a backlog is waited for, a few times as long at most.
 */
import { Clock, Effect } from "effect"
import { isNumbered, storiesOf } from "../checks/Story.ts"
import type { Story } from "../checks/Story.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Probe, ProbeReading, ProbeUnusable } from "../probes/Probe.ts"
import type { Effects, Trace } from "../observed/Trace.ts"
import type { ProbeCalibration } from "./ProbeCalibration.ts"

export interface Patience {
  /** How long effects are waited for, in milliseconds. */
  readonly settle: number
  /** How long after its acknowledgement an event's effect usually shows, in milliseconds. */
  readonly lag: number
  /** The most of a trace's bulk events that are looked at. */
  readonly bulk: number
  /** Whether the probe tells events by `data.id` alone. */
  readonly byDataId: boolean
  /** Whether it counts the effects at all of the receiver's URLs together. */
  readonly blindToUrls: boolean
}

/** The most of many events that are looked at: as many as there are where that takes no question to anybody. */
const mostBulk: Readonly<Record<Probe["kind"], number>> = { log: Infinity, sink: Infinity, http: 300, exec: 60 }

/** How effects are waited for, for so many milliseconds, with a probe of which this was found out. */
export const patienceFor = (
  { kind }: Probe,
  { blindToUrls = false, byDataId = false, lag }: ProbeCalibration,
  longest: number
): Patience => ({ settle: longest, lag, bulk: mostBulk[kind], byDataId, blindToUrls })

/** The least time between two readings that count as equal, in milliseconds. */
const leastQuiet = 100
const betweenReadings = 50

/** The most that is waited for who goes on working, in settling times. */
const mostWaits = 4

/** One event to be read, of one trace. */
interface Watched {
  readonly trace: number
  readonly story: Story
  readonly endpoint: string | null
  readonly elsewhere: boolean
  /** Those of `alike`, whose effects may be this one's. */
  readonly alike: Array<Watched>
  reading: ProbeReading | null
  most: number
}

/** Which events of some traces are read. One that has no number is none of those that are told by their numbers. */
const watchedOf = (
  traces: ReadonlyArray<Trace>,
  terms: Terms,
  { bulk, byDataId }: Patience,
  endpoints: ReadonlyArray<string>
) =>
  traces.flatMap((trace, place) => {
    const stories = storiesOf(trace, terms).filter(({ sent }) => !byDataId || isNumbered(sent))
    const many = stories.filter(({ sent }) => sent.bulk)
    const step = Math.max(1, Math.ceil(many.length / bulk))
    const chosen = stories.filter(({ sent }) => !sent.bulk).concat(many.filter((_, index) => index % step === 0))
    const concernsAll = trace.history.ops.some(({ k }) => k === "elsewhere") || isControl(trace)
    const watched = chosen.flatMap((story): ReadonlyArray<Watched> => {
      const one = { trace: place, story, reading: null, most: 0 }
      const [here = null, there] = endpoints
      const main = { ...one, alike: [], endpoint: endpoints.length > 1 && concernsAll ? here : null, elsewhere: false }
      return there !== undefined && concernsAll
        ? [main, { ...one, alike: [], endpoint: there, elsewhere: true }]
        : [main]
    })
    for (const one of watched) {
      if (one.story.alike.length === 0) continue
      one.alike.push(
        ...watched.filter(
          ({ elsewhere, story }) => elsewhere === one.elsewhere && one.story.alike.includes(story.event)
        )
      )
    }
    return watched
  })

/** An event for one URL alone is the control of those for two. */
const isControl = ({ history }: Trace): boolean => history.ops.length === 1 && history.ops[0]?.k === "new"

/** Whether an event that was acknowledged has fewer effects than it is owed. */
const lacks = ({ owed, shared, state }: Story, effects: number): boolean =>
  state === "acknowledged" && owed && effects < shared

const isAsExpected = ({ alike, elsewhere, reading, story }: Watched): boolean =>
  elsewhere ||
  !lacks(
    story,
    alike.reduce((sum, other) => sum + (other.reading?.effects ?? 0), reading?.effects ?? 0)
  )

/** Whether some event of a trace was acknowledged, and its effect had not shown when it was read. */
export const lacksEffects = (trace: Trace, terms: Terms): boolean =>
  storiesOf(trace, terms).some((story) => story.last !== null && lacks(story, story.last))

/** Reads some events once; whether each was as it had been before. */
const readAll = (probe: Probe, some: ReadonlyArray<Watched>) =>
  Effect.forEach(
    some,
    (one) =>
      Effect.map(
        probe.read({
          webhookId: one.story.sent.webhookId,
          resourceType: one.story.sent.resourceType,
          dataId: one.story.sent.dataId,
          endpoint: one.endpoint
        }),
        (reading) => {
          const same = one.reading?.effects === reading.effects
          one.reading = reading
          one.most = Math.max(one.most, reading.effects)
          return same
        }
      ),
    { concurrency: probe.concurrency }
  )

/**
 * Reads events once more that have been read: whether effects have come since. What is fewer than it was is left as it
 * was: a receiver that has been ended since may have held it in memory, which other requirements are about.
 */
export const readAgain = Effect.fnUntraced(function* (
  traces: ReadonlyArray<Trace>,
  probe: Probe,
  terms: Terms,
  patience: Patience,
  endpoints: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<Trace>, ProbeUnusable> {
  const watched = watchedOf(traces, terms, patience, endpoints)
  yield* readAll(probe, watched)
  const more = new Map<number, Array<Watched>>()
  for (const one of watched) {
    const { effects, effectsElsewhere } = traces[one.trace] ?? { effects: [], effectsElsewhere: [] }
    const before = (one.elsewhere ? effectsElsewhere : effects)[one.story.event] ?? null
    if (before === null || one.most <= before.most) continue
    more.set(one.trace, [...(more.get(one.trace) ?? []), one])
  }
  const merged = (before: Trace["effects"], late: ReadonlyArray<Watched>): Trace["effects"] =>
    before.map((known, event) => {
      const one = late.find(({ story }) => story.event === event)
      return one === undefined ? known : { last: one.most, most: one.most, digest: one.reading?.digest ?? null }
    })
  return traces.map((trace, place) => {
    const late = more.get(place)
    if (late === undefined) return trace
    return {
      ...trace,
      effects: merged(
        trace.effects,
        late.filter(({ elsewhere }) => !elsewhere)
      ),
      effectsElsewhere: merged(
        trace.effectsElsewhere,
        late.filter(({ elsewhere }) => elsewhere)
      )
    }
  })
})

/** Reads the effects of the events of some traces. The same traces, with what was read. */
export const settle = Effect.fnUntraced(function* (
  given: ReadonlyArray<Trace>,
  probe: Probe,
  terms: Terms,
  patience: Patience,
  endpoints: ReadonlyArray<string>
): Effect.fn.Return<{ readonly traces: ReadonlyArray<Trace>; readonly complete: boolean }, ProbeUnusable> {
  const sight = {
    ...(patience.byDataId ? { byDataId: true } : {}),
    ...(endpoints.length > 1 ? { blindToUrls: patience.blindToUrls } : {})
  }
  const traces = given.map((trace) => ({ ...trace, ...sight }))
  const watched = watchedOf(traces, terms, patience, endpoints)
  const begun = yield* Clock.currentTimeMillis
  let until = begun + patience.settle
  yield* readAll(probe, watched)
  let missing = watched.filter((one) => !isAsExpected(one))
  while (missing.length > 0 && (yield* Clock.currentTimeMillis) < until) {
    yield* Effect.sleep(betweenReadings)
    yield* readAll(probe, missing)
    const before = missing.length
    missing = missing.filter((one) => !isAsExpected(one))
    if (missing.length < before) {
      until = Math.min((yield* Clock.currentTimeMillis) + patience.settle, begun + mostWaits * patience.settle)
    }
  }
  // A second effect may be on its way while the first is there.
  const quiet = Math.max(leastQuiet, Math.min(2 * patience.lag, patience.settle / 2))
  let changed = true
  while (changed) {
    yield* Effect.sleep(quiet)
    changed = !(yield* readAll(probe, watched)).every((same) => same) && (yield* Clock.currentTimeMillis) < until
  }
  const read = (place: number, elsewhere: boolean, trace: Trace): ReadonlyArray<Effects | null> => {
    const effects: Array<Effects | null> = trace.events.map(() => null)
    const before = elsewhere ? trace.effectsElsewhere : trace.effects
    for (const one of watched) {
      if (one.trace !== place || one.elsewhere !== elsewhere || one.reading === null) continue
      const { event } = one.story
      effects[event] = {
        last: one.reading.effects,
        most: Math.max(one.most, before[event]?.most ?? 0),
        digest: one.reading.digest
      }
    }
    return effects
  }
  return {
    complete: missing.length === 0,
    traces: traces.map((trace, place) => ({
      ...trace,
      effects: read(place, false, trace),
      effectsElsewhere: endpoints.length > 1 ? read(place, true, trace) : []
    }))
  }
})
