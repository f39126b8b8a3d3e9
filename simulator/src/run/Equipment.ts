/**
 * What the simulator can't bring along, because it depends on core alone: a way out to the network. Provided by the program
 * that mounts the command.
 */
import type { Crypto, Transport } from "@doorhook/core"
import { Context } from "effect"
import type { Layer } from "effect"

export interface EquipmentShape {
  /** Sends to real receivers. */
  readonly transport: Layer.Layer<Transport>
  readonly crypto: Layer.Layer<Crypto>
}

/** Null where it is not provided. */
export const Equipment = Context.Reference<EquipmentShape | null>("@doorhook/simulator/Equipment", {
  defaultValue: () => null
})
