/**
 * Where clients are kept that were registered with the service, beside those of the host's directory.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { ClientSecret, RegisteredClient } from "../model/Client.ts"
import type { ClientId } from "../model/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export class ClientStore extends Context.Service<
  ClientStore,
  {
    /** Stores a client; false when there is one of that id. */
    readonly add: (client: RegisteredClient) => Effect.Effect<boolean, StoreError>
    readonly find: (id: ClientId) => Effect.Effect<RegisteredClient | null, StoreError>
    /** All clients, in the order of their ids. */
    readonly list: Effect.Effect<ReadonlyArray<RegisteredClient>, StoreError>
    /** Replaces the secrets of a client that still has those it was found with; false when it has others, or is gone. */
    readonly replaceSecrets: (
      found: Pick<RegisteredClient, "id" | "secrets">,
      secrets: ReadonlyArray<ClientSecret>
    ) => Effect.Effect<boolean, StoreError>
    /** Deletes a client; false when there is none. */
    readonly remove: (id: ClientId) => Effect.Effect<boolean, StoreError>
  }
>()("@doorhook/core/ports/ClientStore") {}
