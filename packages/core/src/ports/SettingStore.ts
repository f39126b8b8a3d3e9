/**
 * Small values that an installation makes for itself once and keeps with its database, such as the operator key.
 */
import type { Effect, Redacted } from "effect"
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
    /**
     * The stored secret; `candidate` is stored first when there is none. A store that has an encryption key keeps secrets
     * encrypted, and replaces one that it finds in clear by `candidate`: copies of the database may hold it.
     */
    readonly getOrCreateSecret: (
      name: string,
      candidate: Redacted.Redacted
    ) => Effect.Effect<Redacted.Redacted, StoreError>
    /** Stores a secret in place of the one before, if there was any. */
    readonly replaceSecret: (name: string, secret: Redacted.Redacted) => Effect.Effect<void, StoreError>
  }
>()("@doorhook/core/ports/SettingStore") {}
