/**
 * Stores the clients registered with the service. Clients of the host's directory are not stored.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { ClientSecret, RegisteredClient } from "../model/Client.ts"
import type { ClientId } from "../model/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export class ClientStore extends Context.Service<
  ClientStore,
  {
    /** Stores a client; false if its id is taken. */
    readonly add: (client: RegisteredClient) => Effect.Effect<boolean, StoreError>
    readonly find: (id: ClientId) => Effect.Effect<RegisteredClient | null, StoreError>
    /** All clients, ordered by id. */
    readonly list: Effect.Effect<ReadonlyArray<RegisteredClient>, StoreError>
    /**
     * Replaces the secrets of a client; false if they have changed since the client was read, or the client no longer
     * exists.
     */
    readonly replaceSecrets: (
      found: Pick<RegisteredClient, "id" | "secrets">,
      secrets: ReadonlyArray<ClientSecret>
    ) => Effect.Effect<boolean, StoreError>
    /** Deletes a client; false if it does not exist. */
    readonly remove: (id: ClientId) => Effect.Effect<boolean, StoreError>
  }
>()("@doorhook/core/ports/ClientStore") {}
