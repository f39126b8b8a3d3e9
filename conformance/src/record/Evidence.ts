/**
 * The evidence of a run: everything that happened, as plain data. Verdicts and reports are made from it by pure functions.
 * `--trace FILE` writes it as one line of JSON by this schema.
 */
import { eventIdPrefix, Signature, UrlPolicy } from "@doorhook/core"
import { Schema } from "effect"
import { Intervention, Trace } from "../evidence/Trace.ts"
import { lanes } from "../history/History.ts"
import { storiesOf } from "../judgement/Judge.ts"
import { Terms } from "../judgement/Terms.ts"
import { probeKinds } from "../probes/Probe.ts"
import { Options } from "./Options.ts"

/** The package's version: a verdict is worth nothing without the version of the suite that gave it. */
export const version = "0.1.0"

/** The `suite` member of a report. */
export const suite = `doorhook-conformance/${version}`

/** A case that was executed. */
export const CaseRun = Schema.Struct({
  title: Schema.String,
  lane: Schema.Literals(lanes),
  /** Whether nothing else was going on, so that measured times count. */
  alone: Schema.Boolean,
  trace: Trace,
  /** Whether all of it was done: the receiver may have gone in the middle. */
  whole: Schema.Boolean,
  /** Whether its effects were read, or there is no probe to read them with. */
  settled: Schema.Boolean,
  /** Traces of the same case executed again, alone and one at a time. */
  repeats: Schema.Array(Trace)
})
export type CaseRun = typeof CaseRun.Type

/** What a control of the probe was expected to give and gave. */
const Control = Schema.Struct({ expected: Schema.Int, observed: Schema.Int })

/** What calibration found out about the probe. */
export const ProbeCalibration = Schema.Struct({
  kind: Schema.Literals(probeKinds),
  name: Schema.String,
  neverSent: Control,
  one: Control,
  two: Control,
  /** After the receiver was asked to record one more effect; null without a control URL. Anything but 2 ends the run. */
  double: Schema.NullOr(Control),
  digest: Schema.Boolean,
  byDataId: Schema.Boolean,
  blindToUrls: Schema.Boolean,
  /** Whether it also answers to the id in another case. */
  foldsCase: Schema.Boolean,
  /** From the acknowledgement to the effect, in milliseconds. */
  lag: Schema.Finite
})
export type ProbeCalibration = typeof ProbeCalibration.Type

/** How often a failure was looked for again, alone and one at a time, and found. */
export const Confirmed = Schema.Struct({ tried: Schema.Int, failed: Schema.Int })
export type Confirmed = typeof Confirmed.Type

/** What came of looking at a failure again. */
export const Refinement = Schema.Struct({
  requirement: Schema.String,
  confirmed: Confirmed,
  /**
   * The history that stands for the failure: the shortest that still failed, with what others did to the receiver in it
   * as operations of its own where it takes that to fail. Null where no history failed again by itself.
   */
  reproduced: Schema.NullOr(Trace)
})
export type Refinement = typeof Refinement.Type

/** Why nothing more is executed. */
export const Ended = Schema.Struct({
  how: Schema.Literals(["complete", "time_up", "interrupted", "target_unusable", "probe_unusable", "stayed_down"]),
  /** Why the receiver or the probe is unusable, or why nothing was tested; empty otherwise. */
  message: Schema.String
})
export type Ended = typeof Ended.Type

export const Evidence = Schema.Struct({
  suite: Schema.String,
  /** As they may be shown. */
  options: Options,
  terms: Terms,
  /** What could be seen and done, the digest aside, by the names of `needs`. */
  given: Schema.Array(Schema.String),
  /** How each hook is called, by its name. */
  hooks: Schema.Record(Schema.String, Schema.String),
  /** Whether a command can repeat the run: not a test's. */
  repeatable: Schema.Boolean,
  /** What an exchange with an echo in the suite's own process took at its 99th percentile, in milliseconds. */
  echo: Schema.Finite,
  /** ISO 8601, UTC. */
  startedAt: Schema.String,
  durationMs: Schema.Finite,
  calibration: Schema.NullOr(ProbeCalibration),
  ended: Ended,
  runs: Schema.Array(CaseRun),
  /** All that was done to the receiver, in order. */
  interventions: Schema.Array(Intervention),
  refinements: Schema.Array(Refinement),
  /** Ids of events that took effect during the run and were sent by others. */
  strangers: Schema.Array(Schema.String)
})
export type Evidence = typeof Evidence.Type

/** A signature is good for some minutes, and reports go to others. */
export const withoutSignature = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name.toLowerCase() === Signature.headerNames.signature && value !== "" ? "(left out)" : value
    ])
  )

/** Endpoints without the values of their queries. Those that differ in these alone stay two, by a number. */
const shownEndpoints = (): ((endpoint: string) => string) => {
  const known = new Map<string, string>()
  return (endpoint) => {
    const before = known.get(endpoint)
    if (before !== undefined) return before
    const shown = UrlPolicy.shownUrl(new URL(endpoint))
    const alike = [...known.values()].filter((other) => other.split("#")[0] === shown).length
    const own = alike === 0 ? shown : `${shown}#${alike + 1}`
    known.set(endpoint, own)
    return own
  }
}

/** The evidence as it may be kept: without signatures, and URLs without the values of their queries. */
export const shownEvidence = (evidence: Evidence): Evidence => {
  const endpointOf = shownEndpoints()
  const shownTrace = (trace: Trace): Trace => ({
    ...trace,
    attempts: trace.attempts.map((attempt) => ({
      ...attempt,
      endpoint: endpointOf(attempt.endpoint),
      request: { ...attempt.request, headers: withoutSignature(attempt.request.headers) }
    }))
  })
  return {
    ...evidence,
    runs: evidence.runs.map((run) => ({ ...run, trace: shownTrace(run.trace), repeats: run.repeats.map(shownTrace) })),
    refinements: evidence.refinements.map((one) => ({
      ...one,
      reproduced: one.reproduced === null ? null : shownTrace(one.reproduced)
    }))
  }
}

export const EvidenceLine = Schema.fromJsonString(Evidence)

/** Whether the probe was seen to count past one: when asked to double, or of a double effect. */
export const countsPastOne = ({ calibration, runs }: Pick<Evidence, "runs" | "calibration">): boolean =>
  calibration?.double?.observed === 2 ||
  runs.some(({ trace }) => trace.effects.some((effects) => (effects?.most ?? 0) > 1))

interface Memory {
  readonly seconds: number
  readonly ids: number
}

/** Over how long, and over how many other events, an event was seen to be known again; null where none came again. */
export const memoryOf = ({ runs, terms }: Pick<Evidence, "runs" | "terms">): Memory | null => {
  const known = { seconds: -1, ids: 0 }
  for (const { lane, settled, trace } of runs) {
    // Elsewhere an event comes again at once.
    if (!settled || (lane !== "aged" && lane !== "last")) continue
    const hasWaited = trace.history.ops.some(({ k }) => k === "age")
    // Of several places of one event, a map keeps the last that it is given: the first attempt.
    const beginnings = new Map(trace.attempts.map(({ event }, index) => [event, index] as const).toReversed())
    const placesOfNew = [...beginnings.values()]
    for (const { attempts, last, most, shared, state } of storiesOf(trace, terms)) {
      const [first, again] = [attempts[0], attempts.at(-1)]
      if (first === undefined || again === undefined || first === again) continue
      if (state !== "acknowledged" || last !== shared || most !== shared) continue
      const between = placesOfNew.filter((place) => place > first[0] && place < again[0]).length
      known.seconds = Math.max(known.seconds, Math.floor((again[1].started - first[1].started) / 1_000))
      known.ids = Math.max(known.ids, between + (hasWaited ? trace.otherEvents : 0))
    }
  }
  return known.seconds < 0 ? null : known
}

/** How far a memory of ids was seen to reach, in words. */
export const memoryInWords = ({ ids, seconds }: Memory): string =>
  `memory was seen to last over ${seconds} s and ${ids.toLocaleString("en-US")} ids`

/**
 * Characters at either end of an id that identify it: they hold a time and a random number. A receiver that keeps
 * ids in another case, or a part of them, is wrong in its own way, and no sign of another sender.
 */
const identifying = 16

const beginning = (id: string): string => id.slice(0, eventIdPrefix.length + identifying).toLowerCase()
const end = (id: string): string => id.slice(-identifying).toLowerCase()

/** Those of the ids that are none of the run's own, nor made of one of them. */
export const strangersAmong = (seen: Iterable<string>, own: Iterable<string>): ReadonlyArray<string> => {
  const beginnings = new Set<string>()
  const ends = new Set<string>()
  for (const id of own) {
    beginnings.add(beginning(id))
    ends.add(end(id))
  }
  return [...new Set(seen)].filter((id) => !beginnings.has(beginning(id)) && !ends.has(end(id)))
}

/** The most ids that are named. */
const mostNamed = 3

/** What strangers did, in words. */
export const strangersInWords = (strangers: ReadonlyArray<string>): string => {
  const named = strangers.slice(0, mostNamed).join(", ")
  const more = strangers.length > mostNamed ? ` and ${strangers.length - mostNamed} more` : ""
  return strangers.length === 1
    ? `an event that this run did not send took effect during it (${named})`
    : `events that this run did not send took effect during it (${named}${more})`
}
