/**
 * What a run found, as its JSON report holds it. Times in milliseconds; null where a run of its kind can't know.
 */
import type { DeliveryState } from "@doorhook/core"
import type { Answer } from "../report/Answers.ts"
import type { Violation } from "./Ledger.ts"
import type { SloResult } from "./Slo.ts"

export const schemaVersion = 1

/** The HDR percentiles of some durations. */
export interface Quantiles {
  readonly count: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly "p99.9": number
  readonly max: number
}

export interface Totals {
  readonly planned: number
  /** Events that were taken in. */
  readonly accepted: number
  /** Events that were not, after all retries. */
  readonly failed: number
  readonly deliveries: number
  readonly delivered: number
  readonly exhausted: number
  readonly expired: number
  readonly cancelled: number
  readonly skipped: number
  /** Deliveries that had not ended when the run did: waiting for a retry, or for their turn. */
  readonly open: number
  /** What was accepted and is not accounted for; null where nobody could be asked. */
  readonly lost: number | null
  readonly attempts: number
  /** Requests that a receiver had processed before; null where receivers are not ours to ask. */
  readonly duplicates: number | null
  /** The most deliveries open at once. */
  readonly backlog: number
  /** When they were, since the beginning. */
  readonly backlog_at: number
  readonly most_in_flight: number
  /** The part of all events whose sending began within a second of its time; null without a schedule. */
  readonly rate: number | null
  /** Events sent twice, out of order, or late on purpose. */
  readonly repeated: number
  readonly reordered: number
  readonly delayed: number
  /** Places where a rule of delivery was broken. */
  readonly broken: number
}

export interface IntegrationLine {
  readonly id: number
  readonly name: string
  readonly receiver: string
  readonly deliveries: number
  readonly states: Readonly<Record<DeliveryState, number>>
  readonly attempts: number
  readonly duplicates: number | null
  readonly most_open: number
  /** Since the beginning; when the most were open, and when none was for the first time after that. */
  readonly most_open_at: number
  readonly empty_at: number | null
  readonly ack_p50: number
  readonly ack_p99: number
}

export interface SeriesLine {
  /** Since the beginning. */
  readonly at: number
  readonly planned: number
  readonly sent: number
  readonly attempts: number
  readonly acknowledged: number
  readonly duplicates: number
  readonly backlog: number
  readonly answer_p50: number | null
  readonly answer_p99: number | null
}

/** What storage takes, as measured on a real SQLite file. */
export interface Storage {
  readonly events: number
  readonly deliveries: number
  readonly bytes_per_event: number
  readonly bytes_per_delivery: number
}

/** What is known before a run begins. */
export interface RunFacts {
  readonly kind: "virtual" | "in-process" | "service" | "receiver"
  /** What it was run against, in words. */
  readonly target: string
  readonly scenario: string
  readonly description: string
  readonly seed: number
  /** By the clocks of the buildings. */
  readonly start: string
  readonly duration: number
  readonly buildings: number
  readonly integrations: number
  readonly speed: number | null
  readonly ack_timeout: number
  readonly retry: Readonly<Record<string, ReadonlyArray<number>>>
  /** The command that runs it again. */
  readonly command: string
  /** When the run began, ISO 8601: in the plan where it kept a schedule, else by the clock. */
  readonly began_at: string
}

export interface RunReport extends RunFacts {
  readonly schemaVersion: typeof schemaVersion
  /** How long it took, in real time. */
  readonly took: number
  readonly verdict: "pass" | "fail"
  readonly interrupted: boolean
  readonly totals: Totals
  readonly latency: {
    /** How long acknowledged requests took. */
    readonly ack: Quantiles | null
    /** From an event's acceptance to its acknowledgement. */
    readonly delivery: Quantiles | null
    /** Intended-time latency of publishing: from when the plan wanted it to the answer. */
    readonly intended: Quantiles | null
    /** Service time of publishing: from the actual start to the answer. */
    readonly service: Quantiles | null
    /** How much later than planned sending began. */
    readonly late_start: Quantiles | null
  }
  readonly interval: number
  readonly series: ReadonlyArray<SeriesLine>
  /** Events by weekday (Sunday first) and hour. */
  readonly week: ReadonlyArray<ReadonlyArray<number>>
  /** How many settled deliveries took so many requests: none, one, two; the last is «or more». */
  readonly attempts_per_delivery: ReadonlyArray<number>
  readonly outcomes: Readonly<Record<string, number>>
  readonly integration_lines: ReadonlyArray<IntegrationLine>
  readonly crashes: number
  readonly slos: ReadonlyArray<SloResult>
  readonly violations: ReadonlyArray<Violation>
  readonly storage: Storage | null
  readonly answers: ReadonlyArray<Answer>
}
