/**
 * Small values that an installation generates on first use and stores in its database, such as the operator key.
 */
import type { Effect, Redacted } from "effect"
import { Context } from "effect"
import type { StoreError } from "./StoreError.ts"

export class SettingStore extends Context.Service<
  SettingStore,
  {
    /** Returns the stored value. If there is none, stores and returns `candidate`, with `created` true. */
    readonly getOrCreate: (
      name: string,
      candidate: string
    ) => Effect.Effect<{ readonly value: string; readonly created: boolean }, StoreError>
    /** Returns the stored value, or null. */
    readonly find: (name: string) => Effect.Effect<string | null, StoreError>
    /** Stores a value, replacing an earlier one. */
    readonly put: (name: string, value: string) => Effect.Effect<void, StoreError>
    /**
     * Returns the stored secret. If there is none, stores `candidate` first. A store with an encryption key encrypts
     * secrets. It replaces a secret stored without encryption with `candidate`, because copies of the database may
     * contain that secret.
     */
    readonly getOrCreateSecret: (
      name: string,
      candidate: Redacted.Redacted
    ) => Effect.Effect<Redacted.Redacted, StoreError>
    /** Stores a secret, replacing an earlier one. */
    readonly replaceSecret: (name: string, secret: Redacted.Redacted) => Effect.Effect<void, StoreError>
  }
>()("@doorhook/core/ports/SettingStore") {}
