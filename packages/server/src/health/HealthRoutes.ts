/**
 * For load balancers and supervisors: whether the process lives, and whether it does its work.
 */
import { isoOf } from "@doorhook/core"
import type { DeliveryStore, Dispatcher } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { json } from "../http/MediaType.ts"
import { failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { HealthSettings } from "./HealthSettings.ts"
import { impedimentOf, takePulse, waitOf } from "./Pulse.ts"
import type { StoreProbe } from "./Pulse.ts"

const answer = (status: 200 | 503, body: object) =>
  HttpServerResponse.text(JSON.stringify(body), {
    status,
    contentType: json,
    headers: { "cache-control": "no-store" }
  })

const makeRoutes = Effect.gen(function* () {
  const settings = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher | StoreProbe>()

  const ready = takePulse(settings).pipe(
    Effect.provideContext(services),
    Effect.map((pulse) => {
      const { buffered, delivering, last_claim_at, oldest_due_age_ms, unsettled } = pulse
      const impediment = impedimentOf(pulse, settings)
      return answer(impediment === null ? 200 : 503, {
        ...(impediment ?? { status: "ready" }),
        oldest_due_age_ms,
        delivering,
        buffered,
        unsettled,
        last_claim_at: last_claim_at === null ? null : isoOf(last_claim_at),
        deliveries_wait: waitOf(pulse)
      })
    })
  )

  const refuse = failureResponse(json)
  return [
    resource("/health/live", { GET: Effect.succeed(answer(200, { status: "live" })) }, refuse),
    resource("/health/ready", { GET: ready }, refuse)
  ]
})

export const HealthRoutes = HttpRouter.addAll(makeRoutes)
