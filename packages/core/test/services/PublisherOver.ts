/**
 * A publisher on a store in memory, without a dispatcher behind it, whose storing a test can watch, slow down or replace.
 */
import type { NewEvent } from "@doorhook/core"
import { BuildingId, Crypto, DeliveryStore, Dispatcher, JsonText, MemoryStore, Publisher, Wake } from "@doorhook/core"
import { Effect, Layer } from "effect"

/** The event number `n`. */
export const event = (n: number, resource_type: NewEvent["resource_type"] = "access_log"): NewEvent => ({
  resource_type,
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [],
  data: JsonText.JsonText.make(`{"id":${n}}`)
})

type Enqueue = DeliveryStore["Service"]["enqueue"]

export const publisherOver = (enqueue: (real: Enqueue) => Enqueue) =>
  Publisher.layer.pipe(
    Layer.provideMerge(
      Layer.effect(
        DeliveryStore,
        Effect.map(DeliveryStore, (store) => ({ ...store, enqueue: enqueue(store.enqueue) }))
      )
    ),
    Layer.provide([Dispatcher.layerNone, Wake.layerLocal, Crypto.layerWebCrypto]),
    Layer.provide(MemoryStore.layer),
    Layer.fresh
  )
