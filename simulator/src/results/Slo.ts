/**
 * What a run must show: `ack_p99<5s,lost=0`.
 *
 * ```
 * slos     = slo *( "," slo )
 * slo      = metric operator value
 * operator = "<" / "<=" / "=" / ">=" / ">"
 * metric   = time "_" quantile / count / share
 * ```
 * Times are compared with durations (`5s`), counts with whole numbers, shares with percentages (`95%`) or parts of 1.
 */
import { DurationText } from "@doorhook/core"
import { Option, Result } from "effect"
import type { RunReport } from "./RunReport.ts"
import { parseShare } from "../receivers/ShareText.ts"
import { duration } from "./Words.ts"

const times = ["ack", "delivery", "intended", "service", "late"] as const
const quantiles = ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"] as const
const counts = [
  "lost",
  "failed",
  "duplicates",
  "exhausted",
  "expired",
  "cancelled",
  "skipped",
  "open",
  "backlog",
  "broken"
] as const
const shares = ["rate", "delivered"] as const

type TimeName = (typeof times)[number]
type QuantileName = (typeof quantiles)[number]
type Metric =
  | { readonly kind: "time"; readonly name: TimeName; readonly quantile: QuantileName }
  | { readonly kind: "count"; readonly name: (typeof counts)[number] }
  | { readonly kind: "share"; readonly name: (typeof shares)[number] }

const operators = {
  "<=": (a: number, b: number) => a <= b,
  ">=": (a: number, b: number) => a >= b,
  "<": (a: number, b: number) => a < b,
  ">": (a: number, b: number) => a > b,
  "=": (a: number, b: number) => a === b
} as const
type Operator = keyof typeof operators

export interface Slo {
  readonly text: string
  readonly metric: Metric
  readonly operator: Operator
  /** Milliseconds, a count, or a part of 1. */
  readonly value: number
}

/** How an objective came out. */
export interface SloResult {
  readonly slo: string
  readonly met: boolean
  /** What was measured, in words. */
  readonly measured: string
}

const sloForms = `METRIC OPERATOR VALUE, with commas between, like ack_p99<5s,lost=0,rate>=95%; times: ${times.join(", ")}, each with _${quantiles.join(", _")}; counts: ${counts.join(", ")}; shares: ${shares.join(", ")}; operators: < <= = >= >`

const oneOf = <A extends string>(all: ReadonlyArray<A>, text: string): A | undefined =>
  all.find((name) => name === text)

const readMetric = (text: string): Metric | null => {
  const count = oneOf(counts, text === "loss" ? "lost" : text)
  if (count !== undefined) return { kind: "count", name: count }
  const share = oneOf(shares, text)
  if (share !== undefined) return { kind: "share", name: share }
  const at = text.indexOf("_")
  const time = oneOf(times, text.slice(0, at))
  const quantile = oneOf(quantiles, text.slice(at + 1))
  return time === undefined || quantile === undefined ? null : { kind: "time", name: time, quantile }
}

const readValue = (metric: Metric, text: string): number | null => {
  if (metric.kind === "time") return Option.getOrNull(DurationText.parse(text))
  if (metric.kind === "count") return /^\d{1,15}$/.test(text) ? Number(text) : null
  return Option.getOrNull(parseShare(text))
}

const expectedValue = {
  time: DurationText.expected,
  count: "a whole number",
  share: "a share like 95% or 0.95"
} as const

/** Reads objectives; what is wrong with the first that is none. */
export const readSlos = (text: string): Result.Result<ReadonlyArray<Slo>, string> => {
  const slos: Array<Slo> = []
  for (const part of text.split(",")) {
    const match = /^([a-z0-9_.]+)\s*(<=|>=|<|>|=)\s*(\S+)$/.exec(part.trim())
    if (match === null) return Result.fail(`${JSON.stringify(part.trim())} is no objective; expected ${sloForms}`)
    const metric = readMetric(match[1] ?? "")
    if (metric === null) return Result.fail(`there is no metric ${match[1]}; expected ${sloForms}`)
    const value = readValue(metric, match[3] ?? "")
    if (value === null)
      return Result.fail(`${match[1]} is compared with ${expectedValue[metric.kind]}, not with ${match[3]}`)
    const operator = oneOf(["<=", ">=", "<", ">", "="], match[2] ?? "") ?? "="
    slos.push({ text: part.trim(), metric, operator, value })
  }
  return Result.succeed(slos)
}

type Measured = Pick<RunReport, "latency" | "totals">

const valueOf = ({ latency, totals }: Measured, metric: Metric): number | null => {
  switch (metric.kind) {
    case "time": {
      const name = metric.name === "late" ? "late_start" : metric.name
      return latency[name]?.[metric.quantile] ?? null
    }
    case "count":
      return totals[metric.name]
    case "share":
      return metric.name === "rate"
        ? totals.rate
        : totals.deliveries === 0
          ? null
          : totals.delivered / totals.deliveries
  }
}

/** What was measured, in words: as exact as it takes to tell it from the objective. */
const inWords = ({ kind }: Metric, value: number, objective: number): string => {
  if (kind === "time") {
    const words = duration(value)
    return words === duration(objective) && value !== objective ? DurationText.format(Math.round(value)) : words
  }
  return kind === "count" ? `${value}` : `${(value * 100).toFixed(2)} %`
}

/** Judges an objective. What was not measured is missed. */
export const judgeSlo = (report: Measured, { metric, operator, text, value }: Slo): SloResult => {
  const actual = valueOf(report, metric)
  if (actual === null) return { slo: text, met: false, measured: "not measured in this run" }
  return { slo: text, met: operators[operator](actual, value), measured: inWords(metric, actual, value) }
}
