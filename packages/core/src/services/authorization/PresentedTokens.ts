/**
 * What a token that somebody presents stands for: as a bearer (RFC 6750), to ask about it (RFC 7662), or to end it (RFC 7009).
 */
import { Clock, Effect } from "effect"
import type { Client } from "../../domain/Client.ts"
import { isConfidential } from "../../domain/Client.ts"
import type { ClientId, GrantId, UserId } from "../../domain/Ids.ts"
import { Directory } from "../../ports/Directory.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import type { StoredToken } from "../../rules/TokenLife.ts"
import { isLive, retiredBy } from "../../rules/TokenLife.ts"
import type { ClientRequest } from "./ClientAuthentication.ts"
import { authenticateClient, findClient } from "./ClientAuthentication.ts"
import { OAuthError } from "./OAuthError.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import { RefreshBursts } from "./RefreshBursts.ts"
import { hashOf, prefixes } from "./Secrets.ts"

/** Who an access token stands for. */
export interface Principal {
  readonly user_id: UserId
  readonly client_id: ClientId
  readonly grant_id: GrantId
}

/** The answer of the introspection endpoint; times in seconds since the epoch. Anything not valid is only inactive. */
export type Introspection =
  | { readonly active: false }
  | {
      readonly active: true
      readonly scope: string
      readonly client_id: ClientId
      readonly sub: UserId
      readonly token_type?: "Bearer"
      readonly iat: number
      /** Absent for a refresh token, which does not expire. */
      readonly exp?: number
    }

/** Finds a token by what its client holds. The prefix says which kind it is: the hint of RFC 7009 is not needed. */
const find = Effect.fnUntraced(function* (value: string) {
  const store = yield* TokenStore
  const hash = yield* hashOf(value)
  if (value.startsWith(prefixes.refresh)) {
    const found = yield* store.findRefreshToken(hash)
    return found === null ? null : ({ kind: "refresh", ...found } satisfies StoredToken)
  }
  const found = yield* store.findAccessToken(hash)
  return found === null ? null : ({ kind: "access", ...found } satisfies StoredToken)
})

/** Whether a token can be used now, and its user and its client exist. */
const isUsable = Effect.fnUntraced(function* (found: StoredToken) {
  if (!isLive(found, yield* Clock.currentTimeMillis)) return false
  const { client_id, user_id } = found.grant
  return (yield* (yield* Directory).isActive(user_id)) && (yield* findClient(client_id)) !== null
})

/** Who an access token stands for; null when it can't be used. Its use retires what it came in exchange for. */
export const authenticate = Effect.fnUntraced(function* (accessToken: string) {
  const store = yield* TokenStore
  const found = yield* store.findAccessToken(yield* hashOf(accessToken))
  if (found === null || !(yield* isUsable({ kind: "access", ...found }))) return null
  const { token, grant } = found
  const now = yield* Clock.currentTimeMillis
  const retired = retiredBy(token, now)
  const bursts = yield* RefreshBursts
  if (retired !== null && !bursts.use(retired, now) && bursts.retire(retired)) {
    yield* Effect.onError(store.retireRefreshToken(retired, now), () =>
      Effect.sync(() => bursts.forgetRetired(retired))
    )
  }
  const principal: Principal = {
    user_id: grant.user_id,
    client_id: grant.client_id,
    grant_id: grant.id
  }
  return principal
})

/** The client and the token that a request to one of the two endpoints names. */
const readRequest = Effect.fnUntraced(function* (request: ClientRequest) {
  const repeated = firstRepeated(request.parameters)
  if (repeated !== null) return yield* OAuthError.invalidRequest(cameTwice(repeated))
  const client = yield* authenticateClient(request, "secret")
  const token = get(request.parameters, "token")
  if (token === null) return yield* OAuthError.invalidRequest("The parameter token is missing. Send it in the body.")
  return { client, token }
})

const belongsTo = (found: StoredToken, client: Client): boolean => found.grant.client_id === client.id

/** Ends a token; with a refresh token everything of its grant (RFC 7009 section 2.1). */
export const revoke = Effect.fnUntraced(function* (request: ClientRequest) {
  const { client, token } = yield* readRequest(request)
  const store = yield* TokenStore
  const found = yield* find(token)
  // It may have been deleted by a commit that is not on disk yet. Deleting it again waits for that.
  if (found === null) return yield* store.revokeAccessToken(yield* hashOf(token))
  if (!belongsTo(found, client)) return yield* OAuthError.invalidGrant("The token was issued to another client.")
  if (found.kind === "refresh") yield* store.revokeGrant(found.grant.id, yield* Clock.currentTimeMillis)
  else yield* store.revokeAccessToken(found.token.hash)
})

const inactive: Introspection = { active: false }

/**
 * What a token stands for. Only clients with a secret may ask, and only about their own tokens: otherwise anybody could
 * try out tokens here (RFC 7662 section 4).
 */
export const introspect = Effect.fnUntraced(function* (request: ClientRequest) {
  const { client, token } = yield* readRequest(request)
  if (!isConfidential(client))
    return yield* OAuthError.invalidClient("Only clients with a secret may introspect tokens.")
  const found = yield* find(token)
  if (found === null || !belongsTo(found, client) || !(yield* isUsable(found))) return inactive
  const { user_id: sub, client_id, scope } = found.grant
  const iat = Math.floor(found.token.created_at / 1_000)
  const answer: Introspection =
    found.kind === "access"
      ? { active: true, scope, client_id, sub, token_type: "Bearer", iat, exp: found.token.expires_at / 1_000 }
      : { active: true, scope, client_id, sub, iat }
  return answer
})
