/** `--metrics PORT`: serves measurements as Prometheus text on the loopback address during a run. */
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
      const quantiles = count === 0 ? [] : [0.5, 0.9, 0.99, 1]
      return metric(`${name}_seconds`, "summary", help[name], [
        ...quantiles.map((share) => `{quantile="${share}"} ${seconds(latency[name].quantile(share))}`),
        `_sum ${seconds(mean * count)}`,
        `_count ${count}`
      ])
    }),
    ""
  ].join("\n")
}

/** Serves the metrics until the scope is closed. */
export const serveMetrics = (
  port: number,
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
          resume(CommandFailure.usage(`--metrics ${port}: expected a free port of this machine; ${message}`))
        )
        server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    )
  )
