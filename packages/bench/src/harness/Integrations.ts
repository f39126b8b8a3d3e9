/**
 * Creates integrations for a run, and waits for deliveries.
 */
import { bindAll, BuildingId, builtInTable, ClientId, DeliveryStore, IntegrationStore, UserId } from "@doorhook/core"
import { Effect, Redacted, Schedule } from "effect"
import { integrationCount, signingSecret } from "./Workload.ts"

/** Creates an integration of a building with a receiver on this machine. `host` is the host name in its URL. */
export const createIntegration = (building: number, port: number, host = "127.0.0.1") =>
  Effect.flatMap(IntegrationStore, (store) =>
    store.create({
      scope: { type: "building", id: BuildingId.make(building) },
      integrator: "webhook",
      configuration: { url: `http://${host}:${port}/hook`, method: "post" },
      bindings: bindAll(builtInTable),
      status: "enabled",
      disabled_reason: null,
      created_by: { user_id: UserId.make("admin"), client_id: ClientId.make("c1") },
      signing_secret: Redacted.make(signingSecret),
      previous_secrets: [],
      overrides: {},
      version: 1,
      created_at: 0,
      updated_at: 0
    })
  )

/** Creates one integration per building, all with the same receiver. */
export const createIntegrations = Effect.fnUntraced(function* (port: number, count = integrationCount) {
  for (let building = 1; building <= count; building++) yield* createIntegration(building, port)
})

/** Returns the number of deliveries in the state `delivered`. */
export const countDelivered = Effect.flatMap(DeliveryStore, (store) =>
  Effect.map(store.summary(0), ({ states }) => states.delivered)
)

/** Waits until `count` deliveries are in the state `delivered`. Polls rarely, because polling slows down the engine. */
export const delivered = (count: number) =>
  Effect.repeat(countDelivered, { until: (found) => found >= count, schedule: Schedule.spaced("20 millis") })
