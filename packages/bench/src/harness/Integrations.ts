/**
 * What is in the store before a run, and what must be in it afterwards.
 */
import { BuildingId, ClientId, DeliveryStore, IntegrationStore, resourceTypeNames, UserId } from "@doorhook/core"
import { Effect, Redacted, Schedule } from "effect"
import { integrationCount, signingSecret } from "./Workload.ts"

/** One integration for each building, all of them to the same receiver. */
export const createIntegrations = Effect.fnUntraced(function* (port: number) {
  const store = yield* IntegrationStore
  for (let building = 1; building <= integrationCount; building++) {
    yield* store.create({
      scope: { type: "building", id: BuildingId.make(building) },
      integrator: "webhook",
      configuration: { url: `http://127.0.0.1:${port}/hook`, method: "post" },
      bindings: resourceTypeNames.map((resource_type) => ({ resource_type, actions: ["create"] })),
      status: "enabled",
      disabled_reason: null,
      created_by: { user_id: UserId.make("admin"), client_id: ClientId.make("c1") },
      signing_secret: Redacted.make(signingSecret),
      version: 1,
      created_at: 0,
      updated_at: 0
    })
  }
})

/** Waits until so many deliveries are delivered. */
export const delivered = (count: number) =>
  Effect.flatMap(DeliveryStore, (store) => store.summary(0)).pipe(
    Effect.repeat({ until: ({ states }) => states.delivered >= count, schedule: Schedule.spaced("2 millis") })
  )
