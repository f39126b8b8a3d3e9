/**
 * The evidence of a run: everything that happened, as plain data. Pure functions make verdicts and reports from it.
 * `--trace FILE` writes it as one line of JSON by this schema.
 */
import { Signature, UrlPolicy } from "@doorhook/core"
import { Schema } from "effect"
import { Intervention, Trace } from "../evidence/Trace.ts"
import { History, keyOf, lanes } from "../history/History.ts"
import { storiesOf } from "../judgement/Judge.ts"
import { Criteria } from "../judgement/Criteria.ts"
import { probeKinds } from "../probes/Probe.ts"
import { Options } from "./Options.ts"

/** Name and version of the suite, in reports. */
export const suite = "doorhook-conformance/0.1.0"

/** A case that was executed. */
export const CaseRun = Schema.Struct({
  title: Schema.String,
  lane: Schema.Literals(lanes),
  /** Whether the case ran alone. Times that were measured in other cases don't count. */
  alone: Schema.Boolean,
  trace: Trace,
  /** Whether the case was executed to the end. False if the receiver became unreachable before the end. */
  whole: Schema.Boolean,
  /** Whether the effects of the case were read; without a probe, always true. */
  settled: Schema.Boolean,
  /** Traces of further executions of the same case, which ran alone. */
  repeats: Schema.Array(Trace)
})
export type CaseRun = typeof CaseRun.Type

/** Returns the traces of a case: of its first execution and of its repeats. */
export const tracesOf = ({ repeats, trace }: CaseRun): ReadonlyArray<Trace> => [trace, ...repeats]

/** A reading of the probe during calibration. */
export const Control = Schema.Struct({ expected: Schema.Int, observed: Schema.Int })

/** The result of the probe's calibration. */
export const ProbeCalibration = Schema.Struct({
  kind: Schema.Literals(probeKinds),
  name: Schema.String,
  neverSent: Control,
  one: Control,
  two: Control,
  /** Reading after the receiver was made to record one more effect; null without a control URL. */
  double: Schema.NullOr(Control),
  digest: Schema.Boolean,
  byDataId: Schema.Boolean,
  blindToUrls: Schema.Boolean,
  /** Whether the probe ignores the case of ids. */
  foldsCase: Schema.Boolean,
  /** Time from the acknowledgement to the effect, in milliseconds. */
  lag: Schema.Finite
})
export type ProbeCalibration = typeof ProbeCalibration.Type

/** How often a failed history was executed again, alone each time, and how often it failed. */
export const Confirmed = Schema.Struct({ tried: Schema.Int, failed: Schema.Int })
export type Confirmed = typeof Confirmed.Type

/**
 * Returns the estimated share of executions in which a history fails, by Laplace's rule of succession, because a few
 * executions prove little.
 */
export const failureRate = ({ failed, tried }: Confirmed): number => (failed + 1) / (tried + 2)

/** The result of repeating and shortening a failure. */
export const Reproduction = Schema.Struct({
  requirement: Schema.String,
  /** The history of the run that failed. */
  history: History,
  /** How often the history of `trace` failed. If that is null, how often the history of the run was repeated. */
  confirmed: Confirmed,
  /**
   * Trace of the shortest history that still failed, which represents the failure. If the failure needs actions of
   * other histories on the receiver, the trace includes them as operations. Null if no history failed again when it ran
   * alone.
   */
  trace: Schema.NullOr(Trace)
})
export type Reproduction = typeof Reproduction.Type

/** Returns the reproduction of a requirement's failure with this history. */
export const reproductionOf = (
  reproductions: ReadonlyArray<Reproduction>,
  requirement: string,
  history: History
): Reproduction | undefined =>
  reproductions.find((one) => one.requirement === requirement && keyOf(one.history) === keyOf(history))

/**
 * Returns which of a requirement's failures is repeated next, undefined if none is. A failure may be a race, which
 * recurs rarely or never, so one after another is repeated until one of them recurs every time.
 */
export const nextRepeated = <Failure extends { readonly trace: Trace }>(
  failures: ReadonlyArray<Failure>,
  reproductions: ReadonlyArray<Reproduction>,
  requirement: string
): Failure | undefined => {
  const repeated = failures.map(({ trace }) => reproductionOf(reproductions, requirement, trace.history))
  const recurs = repeated.some((one) => one !== undefined && one.confirmed.failed === one.confirmed.tried)
  return recurs ? undefined : failures[repeated.indexOf(undefined)]
}

/** How the run ended. */
export const Ended = Schema.Struct({
  how: Schema.Literals(["complete", "time_up", "interrupted", "target_unusable", "probe_unusable", "stayed_down"]),
  /** Why the receiver or the probe is unusable, or why nothing was tested; empty otherwise. */
  message: Schema.String
})
export type Ended = typeof Ended.Type

export const Evidence = Schema.Struct({
  suite: Schema.String,
  /** The settings, without the values of queries in URLs. */
  options: Options,
  criteria: Criteria,
  /** The `Need`s that the run meets, without `digest`: only the probe's answers show whether it is met. */
  given: Schema.Array(Schema.String),
  /** Names of the hooks in reports. */
  hooks: Schema.Record(Schema.String, Schema.String),
  /** Whether a command can repeat the run. False for a run inside a test. */
  repeatable: Schema.Boolean,
  /** 99th percentile of the duration of an exchange with an echo server in the suite's own process, in milliseconds. */
  echo: Schema.Finite,
  /** ISO 8601, UTC. */
  startedAt: Schema.String,
  durationMs: Schema.Finite,
  calibration: Schema.NullOr(ProbeCalibration),
  ended: Ended,
  runs: Schema.Array(CaseRun),
  /** All actions on the receiver, in order. */
  interventions: Schema.Array(Intervention),
  reproductions: Schema.Array(Reproduction)
})
export type Evidence = typeof Evidence.Type

/** Removes the signature, which is valid for some minutes, because reports are shared. */
export const withoutSignature = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name.toLowerCase() === Signature.headerNames.signature && value !== "" ? "(left out)" : value
    ])
  )

/**
 * Makes a function that removes the values of queries from endpoints. Adds numbers to endpoints that would then be
 * equal.
 */
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

/** Returns the evidence to store, without signatures and the values of queries. */
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
    reproductions: evidence.reproductions.map((one) => ({
      ...one,
      trace: one.trace === null ? null : shownTrace(one.trace)
    }))
  }
}

export const EvidenceLine = Schema.fromJsonString(Evidence)

/** Whether the probe has counted past one: after `double`, or for an event that took effect twice. */
export const countsPastOne = ({ calibration, runs }: Pick<Evidence, "runs" | "calibration">): boolean =>
  calibration?.double?.observed === 2 ||
  runs.some(({ trace }) => trace.effects.some((effects) => (effects?.most ?? 0) > 1))

interface Memory {
  readonly seconds: number
  readonly ids: number
}

/**
 * Longest time, and largest number of other events, after which a duplicate was recognised; null if no late duplicate
 * was recognised.
 */
export const memoryOf = ({ runs, criteria }: Pick<Evidence, "runs" | "criteria">): Memory | null => {
  const known = { seconds: -1, ids: 0 }
  for (const { lane, settled, trace } of runs) {
    // In the other lanes, duplicates follow too soon to count.
    if (!settled || (lane !== "aged" && lane !== "last")) continue
    const hasWaited = trace.history.ops.some(({ k }) => k === "age")
    // A map keeps the last value of a key. As the attempts are in reverse order, that is the index of the first
    // attempt.
    const beginnings = new Map(trace.attempts.map(({ event }, index) => [event, index] as const).toReversed())
    const placesOfNew = [...beginnings.values()]
    for (const { attempts, last, most, shared, state } of storiesOf(trace, criteria)) {
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

/** Describes how long the receiver has remembered ids. */
export const memoryInWords = ({ ids, seconds }: Memory): string =>
  `ids were remembered for ${seconds} s and ${ids.toLocaleString("en-US")} other events`
