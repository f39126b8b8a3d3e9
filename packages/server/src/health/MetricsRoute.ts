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
import { measureGauges, withMeasured } from "./Gauges.ts"
import { HealthSettings } from "./HealthSettings.ts"

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
  const { metricsFor, patience } = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher>()
  const refuse = failureResponse(json)
  const measure = Effect.provideContext(measureGauges(patience), services)

  const metrics = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (metricsFor === "loopback" && !isLocal(request)) return yield* refuse(forbidden)
    const registry = yield* Effect.flatMap(measure, withMeasured)
    const text = yield* Effect.provideService(PrometheusMetrics.format(), Metric.MetricRegistry, registry)
    return HttpServerResponse.text(text, {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })

  return [resource("/metrics", { GET: metrics }, refuse)]
})

export const MetricsRoute = HttpRouter.addAll(makeRoutes)
