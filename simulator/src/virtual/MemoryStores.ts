/**
 * The stores that a virtual world can have, with the integrations that it begins with.
 */
import { MemoryStore } from "@doorhook/core"
import { Effect } from "effect"
import { storesOf } from "../engine/world/Storage.ts"
import type { Stores } from "../engine/world/WatchedStore.ts"
import { root } from "../random/Substream.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { integrationOf } from "../run/World.ts"
import type { StoredIntegration } from "./VirtualOptions.ts"
import { urlOf } from "./VirtualOptions.ts"

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
