/**
 * A stored trace: one JSON value a line (NDJSON). The run, then each case with its traces, and last how it ended.
 *
 * Lines that belong together say so by number: `case` counts cases, `x` traces. Events and attempts stand in the order of
 * their trace, so that an attempt's `event` and `op` count from 0. Signatures and the values of queries are left out:
 * traces are kept by builds and sent around. The bodies are those that were sent.
 */
import { Schema } from "effect"
import { Terms } from "../checks/Terms.ts"
import { Confirmed, Ended } from "../executor/Judgement.ts"
import { ProbeCalibration } from "../executor/ProbeCalibration.ts"
import { Attempt, Effects, Intervention, SentEvent, Shortfall } from "../observed/Trace.ts"
import { History, lanes } from "../history/History.ts"
import { Facts } from "../record/Facts.ts"

const line = <const K extends string, Fields extends Schema.Struct.Fields>(kind: K, fields: Fields) =>
  Schema.Struct({ line: Schema.Literal(kind), ...fields })

const x = { x: Schema.Int }

export const Line = Schema.Union([
  line("run", {
    v: Schema.Literal(1),
    suite: Schema.String,
    /** ISO 8601, UTC. */
    startedAt: Schema.String,
    facts: Facts,
    terms: Terms,
    /** What an exchange with an echo in the suite's own process took, in milliseconds. */
    echo: Schema.Finite
  }),
  line("case", {
    case: Schema.Int,
    title: Schema.String,
    lane: Schema.Literals(lanes),
    history: History,
    /** Whether nothing else was going on. */
    alone: Schema.Boolean,
    /** Whether all of it was done. */
    whole: Schema.Boolean,
    /** Whether its effects were read, or there is no probe to read them with. */
    settled: Schema.Boolean
  }),
  line("trace", {
    ...x,
    case: Schema.Int,
    /** 0 the first time, then counting its repeats. */
    repeat: Schema.Int,
    /** What was executed in place of the case's own history, of the requirement of this id; null: its own. */
    shortened: Schema.NullOr(Schema.Struct({ requirement: Schema.String, history: History })),
    /** When it began, in milliseconds since the epoch; missing in traces of an earlier version. */
    began: Schema.optionalKey(Schema.Finite),
    /** Whether its effects were told by `data.id` alone; missing where they were not. */
    byDataId: Schema.optionalKey(Schema.Boolean),
    /** Whether effects at the receiver's URLs were counted together; missing with one URL, and in an earlier version's traces. */
    blindToUrls: Schema.optionalKey(Schema.Boolean)
  }),
  line("event", {
    ...x,
    ...SentEvent.fields,
    /** What the probe said of it; null where it was not read. */
    effects: Schema.NullOr(Effects),
    /** The same at the receiver's other URL. */
    effectsElsewhere: Schema.NullOr(Effects)
  }),
  line("attempt", {
    ...x,
    ...Attempt.fields,
    /** Which of the receiver's URLs it went to: 0 for the first. */
    endpoint: Schema.Int
  }),
  line("intervention", { ...x, ...Intervention.fields }),
  line("shortfall", { ...x, ...Shortfall.fields }),
  line("confirmed", {
    /** The id of the requirement whose failure was looked for again. */
    requirement: Schema.String,
    ...Confirmed.fields
  }),
  line("end", {
    durationMs: Schema.Finite,
    ended: Ended,
    calibration: Schema.NullOr(ProbeCalibration),
    /** Ids of events that took effect during the run and were none of its own. */
    strangers: Schema.Array(Schema.String),
    /** Files with the histories of failures, by the requirement's id. */
    stored: Schema.Record(Schema.String, Schema.String),
    /** Why something could not be stored. */
    problem: Schema.NullOr(Schema.String)
  })
])
export type Line = typeof Line.Type
