/**
 * The report of a run as data. This is the JSON report, and all other forms are made from it.
 */
import { DurationText } from "@doorhook/core"
import { Schema, Struct } from "effect"
import { Operation } from "../history/Operations.ts"
import { DedupKey, Criteria } from "../judgement/Criteria.ts"
import { verdicts } from "../judgement/Verdict.ts"
import { probeKinds } from "../probes/Probe.ts"
import { Confirmed, Control, Ended } from "../record/Evidence.ts"
import { levels } from "../record/Options.ts"
import { origins } from "../record/Outcome.ts"
import { profiles } from "../requirements/Requirement.ts"

/** One request and its answer. Times in milliseconds. */
const ReportedAttempt = Schema.Struct({
  number: Schema.Int,
  /** The answer, or how the attempt failed, in words. */
  got: Schema.String,
  webhookId: Schema.String,
  /** Time from the start of the history to the start of the attempt. */
  startedMs: Schema.Finite,
  connection: Schema.Literals(["new", "reused"]),
  status: Schema.NullOr(Schema.Int),
  /** Time until the exchange ended. */
  elapsedMs: Schema.Finite,
  /** Start of the answer's body. */
  excerpt: Schema.String,
  /** The request, without its signature. */
  request: Schema.Struct({
    method: Schema.String,
    url: Schema.String,
    headers: Schema.Record(Schema.String, Schema.String),
    /** The beginning of the body. */
    body: Schema.String,
    bodyBytes: Schema.Int
  })
})
export type ReportedAttempt = typeof ReportedAttempt.Type

/** One operation of the history, in words and as data, and its attempts. */
const Step = Schema.Struct({
  /** The operation in words, with the actions of other cases on the receiver during the operation. */
  did: Schema.String,
  op: Operation,
  attempts: Schema.Array(ReportedAttempt),
  /** Number of attempts left out of `attempts`. */
  moreAttempts: Schema.Int
})
export type Step = typeof Step.Type

/** The probe's answer about an event of the history. */
const ReportedEffects = Schema.Struct({
  /** Number of the event, from 1, as in the words of the history. */
  event: Schema.Int,
  webhookId: Schema.String,
  dataId: Schema.String,
  /** Number of effects at the latest reading. */
  effects: Schema.Int,
  /** Highest number of effects at any reading; missing unless above `effects`. */
  most: Schema.optionalKey(Schema.Int),
  /** Whether the stored data is what was sent; null if the probe gives no digest. */
  digestMatches: Schema.NullOr(Schema.Boolean),
  /** Stored data that differs from what was sent, as JSON text, if the probe shows it. */
  stored: Schema.optionalKey(Schema.String)
})
export type ReportedEffects = typeof ReportedEffects.Type

const ReportedRequirement = Schema.Struct({
  id: Schema.String,
  /** The lowest level that tests the requirement. */
  level: Schema.Literals(levels),
  /** The profile that the requirement needs; null if it needs none. */
  profile: Schema.NullOr(Schema.Literals(Struct.keys(profiles))),
  strength: Schema.Literals(["MUST", "SHOULD"]),
  verdict: Schema.Literals(verdicts),
  statement: Schema.String,
  source: Schema.String,
  because: Schema.String,
  expected: Schema.String,
  observed: Schema.String,
  /** The steps of the history that decided the verdict; empty if the requirement passed. */
  history: Schema.Array(Step),
  /**
   * The case that decided the verdict: its title, whether it is fixed, drawn from the seed or of another requirement, and
   * whether the history is a shortened one. Null if the requirement passed.
   */
  case: Schema.NullOr(
    Schema.Struct({
      title: Schema.String,
      origin: Schema.Literals(origins),
      isShortened: Schema.Boolean,
      /** When it was executed, in milliseconds since the run began. */
      atMs: Schema.Finite
    })
  ),
  /** Duration of all cases of the requirement, in milliseconds. */
  durationMs: Schema.Finite,
  /** Effects of the events of the history; empty without a probe, or if the requirement passed. */
  effects: Schema.Array(ReportedEffects),
  /** How often the history was repeated to confirm the failure, and how often it failed again; null if not repeated. */
  confirmed: Schema.NullOr(Confirmed),
  /** Number of fixed cases, of fixed cases executed, and of random cases executed. */
  cases: Schema.Struct({ directed: Schema.Int, directedDone: Schema.Int, randomDone: Schema.Int }),
  /** Cases that were not executed in full, and how far each got. */
  cutShort: Schema.Array(Schema.String),
  /** The file with the history, for `replay`; null if none was written. */
  stored: Schema.NullOr(Schema.String),
  /** Ids of broken requirements that probably cause this failure; missing if none. */
  follows: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The one of these under which the failure is folded: it is not counted, and listed only there. Null if it is not. */
  under: Schema.NullOr(Schema.String),
  /** Whether the baseline lists the requirement as failing. */
  known: Schema.Boolean,
  /** Whether the requirement fails the run: a FAIL, or with `--strict` a WARN, that the baseline does not list. */
  fails: Schema.Boolean,
  /** Indexes, in `history`, of the step and the attempt that decided the verdict; null if no single attempt did. */
  decidedBy: Schema.NullOr(Schema.Struct({ step: Schema.Int, attempt: Schema.Int })),
  /** What was sent, as a curl command; null if one command can't reproduce it. */
  curl: Schema.NullOr(Schema.String),
  /** How to repeat the history or the requirement: a command, or options of a test. */
  replay: Schema.String
})
export type ReportedRequirement = typeof ReportedRequirement.Type

/** Measurements taken before the first case. */
const Calibration = Schema.Struct({
  /** 99th percentile of the duration of an exchange with an echo server in the suite's own process. */
  echoP99Ms: Schema.Finite,
  guardMs: Schema.Int,
  /** Null without a probe. */
  probe: Schema.NullOr(
    Schema.Struct({
      kind: Schema.Literals(probeKinds),
      name: Schema.String,
      /** Readings for an event that was never sent, for one event and for two; null if the run ended before. */
      neverSent: Schema.NullOr(Control),
      one: Schema.NullOr(Control),
      two: Schema.NullOr(Control),
      /** The count once the control URL had made the receiver record one more effect; null without a control URL. */
      double: Schema.NullOr(Control),
      /** Whether the probe was seen to count past one. */
      upperRangeVerified: Schema.Boolean,
      digest: Schema.Boolean,
      /** Time from the acknowledgement to the effect. */
      lagMs: Schema.Finite
    })
  )
})
export type Calibration = typeof Calibration.Type

/**
 * Something that the suite could or could not observe or control in this run, with the means used or the missing flags.
 */
const Observation = Schema.Struct({
  what: Schema.String,
  available: Schema.Boolean,
  how: Schema.String
})

/** Answer times in the timing lane, where nothing else runs. In milliseconds. */
const TimingLane = Schema.Struct({
  attempts: Schema.Int,
  p50Ms: Schema.Finite,
  p90Ms: Schema.Finite,
  p99Ms: Schema.Finite,
  maxMs: Schema.Finite
})
export type TimingLane = typeof TimingLane.Type

/** The requests of one second of the run. */
const Second = Schema.Struct({
  /** Seconds since the run began. */
  at: Schema.Int,
  requests: Schema.Int,
  /** Requests that a limit of the receiver refused. */
  limited: Schema.Int,
  /** Median and longest time of an answer, in milliseconds. */
  p50Ms: Schema.Finite,
  maxMs: Schema.Finite
})

export const Report = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  suite: Schema.String,
  seed: Schema.Int,
  target: Schema.String,
  level: Schema.Literals(levels),
  profiles: Schema.Array(Schema.Literals(Struct.keys(profiles))),
  /** Declared bindings of the receiver; missing if none were declared. */
  bindings: Schema.optionalKey(Schema.Array(Schema.String)),
  /** ISO 8601, UTC. */
  startedAt: Schema.String,
  durationMs: Schema.Finite,
  maxTimeMs: Schema.Int,
  settleMs: Schema.Int,
  /** Which deduplication key was stressed; `both` if the two keys vary together. */
  dedupKey: DedupKey,
  calibration: Calibration,
  observability: Schema.Array(Observation),
  timing: TimingLane,
  /** The seconds of the run in which something was sent. */
  timeline: Schema.Array(Second),
  /**
   * Longest time and highest number of other ids after which the receiver still recognised an event; missing if the run
   * did not show it.
   */
  memory: Schema.optionalKey(Schema.Struct({ seconds: Schema.Int, ids: Schema.Int })),
  /** Ids in the baseline, and which of these passed; null without a baseline. */
  baseline: Schema.NullOr(Schema.Struct({ known: Schema.Array(Schema.String), stale: Schema.Array(Schema.String) })),
  notes: Schema.Array(Schema.String),
  verdict: Schema.Literals(["pass", "fail", "inconclusive"]),
  /** Number of requirements by verdict, without those that are folded under another. */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** What ended the run. */
  ended: Ended.fields.how,
  /** Why the target or the probe is unusable, or why nothing was tested; empty otherwise. */
  endedBecause: Schema.String,
  /** Which statuses acknowledge. */
  ack: Criteria.fields.rule,
  deadlineMs: Schema.Int,
  /** Answers this close to the deadline count neither as in time nor as late. */
  guardMs: Schema.Int,
  attempts: Schema.Int,
  requirements: Schema.Array(ReportedRequirement)
})
export type Report = typeof Report.Type

export const toJson = (report: Report): string => `${JSON.stringify(Schema.encodeSync(Report)(report), null, 2)}\n`

export const deadlineInWords = ({ deadlineMs }: Report): string => DurationText.format(deadlineMs)

const redacted = "(left out)"

/** Returns a text with placeholders for signing secrets and signatures. */
export const safeText = (text: string): string =>
  text
    .replaceAll(/(whs(?:ec|k)_)[A-Za-z0-9+/=]{8,}/g, `$1${redacted}`)
    .replaceAll(/\b(v1a?,)[A-Za-z0-9+/]{40,}={0,2}/g, `$1${redacted}`)
