/**
 * Grants of users, which operators list and revoke. Refresh tokens do not expire: this is what ends them when a password changes or
 * a device is lost (RFC 9700 section 4.14.2).
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { ClientId, UserId } from "../model/Ids.ts"
import type { Grant } from "../model/Token.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { makeFindClient } from "./ClientAuthentication.ts"

/** The most grants of a user that are listed. */
export const mostGrants = 1_000

/** A grant, and what its client is called: null where there is no such client any more. */
export interface NamedGrant {
  readonly grant: Grant
  readonly client_name: string | null
}

export class Grants extends Context.Service<
  Grants,
  {
    /** What a user has granted and works still, the oldest first: `mostGrants` of it. */
    readonly list: (user: UserId) => Effect.Effect<ReadonlyArray<NamedGrant>, StoreError | DirectoryError>
    /**
     * Ends all that a user has granted, or what they have granted to one client: tokens and codes are refused from the next request
     * on. Says how many grants it ended, as `list` has them.
     */
    readonly revoke: (user: UserId, client: ClientId | null) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/oauth/Grants") {
  static readonly layer: Layer.Layer<Grants, never, TokenStore | ClientStore | Directory> = Layer.effect(
    Grants,
    Effect.gen(function* () {
      const tokens = yield* TokenStore
      const findClient = makeFindClient(yield* Directory, yield* ClientStore)
      const nameOf = (id: ClientId) => Effect.map(findClient(id), (client) => [id, client?.name ?? null] as const)

      return Grants.of({
        list: Effect.fnUntraced(function* (user) {
          const grants = yield* tokens.grantsOf(user, mostGrants)
          const names = new Map(yield* Effect.forEach(new Set(grants.map(({ client_id }) => client_id)), nameOf))
          return grants.map((grant) => ({ grant, client_name: names.get(grant.client_id) ?? null }))
        }),

        revoke: (user, client) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => tokens.revokeGrantsOf(user, client, now))
      })
    })
  )
}
