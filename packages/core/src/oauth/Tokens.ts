/**
 * Handles presented tokens: bearer authentication (RFC 6750), revocation (RFC 7009) and introspection (RFC 7662).
 */
import { Effect } from "effect"
import type { KnownClient } from "../model/Client.ts"
import { isConfidential } from "../model/Client.ts"
import type { ClientId, GrantId, UserId } from "../model/Ids.ts"
import type { AccessToken, Grant, PresentedAccessToken } from "../model/Token.ts"
import { resourcesIn } from "../model/Token.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import type { StoredToken } from "../model/TokenValidity.ts"
import { isActive, tokenToRetire } from "../model/TokenValidity.ts"
import type { ClientAuthentication, ClientRequest } from "./ClientAuthentication.ts"
import type { TooManyAttempts } from "./OAuthError.ts"
import { OAuthError } from "./OAuthError.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import type { Audience, Resources } from "./Resources.ts"
import type { Secrets } from "./Secrets.ts"
import { prefixes, sameHash } from "./Secrets.ts"
import type { RefreshReuse } from "./TokenEndpoint.ts"

/** The user and client that an access token was issued to. */
export interface Principal {
  readonly user_id: UserId
  readonly client_id: ClientId
  readonly grant_id: GrantId
  readonly scopes: ReadonlyArray<string>
  /** Expiry of the token, in milliseconds since the epoch. */
  readonly expires_at: number
}

/**
 * The answer of the introspection endpoint. Times are in seconds since the epoch. For an invalid token, it only says
 * that the token is inactive.
 */
export type Introspection =
  | { readonly active: false }
  | {
      readonly active: true
      readonly scope: string
      readonly client_id: ClientId
      readonly sub: UserId
      /** The resources that the token is bound to (RFC 7662 section 2.2); absent for a token that is bound to none. */
      readonly aud?: string | ReadonlyArray<string>
      readonly token_type?: "Bearer"
      readonly iat: number
      /** Absent for a refresh token, which does not expire. */
      readonly exp?: number
    }

/** Dependencies of token requests. */
interface TokensNeeds {
  readonly bursts: RefreshReuse
  readonly clients: ClientAuthentication
  readonly directory: Directory["Service"]
  readonly now: () => number
  readonly resources: Resources
  readonly secrets: Secrets
  readonly store: TokenStore["Service"]
}

type Failure = StoreError | DirectoryError
type StoredAccessToken = Extract<StoredToken, { readonly kind: "access" }>

const nobody = Effect.succeed(null)
const inactive: Introspection = { active: false }

/** The operations on tokens; `AuthorizationServer` describes them. */
export const makeTokens = ({ bursts, clients, directory, now, resources, secrets, store }: TokensNeeds) => {
  /** Retires the refresh token that an access token was issued for, at the first use of the access token. */
  const retire = (token: AccessToken): Effect.Effect<void, StoreError> => {
    const at = now()
    const retired = tokenToRetire(token, at)
    if (retired === null || bursts.use(retired, at) || !bursts.retire(retired)) return Effect.void
    return Effect.onError(store.retireRefreshToken(retired, at), () => Effect.sync(() => bursts.forgetRetired(retired)))
  }

  /** Whether the user and the client of a grant still exist. */
  const hasParties = ({ client_id, user_id }: Grant): Effect.Effect<boolean, Failure> =>
    Effect.flatMapEager(directory.isActive(user_id), (isActive) =>
      isActive ? Effect.mapEager(clients.findClient(client_id), (client) => client !== null) : Effect.succeed(false)
    )

  /** Returns the access token for a presented text; null if there is none. */
  const findAccess = (presented: PresentedAccessToken) =>
    Effect.mapEager(store.findAccessToken(presented), (found) =>
      found !== null && sameHash(found.token.hash, presented.hash) ? ({ kind: "access", ...found } as const) : null
    )

  const authenticate = (accessToken: string, audience: Audience): Effect.Effect<Principal | null, Failure> =>
    Effect.flatMapEager(secrets.readAccessToken(accessToken), (presented) =>
      presented === null
        ? nobody
        : Effect.flatMapEager(findAccess(presented), (found) =>
            found === null || !isActive(found, now()) ? nobody : usedBy(found, audience)
          )
    )

  /**
   * Returns the principal of a valid access token, and retires the refresh token that it was issued for. Null if the
   * token is for another audience.
   */
  const usedBy = (
    { grant, token }: StoredAccessToken,
    audience: Audience
  ): Effect.Effect<Principal | null, Failure> => {
    const scopes = resources.scopesAt(token.resource ?? grant.resource, token.scope ?? grant.scope, audience)
    if (scopes === null) return nobody
    return Effect.flatMapEager(hasParties(grant), (areThere): Effect.Effect<Principal | null, Failure> => {
      if (!areThere) return nobody
      const { client_id, id: grant_id, user_id } = grant
      const principal = { user_id, client_id, grant_id, scopes, expires_at: token.expires_at }
      return Effect.mapEager(retire(token), () => principal)
    })
  }

  /** Reads the client and the token of a revocation or introspection request. */
  const readRequest = Effect.fnUntraced(function* (request: ClientRequest) {
    const repeated = firstRepeated(request.parameters)
    if (repeated !== null) return yield* OAuthError.invalidRequest(cameTwice(repeated))
    const client = yield* clients.authenticateClient(request, "secret")
    const token = get(request.parameters, "token")
    if (token === null) return yield* OAuthError.invalidRequest("The parameter token is missing. Send it in the body.")
    return { client, token }
  })

  /**
   * Finds a refresh token by its text. The `token_type_hint` of RFC 7009 is not needed, because a token's prefix shows
   * its kind.
   */
  const findRefresh = Effect.fnUntraced(function* (text: string) {
    const found = yield* store.findRefreshToken(yield* secrets.hashOf(text))
    return found === null ? null : ({ kind: "refresh", ...found } as const)
  })

  const find = Effect.fnUntraced(function* (text: string): Effect.fn.Return<StoredToken | null, StoreError> {
    if (text.startsWith(prefixes.refresh)) return yield* findRefresh(text)
    const presented = yield* secrets.readAccessToken(text)
    return presented === null ? null : yield* findAccess(presented)
  })

  /** Revokes a token. For a refresh token, revokes the whole grant (RFC 7009 section 2.1). */
  const revoke = Effect.fnUntraced(function* (
    request: ClientRequest
  ): Effect.fn.Return<void, OAuthError | TooManyAttempts | Failure> {
    const { client, token } = yield* readRequest(request)
    if (token.startsWith(prefixes.refresh)) {
      const found = yield* findRefresh(token)
      if (found !== null && !belongsTo(found, client)) return yield* otherClients()
      if (found !== null) return yield* store.revokeGrant(found.grant.id, now())
    }
    const presented = yield* secrets.readAccessToken(token)
    if (presented === null) return
    const found = yield* findAccess(presented)
    if (found !== null && !belongsTo(found, client)) return yield* otherClients()
    // A missing token may have been deleted by a commit that is not yet on disk. Deleting it again waits for that
    // commit.
    yield* store.revokeAccessToken(presented)
  })

  /**
   * Introspects a token. Only clients with a secret may introspect tokens, and only their own. Otherwise anyone could
   * guess tokens here (RFC 7662 section 4).
   */
  const introspect = Effect.fnUntraced(function* (
    request: ClientRequest
  ): Effect.fn.Return<Introspection, OAuthError | TooManyAttempts | Failure> {
    const { client, token } = yield* readRequest(request)
    if (!isConfidential(client))
      return yield* OAuthError.invalidClient("Only clients with a secret may introspect tokens.")
    const found = yield* find(token)
    if (found === null || !belongsTo(found, client) || !isActive(found, now())) return inactive
    if (!(yield* hasParties(found.grant))) return inactive
    const { client_id, resource, scope, user_id: sub } = found.grant
    const iat = Math.floor(found.token.created_at / 1_000)
    if (found.kind === "refresh") return { active: true, scope, client_id, sub, ...audienceOf(resource), iat }
    const { expires_at, resource: bound, scope: narrowed } = found.token
    const known = { scope: narrowed ?? scope, client_id, sub, ...audienceOf(bound ?? resource) }
    return { active: true, ...known, token_type: "Bearer", iat, exp: expires_at / 1_000 }
  })

  return { authenticate, introspect, revoke }
}

const otherClients = () => Effect.fail(OAuthError.invalidGrant("The token was issued to another client."))

const audienceOf = (resource: string): { readonly aud?: string | ReadonlyArray<string> } => {
  const uris = resourcesIn(resource)
  const [first] = uris
  return first === undefined ? {} : { aud: uris.length === 1 ? first : uris }
}

const belongsTo = (found: StoredToken, client: KnownClient): boolean => found.grant.client_id === client.id
