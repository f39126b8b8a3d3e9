/**
 * `GET /operator/figures`: readiness, counts and latencies in one answer, cheap enough to be asked for every second.
 */
import { DeliveryMetrics, DeliveryStore } from "@doorhook/core"
import type { Dispatcher } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { HealthSettings } from "../health/HealthSettings.ts"
import { askStore, impedimentOf, takePulse } from "../health/Pulse.ts"
import type { StoreProbe } from "../health/Pulse.ts"
import { resource } from "../http/Resource.ts"
import { figuresDocument } from "./FiguresDocument.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

const makeRoutes = Effect.gen(function* () {
  const settings = yield* HealthSettings
  const store = yield* DeliveryStore
  const services = yield* Effect.context<DeliveryStore | Dispatcher | StoreProbe>()
  const { operation, refuse } = yield* OperatorEndpoint

  const figures = operation([], () =>
    Effect.gen(function* () {
      const pulse = yield* Effect.provideContext(takePulse(settings), services)
      // A store that has said nothing once is not waited for again.
      const silent = pulse.oldest_due_age_ms === null
      const summary = silent ? null : yield* askStore(store.summary(pulse.now), settings.patience)
      const counted = yield* DeliveryMetrics.counted
      return { status: 200, body: figuresDocument(pulse, impedimentOf(pulse, settings), summary, counted) }
    })
  )

  return [resource("/operator/figures", { GET: figures }, refuse)]
})

export const FiguresRoutes = HttpRouter.addAll(makeRoutes)
