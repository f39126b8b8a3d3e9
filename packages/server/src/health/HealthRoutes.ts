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
import { standsStill, takePulse } from "./Pulse.ts"

const answer = (status: 200 | 503, body: object) =>
  HttpServerResponse.text(JSON.stringify(body), {
    status,
    contentType: json,
    headers: { "cache-control": "no-store" }
  })

const makeRoutes = Effect.gen(function* () {
  const { standstill } = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher>()

  const ready = takePulse.pipe(
    Effect.provideContext(services),
    Effect.map((pulse) => {
      const { oldest_due_age_ms, delivering, buffered, last_claim_at } = pulse
      const still = standsStill(pulse, standstill)
      return answer(still ? 503 : 200, {
        status: still ? "standing_still" : "ready",
        oldest_due_age_ms,
        delivering,
        buffered,
        last_claim_at: last_claim_at === null ? null : isoOf(last_claim_at)
      })
    }),
    Effect.catchTag("StoreError", (error) =>
      Effect.as(Effect.logError("The store can't be reached", error), answer(503, { status: "store_unreachable" }))
    )
  )

  const refuse = failureResponse(json)
  return [
    resource("/health/live", { GET: Effect.succeed(answer(200, { status: "live" })) }, refuse),
    resource("/health/ready", { GET: ready }, refuse)
  ]
})

export const HealthRoutes = HttpRouter.addAll(makeRoutes)
