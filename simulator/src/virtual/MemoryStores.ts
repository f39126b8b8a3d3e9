/**
 * The stores that a virtual world can have, with the integrations that it begins with.
 */
import { DeliveryStore, IdempotencyStore, IntegrationStore, MemoryStore, TokenStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import type { Stores } from "../engine/world/WatchedStore.ts"
import { root } from "../random/Substream.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { integrationOf } from "../run/World.ts"
import type { StoredIntegration } from "./VirtualOptions.ts"
import { urlOf } from "./VirtualOptions.ts"

/** The stores of a layer, for as long as the scope lives. */
export const storesOf = <E>(layer: Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore, E>) =>
  Effect.flatMap(Layer.build(Layer.fresh(layer)), (services) =>
    Effect.all({
      deliveries: DeliveryStore,
      integrations: IntegrationStore,
      keys: IdempotencyStore,
      tokens: TokenStore
    }).pipe(Effect.provide(services))
  )

/** In memory, each time anew. */
export const memoryStores = storesOf(MemoryStore.layer)

/** Makes the integrations that a run begins with. */
export const makeIntegrations = (
  { integrations }: Stores,
  planned: ReadonlyArray<PlannedIntegration>,
  seed: number,
  now: number
) =>
  Effect.forEach(planned, (each) =>
    Effect.map(
      integrations.create(integrationOf(each.scope, urlOf(each), root(seed), now)),
      (stored): StoredIntegration => ({ planned: each, stored })
    )
  )
