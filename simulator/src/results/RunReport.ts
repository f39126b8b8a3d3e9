/**
 * What a run found, as its JSON report holds it. Times in milliseconds; null where a run of its kind can't know.
 */
import type { DeliveryState } from "@doorhook/core"
import type { DownTime } from "../receivers/Traits.ts"
import type { Answer } from "./Answers.ts"
import type { Violation } from "./Rules.ts"
import type { RunKind } from "./RunKind.ts"
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
  /** Events that had been sent or were about to be when the run ended: planned = accepted + failed + unanswered. */
  readonly unanswered: number
  readonly deliveries: number
  readonly delivered: number
  readonly exhausted: number
  readonly expired: number
  readonly cancelled: number
  readonly skipped: number
  /** Deliveries that had not ended when the waiting for them did: under way, or waiting for a retry or their turn. */
  readonly open: number
  /** Accepted events of which nobody knows what became, because they were too many to follow. */
  readonly unfollowed: number
  /** What was accepted and is not accounted for; null where nobody could be asked. */
  readonly lost: number | null
  readonly attempts: number
  /** Requests that a receiver had processed before; null where receivers are not ours to ask. */
  readonly duplicates: number | null
  /** The most deliveries open at once; null where nobody can see them. */
  readonly backlog: number | null
  /** When they were, since the beginning. */
  readonly backlog_at: number | null
  /** The most requests to receivers open at once. */
  readonly most_in_flight: number | null
  /** The part of all events whose sending began within a second of its time; null where there is none to keep. */
  readonly rate: number | null
  /** Events sent twice, out of order, or late on purpose. */
  readonly repeated: number
  readonly reordered: number
  readonly delayed: number
  /** Places where a rule of delivery was broken; null where they are not watched. */
  readonly broken: number | null
}

/** What waited because a receiver was down: of deliveries that it refused then, each until its end. Times since the beginning. */
export interface OutageLine {
  /** Of several outages, in the worst. */
  readonly most_open: number
  /** Null when nothing waited. */
  readonly most_open_at: number | null
  /** After that: when the first of them was delivered, and when none was left; null when that was not to be. */
  readonly delivered_at: number | null
  readonly empty_at: number | null
  /** How many were given up, and cancelled, of all outages. */
  readonly exhausted: number
  readonly cancelled: number
}

export interface IntegrationLine {
  readonly id: number
  readonly name: string
  /** How its receiver was modelled, as it was written; empty for a prompt one or a real one. */
  readonly receiver: string
  /** When it was down, in minutes of its clock from midnight; on one date, or each day (null). */
  readonly down: ReadonlyArray<DownTime>
  readonly deliveries: number
  readonly states: Readonly<Record<DeliveryState, number>>
  readonly attempts: number
  readonly duplicates: number | null
  /** Null where nobody can see it. */
  readonly most_open: number | null
  /** Since the beginning; when the most were open, and when none was for the first time after that. */
  readonly most_open_at: number | null
  readonly empty_at: number | null
  /** Null where its receiver was not modelled as down. */
  readonly outage: OutageLine | null
  /** How long acknowledged requests took; null when there were none, or none was timed. */
  readonly ack_p50: number | null
  readonly ack_p99: number | null
}

export interface SeriesLine {
  /** Since the beginning. */
  readonly at: number
  readonly planned: number
  readonly sent: number
  /** Null where a service was asked about some of them alone. */
  readonly attempts: number | null
  readonly acknowledged: number | null
  readonly duplicates: number | null
  readonly backlog: number | null
  readonly answer_p50: number | null
  readonly answer_p99: number | null
}

/** With fewer events than this, half-filled pages are most of a file: nothing is measured. */
export const fewestStored = 300

/** What storage takes, as measured on a real SQLite file. */
export interface Storage {
  readonly events: number
  readonly deliveries: number
  readonly bytes_per_event: number
  /** Attempts included, as many as the run had on average. */
  readonly bytes_per_delivery: number
  readonly attempts_per_delivery: number
}

/** What is known before a run begins. */
export interface RunFacts {
  readonly kind: RunKind
  /** What it was run against, in words. */
  readonly target: string
  readonly scenario: string
  readonly description: string
  readonly seed: number
  /** By the clocks of the buildings. */
  readonly start: string
  /** The buildings' time zone; null where they are in several. */
  readonly time_zone: string | null
  readonly duration: number
  readonly buildings: number
  readonly integrations: number
  readonly speed: number | null
  /** How long receivers had, and when retries came; null where they are settings of the service. */
  readonly ack_timeout: number | null
  readonly retry: Readonly<Record<string, ReadonlyArray<number>>> | null
  /** The command that runs it again. */
  readonly command: string
  /** When the run began, ISO 8601: in the plan where it kept a schedule, else by the clock. */
  readonly began_at: string
}

export interface RunReport extends RunFacts {
  readonly schemaVersion: typeof schemaVersion
  /** How long it took, in real time, the waiting for what was open included. */
  readonly took: number
  /** How much of that was publishing, from the first event to the last answer; null on virtual time. */
  readonly sending: number | null
  readonly verdict: "pass" | "fail"
  readonly interrupted: boolean
  readonly totals: Totals
  readonly latency: {
    /** How long acknowledged requests took. */
    readonly ack: Quantiles | null
    /** How long requests took, acknowledged or not. */
    readonly answer: Quantiles | null
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
  /** How requests ended; of a service, those of the deliveries that were looked at. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Of these, the statuses of what was answered and not acknowledged. */
  readonly statuses: Readonly<Record<string, number>>
  readonly integration_lines: ReadonlyArray<IntegrationLine>
  /** How often the run killed its engine. */
  readonly crashes: number
  readonly slos: ReadonlyArray<SloResult>
  readonly violations: ReadonlyArray<Violation>
  readonly storage: Storage | null
  /** Why what storage takes could not be measured; null where it was, or nobody tried. */
  readonly storage_failure: string | null
  readonly answers: ReadonlyArray<Answer>
}
