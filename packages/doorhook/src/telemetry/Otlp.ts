/**
 * Exports traces, metrics and logs to an OpenTelemetry collector, configured by the usual `OTEL_*` environment variables.
 * Without an endpoint, the exporter is neither loaded nor used.
 */
import { Effect, Layer } from "effect"
import { GaugeInterval } from "./KeptGauges.ts"
import { Tracing } from "./Spans.ts"

const endpoints = ["", "_TRACES", "_METRICS", "_LOGS"].map((signal) => `OTEL_EXPORTER_OTLP${signal}_ENDPOINT`)

type Environment = Readonly<Record<string, string | undefined>>

/** Whether the environment names a collector, and does not disable the SDK. */
const isWanted = (environment: Environment): boolean =>
  endpoints.some((name) => (environment[name] ?? "") !== "") && environment["OTEL_SDK_DISABLED"] !== "true"

/** OpenTelemetry's defaults, and doorhook's service name. */
const defaults: Readonly<Record<string, string>> = {
  OTEL_SERVICE_NAME: "doorhook",
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "otlp",
  OTEL_LOGS_EXPORTER: "otlp"
}

/** Default interval for metrics, in milliseconds, as in the specification. */
const defaultExportInterval = 60_000

/** Maximum age of an exported gauge, in milliseconds. A smaller maximum would cause more database queries. */
const maxAge = 10_000

/** Returns how often to measure gauges, in milliseconds; null if metrics are not exported. */
const gaugeInterval = (environment: Environment): number | null => {
  const { OTEL_METRICS_EXPORTER: exporter = "otlp", OTEL_METRIC_EXPORT_INTERVAL: interval } = environment
  if (!["", "otlp"].includes(exporter)) return null
  const wanted = Number(interval)
  return Math.min(wanted > 0 ? wanted : defaultExportInterval, maxAge)
}

const given = (environment: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value]] : [])))

const exporting = (environment: Environment) =>
  Effect.promise(() => import("./OtlpExport.ts")).pipe(
    Effect.map(({ layer }) => layer({ ...defaults, ...given(environment) })),
    Layer.unwrap
  )

/** Exports to a collector if the environment names one. Closing the scope sends the remaining data. */
export const layer = (environment: Environment = process.env): Layer.Layer<never> =>
  isWanted(environment)
    ? Layer.mergeAll(
        exporting(environment),
        Layer.succeed(Tracing, true),
        Layer.succeed(GaugeInterval, gaugeInterval(environment))
      )
    : Layer.empty
