/**
 * Lists and revokes grants of users, for operators. Refresh tokens do not expire, so operators revoke them here after a
 * password change or the loss of a device (RFC 9700 section 4.14.2).
 */
import { Context, Effect, Layer } from "effect"
import type { ClientId, UserId } from "../model/Ids.ts"
import type { Grant } from "../model/Token.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { ClientDocuments } from "./ClientDocuments.ts"
import { makeFindClient } from "../ports/KnownClients.ts"

/** Maximum number of grants listed for a user. */
export const mostGrants = 1_000

/** A grant with the name of its client. The name is null if the client no longer exists. */
export interface NamedGrant {
  readonly grant: Grant
  /** When the client last got a token, in milliseconds since the epoch. */
  readonly last_used_at: number
  readonly client_name: string | null
}

export class Grants extends Context.Service<
  Grants,
  {
    /** Returns a user's valid grants, oldest first, at most `mostGrants`. */
    readonly list: (user: UserId) => Effect.Effect<ReadonlyArray<NamedGrant>, StoreError | DirectoryError>
    /**
     * Revokes all grants of a user, or only those to one client. Their tokens and codes are refused immediately.
     * Returns how many valid grants it revoked.
     */
    readonly revoke: (user: UserId, client: ClientId | null) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/oauth/Grants") {
  static readonly layer: Layer.Layer<Grants, never, TokenStore | ClientStore | Directory> = Layer.effect(
    Grants,
    Effect.gen(function* () {
      const tokens = yield* TokenStore
      const now = yield* storeTime
      const findClient = makeFindClient(yield* Directory, yield* ClientStore, (yield* ClientDocuments).accepted)
      const nameOf = (id: ClientId) => Effect.map(findClient(id), (client) => [id, client?.name ?? null] as const)

      return Grants.of({
        list: Effect.fnUntraced(function* (user) {
          const grants = yield* tokens.grantsOf(user, mostGrants)
          const names = new Map(yield* Effect.forEach(new Set(grants.map(({ grant }) => grant.client_id)), nameOf))
          return grants.map((used) => ({ ...used, client_name: names.get(used.grant.client_id) ?? null }))
        }),

        revoke: (user, client) => Effect.suspend(() => tokens.revokeGrantsOf(user, client, now()))
      })
    })
  )
}
