/**
 * Objectives of a run: `ack_p99<5s,lost=0`.
 *
 * ```
 * slos     = slo *( "," slo )
 * slo      = metric operator value
 * operator = "<" / "<=" / "=" / ">=" / ">"
 * metric   = [ type "." ] ( time "_" quantile / count / share )
 * ```
 * Times are compared with durations (`5s`), counts with whole numbers, shares with percentages (`95%`) or decimals (`0.95`).
 */
import { builtInTable, DurationText } from "@doorhook/core"
import { Option, Result } from "effect"
import { parseShare } from "../receivers/ReceiverText.ts"
import { duration } from "./Format.ts"
import type { Measurements } from "./Measurements.ts"
import { inTime } from "./Measurements.ts"
import type { Figures, RunKind } from "./Figures.ts"

const times = ["ack", "delivery", "queued", "intended", "service", "late"] as const
const quantiles = ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"] as const
const quantileShares = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, "p99.9": 0.999, max: 1 } as const
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
const shares = ["rate", "reached", "delivered"] as const
/** Counts that exist for each resource type. */
const typedCounts = ["exhausted", "expired", "cancelled", "skipped"] as const

type Metric =
  | { readonly kind: "time"; readonly name: (typeof times)[number]; readonly quantile: (typeof quantiles)[number] }
  | { readonly kind: "count"; readonly name: (typeof counts)[number] }
  | { readonly kind: "share"; readonly name: (typeof shares)[number] }

const operators = {
  "<=": (a: number, b: number) => a <= b,
  ">=": (a: number, b: number) => a >= b,
  "<": (a: number, b: number) => a < b,
  ">": (a: number, b: number) => a > b,
  "=": (a: number, b: number) => a === b
} as const

export interface Slo {
  readonly text: string
  /** Resource type that the objective is about; null for all. */
  readonly type: string | null
  readonly metric: Metric
  readonly operator: keyof typeof operators
  /** Milliseconds, a count, or a share from 0 to 1. */
  readonly value: number
}

/** Result of an objective. `measured` is the measured value as text. */
export interface SloResult {
  readonly slo: string
  readonly met: boolean
  readonly measured: string
}

/** What an objective looks like. */
export const sloForms = `METRIC OPERATOR VALUE, separated by commas, like ack_p99<5s,lost=0,rate>=95%; times: ${times.join(", ")}, each with _${quantiles.join(", _")}; counts: ${counts.join(", ")}; shares: ${shares.join(", ")}; operators: < <= = >= >; for one resource type, a time, ${typedCounts.join(", ")} or delivered like call.delivery_p99<1s`

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

/** Reads objectives, or describes what is wrong with the first invalid objective. */
export const readSlos = (text: string): Result.Result<ReadonlyArray<Slo>, string> => {
  const slos: Array<Slo> = []
  for (const part of text.split(",")) {
    const match = /^([a-z0-9_.]+)\s*(<=|>=|<|>|=)\s*(\S+)$/.exec(part.trim())
    if (match === null) return Result.fail(`${JSON.stringify(part.trim())} is not an objective; expected ${sloForms}`)
    const [, type = null, name = ""] = /^(?:([a-z_]+)\.(?=[a-z]))?(.+)$/.exec(match[1] ?? "") ?? []
    const metric = readMetric(name)
    const isTyped =
      metric === null || metric.kind === "time" || oneOf([...typedCounts, "delivered"], metric.name) !== undefined
    if (metric === null || (type !== null && !isTyped))
      return Result.fail(`unknown metric ${match[1]}; expected ${sloForms}`)
    const value = readValue(metric, match[3] ?? "")
    if (value === null)
      return Result.fail(`${match[1]} is compared with ${expectedValue[metric.kind]}, not with ${match[3]}`)
    const operator = oneOf(["<=", ">=", "<", ">", "="], match[2] ?? "") ?? "="
    slos.push({ text: part.trim(), type, metric, operator, value })
  }
  return Result.succeed(slos)
}

type MetricName = Metric["name"]

/** What each metric measures. */
export const metricMeanings: Readonly<Record<MetricName, string>> = {
  ack: "duration of acknowledged requests to receivers; with modelled receivers it measures the model",
  delivery: "from an event's acceptance to its acknowledgement, retries included",
  queued: "from an event's acceptance to the first request of a delivery",
  intended: "from the planned time of an event to the answer to its publication",
  service: "from the start of sending a publication to its answer",
  late: "from the planned time of an event to the start of sending it",
  lost: "deliveries of accepted events that are not accounted for; also `loss`",
  failed: "events that were not accepted",
  duplicates: "requests that a modelled receiver had processed before",
  exhausted: "deliveries in this state at the end",
  expired: "deliveries in this state at the end",
  cancelled: "deliveries in this state at the end",
  skipped: "deliveries in this state at the end",
  open: "deliveries that had not ended within `--grace` or `--drain`",
  backlog: "maximum number of open deliveries",
  broken: "violations of a delivery rule",
  rate: "events sent within a second of their planned time",
  reached: "deliveries whose first request began within a second of acceptance",
  delivered: "deliveries that were delivered"
}

/** Metrics that each kind of run can't measure, and why. */
const unmeasured: Readonly<Record<RunKind, ReadonlyArray<readonly [names: ReadonlyArray<MetricName>, why: string]>>> = {
  virtual: [
    [
      ["intended", "service", "late", "rate"],
      "on virtual time nothing is ever sent late, and publishing takes no time; measure it with --to or without --virtual"
    ]
  ],
  "in-process": [],
  receiver: [[["duplicates"], "only the receiver knows what it has processed; test it with the conformance suite"]],
  service: [
    [["duplicates"], "only the receivers know what they have processed"],
    [["backlog", "broken", "queued", "reached"], "only the service can measure this; its /metrics has the backlog"]
  ]
}

const ofSchedules: ReadonlyArray<MetricName> = ["intended", "late", "rate"]

/** Latencies that a publisher measures, and so knows by type also for a service. */
const ofPublishers: ReadonlyArray<MetricName> = ["intended", "service", "late"]

/** Returns the reason why this kind of run, with or without a schedule, can't measure an objective; null if it can. */
export const unmeasurable = ({ metric: { name }, type }: Slo, kind: RunKind, hasSchedule: boolean): string | null => {
  if (type !== null && kind === "service" && !ofPublishers.includes(name))
    return "the service's list of deliveries has no resource types"
  if (type !== null && kind !== "service" && !builtInTable.has(type))
    return `its events have the types ${[...builtInTable.keys()].join(", ")}`
  if (!hasSchedule && ofSchedules.includes(name)) return "--as-fast-as-possible has no schedule"
  return unmeasured[kind].find(([names]) => names.includes(name))?.[1] ?? null
}

const valueOf = (
  { latency, totals, types }: Figures,
  { metric, type }: Pick<Slo, "metric" | "type">
): number | null => {
  const own = type === null ? undefined : types[type]
  if (type !== null && own === undefined) return null
  if (metric.kind === "time")
    return (own?.latency ?? latency)[metric.name === "late" ? "late_start" : metric.name]?.[metric.quantile] ?? null
  if (own !== undefined) {
    const state = metric.name === "delivered" ? metric.name : oneOf(typedCounts, metric.name)
    const ended = Object.values(own.states).reduce((sum, count) => sum + count, 0)
    if (state === undefined) return null
    return metric.kind === "count" ? own.states[state] : ended === 0 ? null : own.states[state] / ended
  }
  if (metric.kind === "count" || metric.name !== "delivered") return totals[metric.name]
  return totals.deliveries === 0 ? null : totals.delivered / totals.deliveries
}

/** Formats the measured value, precisely enough to differ from the objective. */
const inWords = ({ kind }: Metric, value: number, objective: number): string => {
  if (kind === "count") return `${value}`
  if (kind === "share") return `${(value * 100).toFixed(2)} %`
  const words = duration(value)
  return words === duration(objective) && value !== objective ? DurationText.format(Math.round(value)) : words
}

/** Judges an objective. If there was nothing to measure, the objective is missed. */
export const judgeSlo = (report: Figures, slo: Slo): SloResult => {
  const { metric, operator, text, value } = slo
  const actual = valueOf(report, slo)
  if (actual === null) return { slo: text, met: false, measured: "nothing to measure" }
  return { slo: text, met: operators[operator](actual, value), measured: inWords(metric, actual, value) }
}

/** What a run has measured so far. */
export interface Standing extends Figures {
  readonly measurements: Pick<Measurements, "latency" | "types">
  /** Maximum number of events in the run; `Infinity` if unknown. */
  readonly mostEvents: number
}

/**
 * Whether an objective counts as missed before the run ends, because it can no longer be met. Times and rates with an
 * unknown final number of values count as missed once enough values miss them.
 */
export const isMissedAlready = (standing: Standing, slo: Slo): boolean => {
  const { metric, operator, value } = slo
  const actual = valueOf(standing, slo)
  if (actual === null || operators[operator](actual, value)) return false
  if (metric.name === "open" || metric.name === "lost" || metric.name === "delivered") return false
  // Only the rate can fall. Counts and maxima only grow.
  if (metric.kind === "share" ? !operator.startsWith(">") : operator.startsWith(">") || actual < value) return false
  if (metric.kind === "count" || (metric.kind === "time" && metric.quantile === "max")) return true
  const best = bestOf(standing, metric, slo.type)
  return best !== null && !operators[operator === "=" ? "<=" : operator](best, value)
}

/** Number of values needed to judge a time or the rate if the final number of values is unknown. */
const enough = 100

/**
 * Returns the best value that a time or the rate can still have at the end of the run. If the final number of values is
 * unknown, returns the value so far, or null if there are too few values.
 */
const bestOf = (
  { measurements, mostEvents, totals }: Standing,
  metric: Exclude<Metric, { readonly kind: "count" }>,
  type: string | null
): number | null => {
  const name =
    metric.name === "reached"
      ? "queued"
      : metric.kind === "share" || metric.name === "late"
        ? "late_start"
        : metric.name
  const { latency } = (type === null ? null : measurements.types.get(type)) ?? measurements
  const histogram = latency[name]
  const { count } = histogram
  // The number of deliveries is unknown, because an event can match any number of integrations. So is that of events of
  // one type.
  const isPerEvent = type === null && name !== "ack" && name !== "delivery" && name !== "queued"
  const events = Math.max(totals.planned, mostEvents)
  const most = isPerEvent ? Math.min(events, count + totals.unanswered + events - totals.planned) : Infinity
  if (most === Infinity && count < enough) return null
  const total = most === Infinity ? count : most
  if (metric.kind === "share") return histogram.shareUpTo(inTime, total)
  return metric.quantile === "mean"
    ? (histogram.mean * count) / total
    : histogram.quantile(quantileShares[metric.quantile], total)
}
