/**
 * `GET /metrics`: what Prometheus reads.
 */
import { DeliveryStore, deliveryStates, Dispatcher } from "@doorhook/core"
import type { DeliverySummary, DispatcherStatus } from "@doorhook/core"
import { Clock, Effect, Option, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NetAddress } from "effect/net"
import { PrometheusMetrics } from "effect/observability"
import { json } from "../http/MediaType.ts"
import { failure, failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { HealthSettings } from "./HealthSettings.ts"
import { ageOf, askStore } from "./Pulse.ts"
import type { Family } from "./Samples.ts"
import { gauges } from "./Samples.ts"

/** Whether a request comes from this machine, and not through a proxy on it. */
const isLocal = ({ headers, peerAddress }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["x-forwarded-for"] === undefined &&
  headers["forwarded"] === undefined &&
  Option.exists(peerAddress, (text) =>
    Result.match(NetAddress.ipFromString(text), {
      onFailure: () => false,
      onSuccess: (address) => NetAddress.isLoopback(NetAddress.toCanonical(address))
    })
  )

const forbidden = failure(403, {
  code: "forbidden",
  title: "Not from here",
  detail: "Metrics are read from the machine that the service runs on, unless it is configured to give them to others."
})

const gauge = (name: string, help: string, value: number): Family => ({ name, help, samples: [{ value }] })

/** What the store says about all processes over it; without its answer only that there is none. */
const ofStore = (summary: DeliverySummary | null, now: number): ReadonlyArray<Family> => [
  gauge("doorhook_store_up", "1 when the database answered this request, 0 when not", summary === null ? 0 : 1),
  ...(summary === null
    ? []
    : [
        gauge(
          "doorhook_oldest_due_age_ms",
          "How long the delivery that was due first has waited, in milliseconds",
          ageOf(summary.oldest_due_at, now)
        ),
        {
          name: "doorhook_deliveries",
          help: "Deliveries in the database by state",
          samples: deliveryStates.map((state) => ({ labels: { state }, value: summary.states[state] }))
        }
      ])
]

/** What this process does. Other workers count for themselves. */
const ofDispatcher = (status: DispatcherStatus): ReadonlyArray<Family> => [
  gauge("doorhook_delivering", "Requests to receivers that are open now", status.delivering),
  gauge("doorhook_buffered", "Deliveries under lease that wait for a place", status.buffered),
  gauge("doorhook_unsettled", "Attempts that are over and not recorded in the database yet", status.unsettled),
  gauge(
    "doorhook_last_claim_timestamp_seconds",
    "When due deliveries were last looked for with success, as a Unix time; 0 before the first time",
    (status.last_claim_at ?? 0) / 1_000
  ),
  gauge("doorhook_failing_integrations", "Integrations whose last attempt here failed", status.failing),
  {
    name: "doorhook_integration_consecutive_failures",
    help: "Failed attempts in a row here, of the integrations with the most",
    samples: status.worst.map(({ failures, integration_id }) => ({
      labels: { integration_id: String(integration_id) },
      value: failures
    }))
  },
  {
    name: "doorhook_integration_failing_since_seconds",
    help: "When the first of these failures was, as a Unix time",
    samples: status.worst.map(({ integration_id, since }) => ({
      labels: { integration_id: String(integration_id) },
      value: since / 1_000
    }))
  }
]

const makeRoutes = Effect.gen(function* () {
  const { metricsFor, patience } = yield* HealthSettings
  const store = yield* DeliveryStore
  const dispatcher = yield* Dispatcher
  const refuse = failureResponse(json)

  const measured = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const summary = yield* askStore(store.summary(now), patience)
    return [...ofStore(summary, now), ...ofDispatcher(yield* dispatcher.status)]
  })

  const metrics = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (metricsFor === "loopback" && !isLocal(request)) return yield* refuse(forbidden)
    return HttpServerResponse.text(gauges(yield* measured) + (yield* PrometheusMetrics.format()), {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })

  return [resource("/metrics", { GET: metrics }, refuse)]
})

export const MetricsRoute = HttpRouter.addAll(makeRoutes)
