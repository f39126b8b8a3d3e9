/**
 * The token endpoint (interface document, section 4.1): issues an access token for a code (RFC 6749 section 4.1.3), a
 * refresh token (RFC 6749 section 6), or the credentials of a client that acts as one of the host's users (RFC 6749
 * section 4.4).
 *
 * The store resolves races (`redeemCode`, `refresh`). The second use of a code is a replay, and so is the use of a
 * rotated refresh token after its grace period (`model/TokenValidity`). A replay revokes the grant, because one of the
 * two holders is illegitimate (RFC 6749 section 10.5, RFC 9700 section 4.14.2).
 */
import { Effect, Result } from "effect"
import type { KnownClient } from "../model/Client.ts"
import { isConfidential } from "../model/Client.ts"
import type { UserId } from "../model/Ids.ts"
import { GrantId } from "../model/Ids.ts"
import { RecentMap } from "../model/RecentMap.ts"
import type { AuthorizationCode, Grant, NewAccessToken, RefreshToken, TokenHash } from "../model/Token.ts"
import { scopeNames } from "../model/Token.ts"
import type { TokenResponse } from "../model/Token.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import * as RedirectUri from "../model/RedirectUri.ts"
import { isExpired, isReplay } from "../model/TokenValidity.ts"
import { makeMinuteCounter } from "../model/MinuteCounter.ts"
import { grantedScope, narrowedScope, narrowingRefusal, scopeRefusal, verifies } from "./AuthorizationRequest.ts"
import type { AuthorizationSettingsShape } from "./AuthorizationSettings.ts"
import type { ClientAuthentication, ClientRequest } from "./ClientAuthentication.ts"
import type { TooManyDocuments } from "./ClientDocuments.ts"
import { OAuthError, TooManyTokens } from "./OAuthError.ts"
import type { TooManyAttempts } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import type { Resources } from "./Resources.ts"
import type { Secrets } from "./Secrets.ts"
import { accessTokenText } from "./Secrets.ts"

/** Dependencies of the token endpoint. */
interface TokenEndpointNeeds {
  readonly bursts: RefreshReuse
  readonly clients: ClientAuthentication
  readonly directory: Directory["Service"]
  readonly now: () => number
  readonly resources: Resources
  readonly secrets: Secrets
  readonly settings: AuthorizationSettingsShape
  readonly store: TokenStore["Service"]
}

type Answer = Effect.Effect<
  TokenResponse,
  OAuthError | TooManyAttempts | TooManyTokens | TooManyDocuments | StoreError | DirectoryError
>

/** What an access token is for. */
interface Extent {
  readonly scope: string
  /** See `Grant.resource`. */
  readonly resource: string
}

/** A usable refresh token, with what the new access token is for. */
interface Refresh extends Extent {
  readonly at: number
  readonly hash: TokenHash
  readonly presented: string
}

/** Handles requests to the token endpoint. */
export const makeTokenEndpoint = (needs: TokenEndpointNeeds): ((request: ClientRequest) => Answer) => {
  const { bursts, clients, directory, now, resources, secrets, settings, store } = needs
  const { accessTokensPerGrant: maxAccessTokens, refreshRequiresSecret, refreshRotation } = settings
  const countToken = makeTokenLimit(settings.tokenRequestsPerMinute)

  /** Generates the random part of an access token, and its record. */
  const newAccessToken = (grant: Grant, created_at: number, { resource, scope }: Extent, retires: TokenHash | null) =>
    Effect.mapEager(secrets.generateAccess(), ({ hash, value }) => {
      // Based on whole seconds, like `created_at` in the answer, so that a token expires exactly `expires_in` later.
      const expires_at = (Math.floor(created_at / 1_000) + resources.lifetimeOf(resource)) * 1_000
      const record: NewAccessToken = {
        hash,
        grant_id: grant.id,
        created_at,
        expires_at,
        scope: scope === grant.scope ? null : scope,
        resource: resource === grant.resource ? null : resource,
        retires
      }
      return { value, record }
    })

  /**
   * Returns what a token for a grant is for: everything granted, or the requested part of it. A token for some of the
   * granted resources has only the scopes that these allow.
   */
  const extentOf = (grant: Grant, { issuer, parameters }: ClientRequest): Effect.Effect<Extent, OAuthError> => {
    const narrowed = resources.narrowed(grant.resource, parameters.resources, issuer)
    if (Result.isFailure(narrowed)) return Effect.fail(new OAuthError(narrowed.failure))
    const resource = narrowed.success
    const allowed = resources.scopesOf(resource, issuer)
    const granted =
      resource === grant.resource
        ? grant.scope
        : scopeNames(grant.scope)
            .filter((name) => allowed.includes(name))
            .join(" ")
    // Only a refresh may ask for a part of the scope (RFC 6749 section 6).
    const asked = get(parameters, "grant_type") === "refresh_token" ? get(parameters, "scope") : null
    if (granted === "") {
      return Effect.fail(OAuthError.invalidScope("None of the granted scopes can be used at the requested resource."))
    }
    const scope = narrowedScope(settings, resources.scopesOf("", issuer), granted, asked)
    return scope === null
      ? Effect.fail(OAuthError.invalidScope(narrowingRefusal(granted)))
      : Effect.succeed({ resource, scope })
  }

  const response = (
    access_token: string,
    refresh_token: string | null,
    { resource, scope }: Extent,
    at: number
  ): TokenResponse => ({
    access_token,
    token_type: "Bearer",
    expires_in: resources.lifetimeOf(resource),
    ...(refresh_token !== null && { refresh_token }),
    scope,
    created_at: Math.floor(at / 1_000)
  })

  const newRefreshToken = (grant_id: GrantId, created_at: number) =>
    Effect.mapEager(secrets.generate("refresh"), ({ hash, value }) => {
      const record: RefreshToken = { hash, grant_id, created_at, used_at: null, rotated_at: null, retired_at: null }
      return { value, record }
    })

  /** Refuses a replay and revokes its grant. */
  const refuseReplay = (grant: Grant, what: string): Answer =>
    Effect.andThen(
      store.revokeGrant(grant.id, now()),
      Effect.fail(
        OAuthError.invalidGrant(`${what}, so everything issued for it has been revoked. Log the user in again.`)
      )
    )

  /** Checks that a grant may still be used: it belongs to the client, is not revoked, and its user exists. */
  const checkGrant = (
    grant: Grant,
    client: KnownClient,
    what: string
  ): Effect.Effect<void, OAuthError | DirectoryError> => {
    if (grant.client_id !== client.id) return refuse(`${what} was issued to another client.`)
    if (grant.revoked_at !== null) return refuse(`${what} has been revoked. Log the user in again.`)
    return Effect.flatMapEager(directory.isActive(grant.user_id), (isActive) =>
      isActive ? Effect.void : refuse("The user who granted access no longer exists.")
    )
  }

  /** Checks that a code's redirect URI and PKCE challenge match the request. */
  const checkBinding = (code: AuthorizationCode, parameters: Parameters): Effect.Effect<void, OAuthError> => {
    const redirectUri = get(parameters, "redirect_uri")
    if (redirectUri === null && code.redirect_uri_given) {
      const description = "The parameter redirect_uri is missing. Repeat the redirect_uri of the authorize step."
      return Effect.fail(OAuthError.invalidRequest(description))
    }
    if (redirectUri !== null && redirectUri !== code.redirect_uri)
      return refuse("The redirect_uri differs from that of the authorize step.")
    const verifier = get(parameters, "code_verifier")
    if (code.code_challenge === null) {
      return verifier === null
        ? Effect.void
        : refuse("The request has a code_verifier, but the authorize step had no code_challenge.")
    }
    if (verifier === null)
      return refuse("The code_verifier is missing. Send the code_verifier that the code_challenge was made from.")
    return Effect.flatMapEager(verifies(secrets, verifier, code.code_challenge), (isRight) =>
      isRight ? Effect.void : refuse("The code_verifier does not match the code_challenge.")
    )
  }

  /** Checks that the document of a client that is not registered still has the redirect URI of the code. */
  const checkDocument = Effect.fnUntraced(function* (
    { id }: KnownClient,
    { redirect_uri }: AuthorizationCode,
    { address }: ClientRequest
  ) {
    const current = yield* Effect.catchTag(clients.readClient(id, address), "DocumentRefused", ({ why }) =>
      refuse(`The document at the client_id can't be used: ${why}.`)
    )
    if (current === null || !RedirectUri.isRegistered(current.redirect_uris, redirect_uri))
      return yield* refuse("The document at the client_id no longer has the redirect_uri of the authorize step.")
  })

  const exchangeCode = Effect.fnUntraced(function* (
    client: KnownClient,
    request: ClientRequest
  ): Effect.fn.Return<TokenResponse, Effect.Error<Answer>> {
    const { parameters } = request
    const at = now()
    const presented = get(parameters, "code")
    if (presented === null) return yield* missing("code")
    const hash = yield* secrets.hashOf(presented)
    const found = yield* store.findCode(hash)
    // A used code is a replay, even after its expiry.
    if (found === null || (!found.isUsed && isExpired(found.code, at)))
      return yield* refuse("The code is unknown or has expired. Log the user in again.")
    const { code, grant } = found
    yield* checkGrant(grant, client, "The code")
    yield* checkBinding(code, parameters)
    if ("host" in client) yield* checkDocument(client, code, request)
    const extent = yield* extentOf(grant, request)
    // A replay must revoke the grant even if the client has reached its limit.
    if (!found.isUsed) yield* countToken(client, grant.user_id, at)

    const access = yield* newAccessToken(grant, at, extent, null)
    const refresh = yield* newRefreshToken(grant.id, at)
    const issued = { access: access.record, refresh: refresh.record, maxAccessTokens }
    const seq = yield* store.redeemCode(hash, issued, at)
    // The code may have been used or revoked since it was read, which only the store detects.
    if (seq === null)
      return yield* refuseReplay(grant, "The code was used before, or access was revoked in the meantime")
    return response(accessTokenText(seq, access.value), refresh.value, extent, at)
  })

  const refreshTokens = (client: KnownClient, request: ClientRequest): Answer => {
    const at = now()
    const presented = get(request.parameters, "refresh_token")
    if (presented === null) return missing("refresh_token")
    return Effect.flatMapEager(secrets.hashOf(presented), (hash) =>
      Effect.flatMapEager(store.findRefreshToken(hash), (found): Answer => {
        if (found === null) return refuse("The refresh token is unknown. Log the user in again.")
        const { grant, token } = found
        return Effect.flatMapEager(checkGrant(grant, client, "The refresh token"), (): Answer => {
          if (isReplay(token, at) || bursts.isOver(hash, at))
            return refuseReplay(grant, "The refresh token was used before")
          return Effect.flatMapEager(extentOf(grant, request), (extent) =>
            Effect.flatMapEager(countToken(client, grant.user_id, at), () =>
              issueFor(client, grant, { ...extent, at, hash, presented })
            )
          )
        })
      })
    )
  }

  /** Issues an access token for a refresh token, and a new refresh token if the settings rotate them. */
  const issueFor = (client: KnownClient, grant: Grant, wanted: Refresh): Answer => {
    const { at, hash, presented } = wanted
    const rotates = refreshRotation === "always" || (refreshRotation === "public" && !isConfidential(client))
    const successorOf = rotates ? newRefreshToken(grant.id, at) : Effect.succeed(null)
    return Effect.flatMapEager(successorOf, (successor) =>
      Effect.flatMapEager(newAccessToken(grant, at, wanted, successor === null ? null : hash), (access) => {
        const issued = { access: access.record, refresh: successor?.record ?? null, maxAccessTokens }
        return Effect.flatMapEager(store.refresh(hash, issued, at), (seq): Answer => {
          // The token was retired or revoked after it was read. The request is late, but not a replay.
          if (seq === null) return refuse("The refresh token was replaced while this request used it. Use the new one.")
          if (successor !== null) bursts.note(hash, at)
          const text = accessTokenText(seq, access.value)
          return Effect.succeed(response(text, successor?.value ?? presented, wanted, at))
        })
      })
    )
  }

  /**
   * Issues a token to a client that acts as a user of the host. All tokens of such a pair share a grant, so that the
   * limits per grant hold for them.
   */
  const issueToService = Effect.fnUntraced(function* (
    client: KnownClient,
    { issuer, parameters }: ClientRequest
  ): Effect.fn.Return<TokenResponse, Effect.Error<Answer>> {
    const at = now()
    const { id: client_id, name } = client
    const user_id = isConfidential(client) ? yield* directory.serviceUser?.({ id: client_id, name }) ?? none : null
    if (user_id === null) {
      return yield* OAuthError.unauthorizedClient(
        "This client may not get tokens without a user. The host must name a service user for it."
      )
    }
    if (!(yield* directory.isActive(user_id))) return yield* refuse("The service user of this client no longer exists.")
    const asked = resources.requested(parameters.resources, issuer)
    if (Result.isFailure(asked)) return yield* new OAuthError(asked.failure)
    const resource = asked.success
    const allowed = resources.scopesOf(resource, issuer)
    const scope = grantedScope(settings, allowed, get(parameters, "scope"))
    if (scope === null) return yield* OAuthError.invalidScope(scopeRefusal(allowed))
    yield* countToken(client, user_id, at)
    const id = GrantId.make(`grt_${yield* secrets.hashOf(JSON.stringify(["service", client_id, user_id]))}`)
    const grant: Grant = { id, user_id, client_id, scope: "", resource: "", created_at: at, revoked_at: null }
    const access = yield* newAccessToken(grant, at, { resource, scope }, null)
    const seq = yield* store.issue(grant, { access: access.record, maxAccessTokens })
    return response(accessTokenText(seq, access.value), null, { resource, scope }, at)
  })

  return (request) => {
    const { parameters } = request
    const repeated = firstRepeated(parameters)
    if (repeated !== null) return Effect.fail(OAuthError.invalidRequest(cameTwice(repeated)))
    const grantType = get(parameters, "grant_type")
    if (grantType === null) return missing("grant_type")
    const secretless = grantType === "refresh_token" && !refreshRequiresSecret
    return Effect.flatMapEager(
      clients.authenticateClient(request, secretless ? "secret_if_sent" : "secret"),
      (client): Answer => {
        switch (grantType) {
          case "authorization_code":
            return exchangeCode(client, request)
          case "refresh_token":
            return refreshTokens(client, request)
          case "client_credentials":
            return issueToService(client, request)
          default:
            return Effect.fail(
              OAuthError.unsupportedGrantType(
                "The grant_type must be authorization_code, refresh_token or client_credentials."
              )
            )
        }
      }
    )
  }
}

const none = Effect.succeed(null)

const refuse = (description: string): Effect.Effect<never, OAuthError> =>
  Effect.fail(OAuthError.invalidGrant(description))

/** Fails because a required parameter is missing. */
const missing = (name: string): Effect.Effect<never, OAuthError> =>
  Effect.fail(OAuthError.invalidRequest(`The parameter ${name} is missing. Send it in the body.`))

// The token limit.

/**
 * Limits the tokens issued to a client per minute.
 *
 * Only requests that are otherwise granted are counted, because client ids are not secret: knowing an id must not be
 * enough to block the client. Refused requests write nothing, and wrong secrets have their own throttle
 * (`LoginThrottle`).
 */
const makeTokenLimit = (
  limit: number | null
): ((client: KnownClient, user: UserId, now: number) => Effect.Effect<void, TooManyTokens>) => {
  if (limit === null) return () => Effect.void
  const countOf = makeMinuteCounter()
  return (client, user, now) => {
    const { count, seconds } = countOf(
      isConfidential(client) ? JSON.stringify([client.id]) : JSON.stringify([client.id, user]),
      now
    )
    return count > limit ? Effect.fail(new TooManyTokens({ limit, retry_after: seconds })) : Effect.void
  }
}

// Bursts of refreshes.

/**
 * Number of refreshes with one token within `burstWindow` milliseconds that counts as a burst by parallel workers, not
 * as retries.
 */
const burstSize = 3
const burstWindow = 1_000

/** How long the last refresh of a burst postpones the token's retirement, in milliseconds. */
const burstGrace = 10_000

/** Maximum number of remembered tokens. The oldest tokens are forgotten first. */
const maxRemembered = 10_000

interface Refreshes {
  /** Times of the last refreshes, oldest first. */
  readonly times: ReadonlyArray<number>
  /** Time until which the token is not retired. */
  readonly keptUntil: number
  /** Whether an access token from one of the refreshes was used. */
  readonly isUsed: boolean
}

/**
 * Detects refresh tokens that several workers of one client use at the same time.
 *
 * A rotated token is retired at the first use of an access token that was issued for it. Workers that share a token and
 * refresh together would then revoke their own grant: the first one uses its access token while the others are still
 * refreshing, and their requests look like a replay. A token with several refreshes in a short time is therefore
 * retired some seconds later. A thief can use the token only for these seconds longer. Only refreshes in this process
 * are counted.
 *
 * Retired tokens are remembered, so that repeated uses of an access token cause only one write.
 */
export interface RefreshReuse {
  /** Notes a granted refresh. */
  readonly note: (token: string, now: number) => void
  /**
   * Notes the use of an access token issued for `token`. Returns whether a burst is in progress, during which `token`
   * must not be retired.
   */
  readonly use: (token: string, now: number) => boolean
  /** Notes that the token is retired. Returns false if it already was. */
  readonly retire: (token: string) => boolean
  /** Reverts `retire` if the store fails. */
  readonly forgetRetired: (token: string) => void
  /** Whether the token must be treated as retired, because its access token was used during a burst that has ended. */
  readonly isOver: (token: string, now: number) => boolean
}

export const makeRefreshReuse = (): RefreshReuse => {
  const refreshes = new RecentMap<string, Refreshes>(maxRemembered)
  const retired = new RecentMap<string, true>(maxRemembered)
  return {
    note: (token, now) => {
      const before = refreshes.get(token)
      const times = [...(before?.times ?? []).filter((time) => time > now - burstWindow), now].slice(-burstSize)
      const keptUntil = times.length === burstSize ? now + burstGrace : (before?.keptUntil ?? 0)
      refreshes.set(token, { times, keptUntil, isUsed: before?.isUsed === true })
    },
    use: (token, now) => {
      const known = refreshes.get(token)
      if (known === undefined || now >= known.keptUntil) return false
      if (!known.isUsed) refreshes.set(token, { ...known, isUsed: true })
      return true
    },
    retire: (token) => {
      if (retired.get(token) !== undefined) return false
      retired.set(token, true)
      return true
    },
    forgetRetired: (token) => retired.delete(token),
    isOver: (token, now) => {
      const known = refreshes.get(token)
      return known !== undefined && known.isUsed && now >= known.keptUntil
    }
  }
}
