/**
 * `GET /metrics`: what Prometheus reads.
 */
import type { DeliveryStore, Dispatcher } from "@doorhook/core"
import { Effect, Metric, Option, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NetAddress } from "effect/net"
import { PrometheusMetrics } from "effect/observability"
import { json } from "../http/MediaType.ts"
import { failure, failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { HealthSettings } from "./HealthSettings.ts"
import { takePulse } from "./Pulse.ts"

const oldestDueAge = Metric.gauge("doorhook_oldest_due_age_ms", {
  description: "How long the delivery that was due first has waited, in milliseconds"
})

const delivering = Metric.gauge("doorhook_delivering", { description: "Requests to receivers that are open now" })

const buffered = Metric.gauge("doorhook_buffered", { description: "Deliveries under lease that wait for a place" })

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

const makeRoutes = Effect.gen(function* () {
  const { metricsFor } = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher>()
  const refuse = failureResponse(json)

  /** Values that are measured when asked for. Without the store, the others are still worth giving. */
  const measure = takePulse.pipe(
    Effect.provideContext(services),
    Effect.flatMap((pulse) =>
      Effect.all([
        Metric.update(oldestDueAge, pulse.oldest_due_age_ms),
        Metric.update(delivering, pulse.delivering),
        Metric.update(buffered, pulse.buffered)
      ])
    ),
    Effect.catchTag("StoreError", (error) => Effect.logWarning("The store can't be reached", error))
  )

  const metrics = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (metricsFor === "loopback" && !isLocal(request)) return yield* refuse(forbidden)
    yield* measure
    return HttpServerResponse.text(yield* PrometheusMetrics.format(), {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })

  return [resource("/metrics", { GET: metrics }, refuse)]
})

export const MetricsRoute = HttpRouter.addAll(makeRoutes)
