/**
 * What is measured at the moment it is asked for, beside what core counts: the names under which Prometheus and OTLP see it.
 *
 * A measurement is a registry of its own. Kept in the one that counters live in, a gauge would go on showing a value that
 * can't be measured any more, or of a label that is gone.
 */
import { DeliveryStore, deliveryStates, Dispatcher, breakerCauses } from "@doorhook/core"
import type { DeliverySummary, DispatcherStatus } from "@doorhook/core"
import { Clock, Context, Effect, Metric } from "effect"
import { ageOf, askStore } from "./Pulse.ts"

const gauge = (name: string, description: string): Metric.Gauge<number> => Metric.gauge(name, { description })

/** About the database, which all processes over it share. */
const storeUp = gauge("doorhook_store_up", "1 when the database answered when this was measured, 0 when not")
const oldestDueAge = gauge(
  "doorhook_oldest_due_age_ms",
  "How long the delivery that was due first has waited, in milliseconds"
)
const deliveries = gauge("doorhook_deliveries", "Deliveries in the database by state")

/** About this process: other workers measure themselves. */
const delivering = gauge("doorhook_delivering", "Requests to receivers that are open now")
const buffered = gauge("doorhook_buffered", "Deliveries held in memory that wait for a place")
const unsettled = gauge("doorhook_unsettled", "Attempts that are over and not recorded in the database yet")
const lastClaim = gauge(
  "doorhook_last_claim_timestamp_seconds",
  "When due deliveries were last looked for with success, as a Unix time; 0 before the first time"
)
const outage = gauge(
  "doorhook_outage",
  "1 while all deliveries here wait for what is away, by what that is: the directory, or the way out to receivers"
)
const catchingUp = gauge(
  "doorhook_catching_up_integrations",
  "Integrations that are sent their waiting retries early here, because they acknowledge again"
)
const failing = gauge("doorhook_failing_integrations", "Integrations whose last attempt here failed")
const consecutiveFailures = gauge(
  "doorhook_integration_consecutive_failures",
  "Failed attempts in a row here, of the integrations with the most"
)
const failingSince = gauge(
  "doorhook_integration_failing_since_seconds",
  "When the first of these failures was, as a Unix time"
)

/** All of them. */
const names: ReadonlySet<string> = new Set(
  [
    storeUp,
    oldestDueAge,
    deliveries,
    delivering,
    buffered,
    unsettled,
    lastClaim,
    outage,
    catchingUp,
    failing,
    consecutiveFailures,
    failingSince
  ].map(({ id }) => id)
)

type Entry = readonly [metric: Metric.Gauge<number>, value: number, labels?: Readonly<Record<string, string>>]

const ofStore = (summary: DeliverySummary | null, now: number): ReadonlyArray<Entry> =>
  summary === null
    ? [[storeUp, 0]]
    : [
        [storeUp, 1],
        [oldestDueAge, ageOf(summary.oldest_due_at, now)],
        ...deliveryStates.map((state): Entry => [deliveries, summary.states[state], { state }])
      ]

const ofDispatcher = (status: DispatcherStatus): ReadonlyArray<Entry> => [
  [delivering, status.delivering],
  [buffered, status.buffered],
  [unsettled, status.unsettled],
  [lastClaim, (status.last_claim_at ?? 0) / 1_000],
  ...breakerCauses.map((cause): Entry => [outage, status.outage?.cause === cause ? 1 : 0, { cause }]),
  [catchingUp, status.catching_up.length],
  [failing, status.failing],
  ...status.worst.map(({ failures, integration_id }): Entry => [
    consecutiveFailures,
    failures,
    { integration_id: String(integration_id) }
  ]),
  ...status.worst.map(({ integration_id, since }): Entry => [
    failingSince,
    since / 1_000,
    { integration_id: String(integration_id) }
  ])
]

/** Measures now; the store is asked for no longer than `patience` milliseconds. Without its answer, what it alone knows is left out. */
export const measureGauges = Effect.fnUntraced(function* (patience: number) {
  const store = yield* DeliveryStore
  const dispatcher = yield* Dispatcher
  const now = yield* Clock.currentTimeMillis
  const summary = yield* askStore(store.summary(now), patience)
  const measured: Metric.MetricRegistry = new Map()
  const context = Context.make(Metric.MetricRegistry, measured)
  for (const [metric, value, labels = {}] of [...ofStore(summary, now), ...ofDispatcher(yield* dispatcher.status)]) {
    Metric.withAttributes(metric, labels).updateUnsafe(value, context)
  }
  return measured
})

/** The registry of this context with its gauges as they were measured, whatever it holds of an earlier measurement. */
export const withMeasured = (measured: Metric.MetricRegistry): Effect.Effect<Metric.MetricRegistry> =>
  Effect.map(
    Metric.MetricRegistry,
    (kept) => new Map([...measured, ...[...kept].filter(([, { id }]) => !names.has(id))])
  )
