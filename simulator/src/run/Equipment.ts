/**
 * What the simulator can't bring along, because it depends on core alone: a way out to the network, and a database on
 * disk. Whoever mounts the command gives it.
 */
import type { Crypto, DeliveryStore, IdempotencyStore, IntegrationStore, TokenStore, Transport } from "@doorhook/core"
import { Context } from "effect"
import type { Layer } from "effect"

export interface EquipmentShape {
  /** Sends to real receivers. */
  readonly transport: Layer.Layer<Transport>
  readonly crypto: Layer.Layer<Crypto>
  /** All storage on a SQLite file. */
  readonly sqlite: (
    file: string
  ) => Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore, { readonly message: string }>
}

/** Null where nobody has given it. */
export const Equipment = Context.Reference<EquipmentShape | null>("@doorhook/simulator/Equipment", {
  defaultValue: () => null
})
