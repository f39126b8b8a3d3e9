/**
 * The report of a run, as data: what `--report json=FILE` writes and every other form is made from.
 */
import { DurationText } from "@doorhook/core"
import { Schema, Struct } from "effect"
import { verdicts } from "../judgement/Finding.ts"
import { Operation } from "../history/Operations.ts"
import { probeKinds } from "../probes/Probe.ts"
import { profiles } from "../requirements/Requirement.ts"

/** One request and what came back. Times in milliseconds. */
const ReportedAttempt = Schema.Struct({
  number: Schema.Int,
  /** What came back, in words. */
  got: Schema.String,
  webhookId: Schema.String,
  /** Since the history began. */
  startedMs: Schema.Finite,
  connection: Schema.Literals(["new", "reused"]),
  status: Schema.NullOr(Schema.Int),
  /** When the answer's headers were there; null when none came. */
  headersMs: Schema.NullOr(Schema.Finite),
  /** When the exchange was over. */
  elapsedMs: Schema.Finite,
  /** `complete`, or how it went wrong. */
  ended: Schema.String,
  /** Bytes of the answer's body. */
  bytes: Schema.Int,
  excerpt: Schema.String,
  error: Schema.NullOr(Schema.String),
  /** What was sent, without its signature. */
  request: Schema.Struct({
    method: Schema.String,
    url: Schema.String,
    headers: Schema.Record(Schema.String, Schema.String),
    /** The beginning of the body. */
    body: Schema.String,
    bodyBytes: Schema.Int
  }),
  responseHeaders: Schema.Record(Schema.String, Schema.String)
})
export type ReportedAttempt = typeof ReportedAttempt.Type

/** One operation of the history, in words, as data, and with the attempts it made. */
const Step = Schema.Struct({
  /** In words, with what other cases did to the receiver at the time. */
  did: Schema.String,
  op: Operation,
  attempts: Schema.Array(ReportedAttempt),
  /** Attempts beyond those that are reported. */
  moreAttempts: Schema.Int
})
export type Step = typeof Step.Type

/** What the probe said of an event of the history. */
const ReportedEffects = Schema.Struct({
  /** Events are counted from 1, as in the words of the history. */
  event: Schema.Int,
  webhookId: Schema.String,
  dataId: Schema.String,
  /** At the latest reading. */
  effects: Schema.Int,
  /** The most at any reading; missing where that is no more. */
  most: Schema.optionalKey(Schema.Int),
  /** Whether what was stored is what was sent; null where the probe does not say. */
  digestMatches: Schema.NullOr(Schema.Boolean),
  /** What is stored, as JSON text, where it is not what was sent and the probe shows it. */
  stored: Schema.optionalKey(Schema.String)
})
export type ReportedEffects = typeof ReportedEffects.Type

const ReportedRequirement = Schema.Struct({
  id: Schema.String,
  /** What a receiver must let the suite see at least, for this to be tested. */
  level: Schema.Literals([1, 2, 3]),
  /** The profile it belongs to; null for those that are always selected. */
  profile: Schema.NullOr(Schema.Literals(Struct.keys(profiles))),
  strength: Schema.Literals(["MUST", "SHOULD"]),
  verdict: Schema.Literals(verdicts),
  statement: Schema.String,
  source: Schema.String,
  because: Schema.String,
  expected: Schema.String,
  observed: Schema.String,
  /** What was done, where that decided the verdict; empty when it passed. */
  history: Schema.Array(Step),
  /** When the history began, ISO 8601, UTC; missing where there is none, or it is not known. */
  historyStartedAt: Schema.optionalKey(Schema.String),
  /** What the probe said of the events of the history; empty without a probe, or when it passed. */
  effects: Schema.Array(ReportedEffects),
  /** How often the same was done again to confirm it, and how often it failed then; null when it was not. */
  confirmed: Schema.NullOr(Schema.Struct({ tried: Schema.Int, failed: Schema.Int })),
  /** Cases that are always done, those done of them, and cases drawn from the seed that were done. */
  cases: Schema.Struct({ directed: Schema.Int, directedDone: Schema.Int, randomDone: Schema.Int }),
  /** Which of the cases were not done in full, and how much of them was: what passed rests on that. */
  cutShort: Schema.Array(Schema.String),
  /** What a pass rests on and was not verified; missing where that is nothing. */
  caveats: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The file that holds the history, to be replayed; null when none was written. */
  stored: Schema.NullOr(Schema.String),
  /** Ids of broken requirements from which this probably follows; missing where it stands by itself. */
  follows: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Whether the baseline says that this is known to fail. */
  known: Schema.Boolean,
  /** The place, in `history`, of the step and the attempt that decided the verdict; null when none did. */
  decidedBy: Schema.NullOr(Schema.Struct({ step: Schema.Int, attempt: Schema.Int })),
  /** What was sent, as a curl command; null when no request decided, or where the command would not show what the suite saw. */
  curl: Schema.NullOr(Schema.String),
  /** What does it all again: a command, or the options of a test. */
  replay: Schema.String
})
export type ReportedRequirement = typeof ReportedRequirement.Type

/** What a control of the probe was expected to give and gave; null where it could not be done. */
const Control = Schema.NullOr(Schema.Struct({ expected: Schema.Int, observed: Schema.Int }))

/** What was made sure of before anything was judged. */
const Calibration = Schema.Struct({
  /** What an exchange with an echo in the suite's own process takes. */
  echoP99Ms: Schema.Finite,
  guardMs: Schema.Int,
  /** Null without a probe. */
  probe: Schema.NullOr(
    Schema.Struct({
      kind: Schema.Literals(probeKinds),
      name: Schema.String,
      neverSent: Control,
      one: Control,
      two: Control,
      /** After the receiver was asked to record one more effect; null without a control URL. */
      double: Control,
      /** False when nothing shows that the probe can count past one. */
      upperRangeVerified: Schema.Boolean,
      digest: Schema.Boolean,
      /** From the acknowledgement to the effect. */
      lagMs: Schema.Finite
    })
  )
})
export type Calibration = typeof Calibration.Type

/** What the suite could see or do, and by what; where it could not, what would let it. */
const Observation = Schema.Struct({
  what: Schema.String,
  available: Schema.Boolean,
  how: Schema.String
})

/** How long answers took in the timing lane, where nothing else was going on. Times in milliseconds. */
const TimingLane = Schema.Struct({
  attempts: Schema.Int,
  p50Ms: Schema.Finite,
  p90Ms: Schema.Finite,
  p99Ms: Schema.Finite,
  maxMs: Schema.Finite,
  /** Attempts by duration: each entry counts those above the one before, up to `upToMs`. */
  histogram: Schema.Array(Schema.Struct({ upToMs: Schema.Finite, count: Schema.Int }))
})
export type TimingLane = typeof TimingLane.Type

export const Report = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  suite: Schema.String,
  seed: Schema.Int,
  target: Schema.String,
  level: Schema.Literals([1, 2, 3]),
  profiles: Schema.Array(Schema.Literals(Struct.keys(profiles))),
  /** What the receiver was said to be bound to; missing where nothing was. */
  bindings: Schema.optionalKey(Schema.Array(Schema.String)),
  /** ISO 8601, UTC. */
  startedAt: Schema.String,
  durationMs: Schema.Finite,
  maxTimeMs: Schema.Int,
  settleMs: Schema.Int,
  /** Which key for dropping duplicates was stressed; `both` when the two vary together. */
  dedupKey: Schema.Literals(["both", "header", "body"]),
  calibration: Calibration,
  observability: Schema.Array(Observation),
  timing: TimingLane,
  /** Over how long, and over how many other ids, an event was seen to be known again; missing where none was. */
  memory: Schema.optionalKey(Schema.Struct({ seconds: Schema.Int, ids: Schema.Int })),
  /** Known failures that a baseline lists, and those of them that did not fail; null without a baseline. */
  baseline: Schema.NullOr(Schema.Struct({ known: Schema.Array(Schema.String), stale: Schema.Array(Schema.String) })),
  /** What a reader should know besides. */
  notes: Schema.Array(Schema.String),
  verdict: Schema.Literals(["pass", "fail", "inconclusive"]),
  /** Whether all of it was done, and what ended it if not. */
  ended: Schema.Literals(["complete", "time_up", "interrupted", "target_unusable", "probe_unusable", "stayed_down"]),
  /** Why the target or the probe is unusable, or why nothing was tested; empty otherwise. */
  endedBecause: Schema.String,
  /** Which statuses acknowledge. */
  ack: Schema.Literals(["200", "2xx"]),
  deadlineMs: Schema.Int,
  /** Around the deadline, what the suite can't tell from a late answer. */
  guardMs: Schema.Int,
  attempts: Schema.Int,
  requirements: Schema.Array(ReportedRequirement)
})
export type Report = typeof Report.Type

/** The report as JSON text. */
export const toJson = (report: Report): string => `${JSON.stringify(Schema.encodeSync(Report)(report), null, 2)}\n`

/** The deadline of a run, in words. */
export const deadlineInWords = ({ deadlineMs }: Report): string => DurationText.format(deadlineMs)
