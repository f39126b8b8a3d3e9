/**
 * `GET /metrics`: what Prometheus reads.
 */
import type { Crypto, DeliveryStore, Dispatcher } from "@doorhook/core"
import { Effect, Metric, Option, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NetAddress } from "effect/net"
import { PrometheusMetrics } from "effect/observability"
import * as BearerToken from "../http/BearerToken.ts"
import { proxyHeaderOf } from "../http/ClientAddress.ts"
import { makeKeyCheck } from "../http/KeyCheck.ts"
import { json } from "../http/MediaType.ts"
import { failure, failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { measureGauges, withMeasured } from "./Gauges.ts"
import { HealthSettings } from "./HealthSettings.ts"

/** Proxies have many more headers, nearly all of them with `x-`; scrapers send none but one of Prometheus. */
const unusualHeader = /^x-(?!prometheus-)/

const isLoopbackAddress = (text: string): boolean =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => false,
    onSuccess: (address) => NetAddress.isLoopback(NetAddress.toCanonical(address))
  })

/** Whether a `Host` is a name or an address of this machine alone. Any other may lead a browser here by DNS rebinding. */
const isLoopbackHost = (host: string): boolean => {
  const [, name = ""] = /^(\[[\da-f:.]+\]|[a-z\d.-]+?)\.?(?::\d+)?$/i.exec(host) ?? []
  return name.toLowerCase() === "localhost" || isLoopbackAddress(name.replaceAll(/[[\]]/g, ""))
}

/** Why a request does not come from a program on this machine; null when it seems to. */
const whyNotLocal = (request: HttpServerRequest.HttpServerRequest): string | null => {
  const { headers, originalUrl, peerAddress } = request
  if (!Option.exists(peerAddress, isLoopbackAddress)) return "This request comes from elsewhere."
  const passedOn = proxyHeaderOf(request) ?? Object.keys(headers).find((name) => unusualHeader.test(name))
  if (passedOn !== undefined) return `This request carries \`${passedOn}\`, a header that proxies add.`
  // Web requests may have their host in the URL alone.
  const host = headers["host"] ?? URL.parse(originalUrl)?.host ?? ""
  return isLoopbackHost(host) ? null : "The `Host` of this request is neither `localhost` nor a loopback address."
}

const forbidden = (why: string) =>
  failure(403, {
    code: "forbidden",
    title: "Not from here",
    detail: `Metrics are for programs on the machine that the service runs on. ${why} To read them from elsewhere, set a key (\`metricsKey\`), or \`metricsFor\` to \`anyone\`.`
  })

const unauthorized = failure(
  401,
  { code: "unauthorized", title: "Unauthorized", detail: "Send the metrics key: `Authorization: Bearer KEY`." },
  { "www-authenticate": 'Bearer realm="doorhook metrics"' }
)

const makeRoutes = Effect.gen(function* () {
  const { metricsFor, metricsKey, patience } = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher | Crypto>()
  const isKey = metricsKey === null ? null : yield* makeKeyCheck(metricsKey)
  const refuse = failureResponse(json)
  const measure = Effect.provideContext(measureGauges(patience), services)

  /** Why a request may not read metrics; null when it may. */
  const refusalOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    if (isKey !== null) {
      const presented = BearerToken.read(request.headers["authorization"])
      return presented._tag !== "Absent" && (yield* isKey(presented.token)) ? null : unauthorized
    }
    const why = metricsFor === "anyone" ? null : whyNotLocal(request)
    return why === null ? null : forbidden(why)
  })

  const metrics = Effect.gen(function* () {
    const refusal = yield* refusalOf(yield* HttpServerRequest.HttpServerRequest)
    if (refusal !== null) return yield* refuse(refusal)
    const registry = yield* Effect.flatMap(measure, withMeasured)
    const text = yield* Effect.provideService(PrometheusMetrics.format(), Metric.MetricRegistry, registry)
    return HttpServerResponse.text(text, {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })

  return [resource("/metrics", { GET: metrics }, refuse)]
})

export const MetricsRoute = HttpRouter.addAll(makeRoutes)
