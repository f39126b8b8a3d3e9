/**
 * All storage ports in memory: for trying doorhook out, for tests and for simulations.
 */
import { Layer } from "effect"
import type { ClientStore } from "../ports/ClientStore.ts"
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { SettingStore } from "../ports/SettingStore.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import * as MemoryClientStore from "./MemoryClientStore.ts"
import * as MemoryDeliveryStore from "./MemoryDeliveryStore.ts"
import * as MemoryIdempotencyStore from "./MemoryIdempotencyStore.ts"
import * as MemoryIntegrationStore from "./MemoryIntegrationStore.ts"
import * as MemorySettingStore from "./MemorySettingStore.ts"
import { MemoryState } from "./MemoryState.ts"
import * as MemoryTokenStore from "./MemoryTokenStore.ts"

/** All storage ports, initially empty. Within one runtime they share one store; `Layer.fresh` creates another. */
export const layer: Layer.Layer<
  DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore
> = Layer.mergeAll(
  Layer.mergeAll(MemoryDeliveryStore.layer, MemoryIntegrationStore.layer, MemoryIdempotencyStore.layer).pipe(
    Layer.provide(MemoryState.layer)
  ),
  MemoryTokenStore.layer,
  MemoryClientStore.layer,
  MemorySettingStore.layer
)
