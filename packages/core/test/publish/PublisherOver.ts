/**
 * A publisher over a memory store without a dispatcher. Tests can observe, delay or replace its store calls for events
 * and integrations.
 */
import type { NewEvent } from "@doorhook/core"
import {
  BuildingId,
  Crypto,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  IntegrationStore,
  JsonText,
  MemoryStore,
  Publisher,
  WakeSignal
} from "@doorhook/core"
import { Effect, Layer } from "effect"

/** Makes event number `n`. */
export const event = (n: number, resource_type: NewEvent["resource_type"] = "access_log"): NewEvent => ({
  resource_type,
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [],
  data: JsonText.JsonText.make(`{"id":${n}}`)
})

type Enqueue = DeliveryStore["Service"]["enqueue"]
type OfScopes = IntegrationStore["Service"]["findByScopes"]

export const publisherOver = (
  enqueue: (real: Enqueue) => Enqueue,
  findByScopes: (real: OfScopes) => OfScopes = (real) => real,
  settings: Parameters<typeof DeliverySettings.layer>[0] = {}
) =>
  Publisher.layer.pipe(
    Layer.provideMerge(
      Layer.effect(
        DeliveryStore,
        Effect.map(DeliveryStore, (store) => ({ ...store, enqueue: enqueue(store.enqueue) }))
      )
    ),
    Layer.provide(
      Layer.effect(
        IntegrationStore,
        Effect.map(IntegrationStore, (store) => ({ ...store, findByScopes: findByScopes(store.findByScopes) }))
      )
    ),
    Layer.provideMerge(Dispatcher.layerNone),
    Layer.provide([WakeSignal.layerLocal, Crypto.layerWebCrypto, Layer.orDie(DeliverySettings.layer(settings))]),
    Layer.provide(MemoryStore.layer),
    Layer.fresh
  )
