/**
 * Traces, metrics and logs to an OpenTelemetry collector, as the usual `OTEL_*` variables of the environment say. Without an
 * endpoint among them nothing is loaded and nothing is sent.
 */
import { Effect, Layer } from "effect"
import { GaugeInterval } from "./KeptGauges.ts"
import { Tracing } from "./Spans.ts"

const endpoints = ["", "_TRACES", "_METRICS", "_LOGS"].map((signal) => `OTEL_EXPORTER_OTLP${signal}_ENDPOINT`)

type Environment = Readonly<Record<string, string | undefined>>

/** Whether the environment names a collector. */
const isWanted = (environment: Environment): boolean =>
  endpoints.some((name) => (environment[name] ?? "") !== "") && environment["OTEL_SDK_DISABLED"] !== "true"

/** What the specification of the variables says where they say nothing, and the name that we go by. */
const defaults: Readonly<Record<string, string>> = {
  OTEL_SERVICE_NAME: "doorhook",
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "otlp",
  OTEL_LOGS_EXPORTER: "otlp"
}

/** How often metrics are sent where the environment does not say, in milliseconds: as in the specification. */
const defaultExportInterval = 60_000

/** How old a value may be that is sent, in milliseconds: measuring asks the database. */
const mostAge = 10_000

/** How often gauges are measured, in milliseconds; null when metrics are not sent. */
const gaugeInterval = (environment: Environment): number | null => {
  const { OTEL_METRICS_EXPORTER: exporter = "otlp", OTEL_METRIC_EXPORT_INTERVAL: interval } = environment
  if (!["", "otlp"].includes(exporter)) return null
  const wanted = Number(interval)
  return Math.min(wanted > 0 ? wanted : defaultExportInterval, mostAge)
}

const given = (environment: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value]] : [])))

const exporting = (environment: Environment) =>
  Effect.promise(() => import("./OtlpExport.ts")).pipe(
    Effect.map(({ layer }) => layer({ ...defaults, ...given(environment) })),
    Layer.unwrap
  )

/** Sends what there is to a collector, when the environment names one; what is left is sent when its scope is closed. */
export const layer = (environment: Environment = process.env): Layer.Layer<never> =>
  isWanted(environment)
    ? Layer.mergeAll(
        exporting(environment),
        Layer.succeed(Tracing, true),
        Layer.succeed(GaugeInterval, gaugeInterval(environment))
      )
    : Layer.empty
