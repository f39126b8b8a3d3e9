/**
 * Small values that an installation makes for itself once and keeps with its database, such as the operator key.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { StoreError } from "./StoreError.ts"

export class SettingStore extends Context.Service<
  SettingStore,
  {
    /** The stored value; `candidate` is stored first when there is none. `created` says which it was. */
    readonly getOrCreate: (
      name: string,
      candidate: string
    ) => Effect.Effect<{ readonly value: string; readonly created: boolean }, StoreError>
  }
>()("@doorhook/core/ports/SettingStore") {}
