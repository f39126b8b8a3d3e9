/**
 * `/health/live` and `/health/ready` for load balancers and supervisors, and `/metrics` for Prometheus.
 *
 * Core maintains the counters. Gauges are measured for each request and put into a new registry. Therefore a gauge
 * disappears if it can't be measured or its label no longer exists.
 */
import { breakerCauses, deliveryStates, isoOf } from "@doorhook/core"
import type { DeliveryStore, DeliverySummary, Dispatcher, DispatcherStatus } from "@doorhook/core"
import { Context, Effect, Exit, Metric, Result } from "effect"
import { NetAddress } from "effect/net"
import { PrometheusMetrics } from "effect/observability"
import { proxyHeaderOf } from "../http/ClientAddress.ts"
import { makeKeyCheck, readBearer } from "../http/Credentials.ts"
import type { Exchange } from "../http/Exchange.ts"
import type { RequestFailure } from "../http/Failures.ts"
import { failure } from "../http/Failures.ts"
import { jsonFace as face } from "../http/HttpSurface.ts"
import { json } from "../http/MediaType.ts"
import type { Answer, Route } from "../http/Route.ts"
import { HealthSettings } from "./HealthSettings.ts"
import { healthCauses, readinessOf } from "./HealthCauses.ts"
import type { Readiness } from "./HealthCauses.ts"
import type { StoreProbe } from "./HealthStatus.ts"
import { ageOf, checkHealth, outageDetail, readSummary } from "./HealthStatus.ts"

export const makeHealthRoutes = Effect.gen(function* () {
  const settings = yield* HealthSettings
  const { metricsFor, metricsKey } = settings
  const services = yield* Effect.context<DeliveryStore | Dispatcher | StoreProbe | HealthSettings>()
  const isKey = metricsKey === null ? null : yield* makeKeyCheck(metricsKey)

  const live = Exit.succeed(healthAnswer(200, { status: "live" }))

  const ready = checkHealth(settings).pipe(
    Effect.provideContext(services),
    Effect.map((health) => {
      const { buffered, delivering, last_claim_at, oldest_due_age_ms, unsettled } = health
      const { causes, detail, isReady, status } = readinessOf(health, settings)
      return healthAnswer(isReady ? 200 : 503, {
        status,
        ...(detail !== null && { detail }),
        causes,
        oldest_due_age_ms,
        delivering,
        buffered,
        unsettled,
        last_claim_at: last_claim_at === null ? null : isoOf(last_claim_at),
        outage: outageDetail(health)
      })
    })
  )

  /** Returns why a request may not read metrics; null if it may. */
  const refusalOf = (x: Exchange): Effect.Effect<RequestFailure | null> => {
    if (isKey === null) {
      const why = metricsFor === "anyone" ? null : whyNotLocal(x)
      return Exit.succeed(why === null ? null : forbidden(why))
    }
    const presented = readBearer(x.header("authorization"))
    if (presented._tag === "Absent") return Exit.succeed(unauthorized)
    return Effect.map(isKey(presented.token), (isRight) => (isRight ? null : unauthorized))
  }

  const metrics = Effect.fnUntraced(function* (x: Exchange) {
    const refusal = yield* refusalOf(x)
    if (refusal !== null) return yield* refusal
    const measured = yield* Effect.provideContext(measureGauges, services)
    const registry = withMeasured(yield* Metric.MetricRegistry, measured)
    const counted = yield* Effect.provideService(PrometheusMetrics.format(), Metric.MetricRegistry, registry)
    const body = `${counted}${counted.endsWith("\n") ? "" : "\n"}${processText()}`
    return { status: 200, headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" }, body }
  })

  const routes: ReadonlyArray<Route> = [
    { method: "GET", path: "/health/live", face, handle: () => live },
    { method: "GET", path: "/health/ready", face, handle: () => ready },
    { method: "GET", path: "/metrics", face, handle: metrics }
  ]
  return routes
})

const healthAnswer = (status: 200 | 503, body: object): Answer => ({
  status,
  headers: { "content-type": json, "cache-control": "no-store" },
  body: JSON.stringify(body)
})

/** Headers that proxies add but scrapers don't send: all that begin with `x-`, except for those of Prometheus. */
const unusualHeader = /^x-(?!prometheus-)/

const isLoopbackAddress = (text: string): boolean =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => false,
    onSuccess: (address) => NetAddress.isLoopback(NetAddress.toCanonical(address))
  })

/**
 * Whether a host, with or without a port, names this machine. If the `Host` header of a request for metrics could have
 * other names, a website could read metrics through a browser on this machine (DNS rebinding).
 */
export const isLoopbackHost = (host: string): boolean => {
  const [, name = ""] = /^(\[[\da-f:.]+\]|[a-z\d.-]+?)\.?(?::\d+)?$/i.exec(host) ?? []
  return name.toLowerCase() === "localhost" || isLoopbackAddress(name.replaceAll(/[[\]]/g, ""))
}

/** Returns why a request does not count as local; null if it does. */
const whyNotLocal = (x: Exchange): string | null => {
  // A host might pass a web request without the peer's address, so an unknown peer is not local.
  if (x.peer === null || !isLoopbackAddress(x.peer)) return "This request comes from elsewhere."
  const added = proxyHeaderOf(x) ?? Object.keys(x.headers()).find((name) => unusualHeader.test(name))
  if (added !== undefined) return `This request carries \`${added}\`, a header that proxies add.`
  if (isLoopbackHost(x.header("host") ?? "")) return null
  return "The `Host` of this request is neither `localhost` nor a loopback address."
}

const forbidden = (why: string): RequestFailure =>
  failure(403, {
    code: "forbidden",
    title: "Local requests only",
    detail: `Only programs on the service's own machine may read metrics. ${why} To read them from elsewhere, set a key (\`metricsKey\`), or set \`metricsFor\` to \`anyone\`.`
  })

const unauthorized = failure(
  401,
  { code: "unauthorized", title: "Unauthorized", detail: "Send the metrics key: `Authorization: Bearer KEY`." },
  { "www-authenticate": 'Bearer realm="doorhook metrics"' }
)

const gauge = (name: string, description: string): Metric.Gauge<number> => Metric.gauge(name, { description })

const gauges = {
  // Gauges of the database, which several processes may share.
  storeUp: gauge("doorhook_store_up", "1 if the database answered this measurement, else 0"),
  oldestDueAge: gauge("doorhook_oldest_due_age_seconds", "How long the oldest due delivery has been due, in seconds"),
  deliveries: gauge("doorhook_deliveries", "Deliveries in the database by state"),
  // Gauges of this process.
  notReady: gauge("doorhook_not_ready", "1 while this process is not ready for this cause, as in /health/ready"),
  clockOffset: gauge(
    "doorhook_clock_offset_seconds",
    "How far this machine's clock is ahead of the database server's, less the error of the measurement; 0 without a database server"
  ),
  delivering: gauge("doorhook_delivering", "Open requests to receivers"),
  buffered: gauge("doorhook_buffered", "Deliveries in the queue of this process"),
  unsettled: gauge("doorhook_unsettled", "Finished attempts that are not recorded in the database yet"),
  lastClaim: gauge(
    "doorhook_last_claim_timestamp_seconds",
    "Unix time of the last successful query for due deliveries; 0 before the first"
  ),
  outage: gauge(
    "doorhook_outage",
    "1 while all deliveries of this process wait for a dependency that is down: the directory, or outbound connections to receivers"
  ),
  catchingUp: gauge(
    "doorhook_catching_up_integrations",
    "Integrations whose retries are sent early because their receiver has recovered"
  ),
  failing: gauge("doorhook_failing_integrations", "Integrations whose last attempt in this process failed"),
  consecutiveFailures: gauge(
    "doorhook_integration_consecutive_failures",
    "Consecutive failed attempts in this process, for the integrations with the most failures"
  ),
  failingSince: gauge(
    "doorhook_integration_failing_since_timestamp_seconds",
    "Unix time of the first consecutive failure, for the integrations with the most failures"
  )
}

/**
 * Process metrics. The names are the same in all Prometheus clients; the heap metric has the name that Node.js
 * exporters use.
 */
const processMetrics = [
  ["process_cpu_seconds_total", "counter", "User and system CPU time of the process", () => cpuSeconds()],
  ["process_resident_memory_bytes", "gauge", "Resident memory", () => process.memoryUsage.rss()],
  ["process_start_time_seconds", "gauge", "Unix time at which the process started", () => startTime],
  ["nodejs_heap_size_used_bytes", "gauge", "Heap in use", () => process.memoryUsage().heapUsed]
] as const

const startTime = Math.round(performance.timeOrigin) / 1_000

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000_000
}

/** Formats the process metrics in the Prometheus text format. */
const processText = (): string =>
  processMetrics
    .map(([name, type, help, read]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${read()}\n`)
    .join("")

const gaugeNames: ReadonlySet<string> = new Set(Object.values(gauges).map(({ id }) => id))

type Sample = readonly [metric: Metric.Gauge<number>, value: number, labels?: Readonly<Record<string, string>>]

const storeSamples = (summary: DeliverySummary | null, now: number): ReadonlyArray<Sample> =>
  summary === null
    ? [[gauges.storeUp, 0]]
    : [
        [gauges.storeUp, 1],
        [gauges.oldestDueAge, ageOf(summary.oldest_due_at, now) / 1_000],
        ...deliveryStates.map((state): Sample => [gauges.deliveries, summary.states[state], { state }])
      ]

/** The codes of the causes that make a process not ready. */
const stopping = [...new Set(healthCauses.flatMap(({ code, isReady }) => (isReady ? [] : [code])))]

const causeSamples = ({ causes }: Readiness): ReadonlyArray<Sample> =>
  stopping.map((cause) => [gauges.notReady, new Set(causes.map(({ code }) => code)).has(cause) ? 1 : 0, { cause }])

const dispatcherSamples = (status: DispatcherStatus): ReadonlyArray<Sample> => [
  [gauges.delivering, status.delivering],
  [gauges.buffered, status.buffered],
  [gauges.unsettled, status.unsettled],
  [gauges.lastClaim, (status.last_claim_at ?? 0) / 1_000],
  ...breakerCauses.map((cause): Sample => [gauges.outage, status.outage?.cause === cause ? 1 : 0, { cause }]),
  [gauges.catchingUp, status.catching_up.length],
  [gauges.failing, status.failing],
  ...status.worst.map(({ failures, integration_id }): Sample => [
    gauges.consecutiveFailures,
    failures,
    { integration_id: String(integration_id) }
  ]),
  ...status.worst.map(({ integration_id, since }): Sample => [
    gauges.failingSince,
    since / 1_000,
    { integration_id: String(integration_id) }
  ])
]

/** Measures the gauges. If the store does not answer, returns no gauges of the database except `doorhook_store_up`. */
export const measureGauges = Effect.gen(function* () {
  const settings = yield* HealthSettings
  const health = yield* checkHealth(settings)
  const summary = yield* readSummary(health, settings)
  const measured: Metric.MetricRegistry = new Map()
  const context = Context.make(Metric.MetricRegistry, measured)
  const samples = [
    ...storeSamples(summary, health.now),
    ...causeSamples(readinessOf(health, settings)),
    [gauges.clockOffset, (health.clock_ahead_ms ?? 0) / 1_000] satisfies Sample,
    ...dispatcherSamples(health)
  ]
  for (const [metric, value, labels = {}] of samples) Metric.withAttributes(metric, labels).updateUnsafe(value, context)
  return measured
})

/** Returns a copy of a registry, with newly measured gauges in place of earlier ones. */
const withMeasured = (kept: Metric.MetricRegistry, measured: Metric.MetricRegistry): Metric.MetricRegistry =>
  new Map([...measured, ...[...kept].filter(([, { id }]) => !gaugeNames.has(id))])
