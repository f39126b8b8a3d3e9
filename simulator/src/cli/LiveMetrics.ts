/** `--metrics ADDRESS`: serves measurements as Prometheus text during a run. */
import { createServer } from "node:http"
import { CommandFailure } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Measurements } from "../results/Measurements.ts"
import { latencies } from "../results/Measurements.ts"

const prefix = "doorhook_simulate"

/** Help texts of the latency metrics. */
const help = {
  ack: "Duration of acknowledged requests to receivers",
  answer: "Duration of requests to receivers, acknowledged or not",
  delivery: "Time from the acceptance of an event to its acknowledgement",
  queued: "Time from the acceptance of an event to the first request of a delivery",
  intended: "Publish latency, from the planned time of an event",
  service: "Publish latency, from the actual start of sending",
  late_start: "Delay from the planned time to the actual start of sending"
} as const

const gauges = ["open", "unanswered", "backlog", "most_in_flight"] as const
const counters = [
  "planned",
  "accepted",
  "failed",
  "republished",
  "held",
  "deliveries",
  "delivered",
  "exhausted",
  "expired",
  "cancelled",
  "skipped",
  "duplicates"
] as const

/** Upper bounds of the buckets, in milliseconds. They never change, so that histograms of several generators add up. */
const bounds = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000]

/** Returns the metrics in the Prometheus text format, version 0.0.4. */
export const metricsText = ({ latency, outcomes, totals }: Measurements): string => {
  const metric = (name: string, type: string, about: string, lines: ReadonlyArray<string>) => [
    `# HELP ${prefix}_${name} ${about}`,
    `# TYPE ${prefix}_${name} ${type}`,
    ...lines.map((line) => `${prefix}_${name}${line}`)
  ]
  const seconds = (millis: number) => millis / 1_000
  return [
    ...counters.flatMap((name) =>
      metric(`${name}_total`, "counter", `Same as totals.${name} in the report`, [` ${totals[name]}`])
    ),
    ...gauges.flatMap((name) => metric(name, "gauge", `Same as totals.${name} in the report`, [` ${totals[name]}`])),
    ...metric(
      "requests_total",
      "counter",
      "Requests to receivers by outcome",
      Object.entries(outcomes).map(([outcome, count]) => `{outcome="${outcome}"} ${count}`)
    ),
    ...latencies.flatMap((name) => {
      const { count, mean } = latency[name]
      const upTo = (bound: number) => Math.round(latency[name].shareUpTo(bound) * count)
      return metric(`${name}_seconds`, "histogram", help[name], [
        ...bounds.map((bound) => `_bucket{le="${seconds(bound)}"} ${upTo(bound)}`),
        `_bucket{le="+Inf"} ${count}`,
        `_sum ${seconds(mean * count)}`,
        `_count ${count}`
      ])
    }),
    ""
  ].join("\n")
}

/** Address to serve the metrics on. */
export interface MetricsAddress {
  readonly host: string
  readonly port: number
}

/** Serves the metrics until the scope is closed. */
export const serveMetrics = (
  { host, port }: MetricsAddress,
  measurements: () => Measurements
): Effect.Effect<void, CommandFailure, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>, CommandFailure>((resume) => {
        const server = createServer((request, response) => {
          if (request.url !== "/metrics") return response.writeHead(404).end("GET /metrics\n")
          response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(metricsText(measurements()))
        })
        server.once("error", ({ message }) =>
          resume(CommandFailure.usage(`--metrics ${host}:${port}: expected a free port of this machine; ${message}`))
        )
        server.listen(port, host, () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    )
  )
