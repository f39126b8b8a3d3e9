/**
 * The token endpoint (document section 4.1): issues an access token for a code (RFC 6749 section 4.1.3) or a refresh token
 * (section 6).
 *
 * The store decides races (`redeemCode`, `refresh`). A code that comes a second time, or a rotated refresh token that comes
 * when its grace is over (`model/TokenValidity`), is a replay, and ends the grant, because one of its two holders was not
 * meant to have it (RFC 6749 section 10.5, RFC 9700 section 4.14.2).
 */
import { Effect } from "effect"
import type { Client } from "../model/Client.ts"
import { isConfidential } from "../model/Client.ts"
import type { GrantId, UserId } from "../model/Ids.ts"
import { RecentMap } from "../model/RecentMap.ts"
import type { AuthorizationCode, Grant, NewAccessToken, RefreshToken, TokenHash } from "../model/Token.ts"
import { accessTokenLifetimeSeconds } from "../model/Token.ts"
import type { TokenResponse } from "../model/Token.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import { isExpired, isReplay } from "../model/TokenValidity.ts"
import { makeMinuteCounter } from "./MinuteCounter.ts"
import { narrowedScope, narrowingRefusal, verifies } from "./AuthorizationRequest.ts"
import type { AuthorizationSettingsShape } from "./AuthorizationSettings.ts"
import type { ClientAuthentication, ClientRequest } from "./ClientAuthentication.ts"
import { OAuthError, TooManyTokens } from "./OAuthError.ts"
import type { TooManyAttempts } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import type { Secrets } from "./Secrets.ts"
import { accessTokenText } from "./Secrets.ts"

/** What the token endpoint needs. */
interface TokenEndpointNeeds {
  readonly bursts: RefreshReuse
  readonly clients: ClientAuthentication
  readonly directory: Directory["Service"]
  readonly now: () => number
  readonly secrets: Secrets
  readonly settings: AuthorizationSettingsShape
  readonly store: TokenStore["Service"]
}

type Answer = Effect.Effect<TokenResponse, OAuthError | TooManyAttempts | TooManyTokens | StoreError | DirectoryError>

/** A refresh token that may be used, and the scope that is asked for with it. */
interface Refresh {
  readonly at: number
  readonly hash: TokenHash
  readonly presented: string
  readonly scope: string
}

/** Answers requests to the token endpoint. */
export const makeTokenEndpoint = (needs: TokenEndpointNeeds): ((request: ClientRequest) => Answer) => {
  const { bursts, clients, directory, now, secrets, settings, store } = needs
  const { accessTokensPerGrant: maxAccessTokens, refreshRequiresSecret, refreshRotation } = settings
  const countToken = makeTokenLimit(settings.tokenRequestsPerMinute)

  /** The random part of a new access token, and how it is kept. */
  const newAccessToken = (grant: Grant, created_at: number, scope: string, retires: TokenHash | null) =>
    Effect.mapEager(secrets.generateAccess(), ({ hash, value }) => {
      // Whole seconds, as `created_at` is on the wire: a token ends exactly `expires_in` after it.
      const expires_at = (Math.floor(created_at / 1_000) + accessTokenLifetimeSeconds) * 1_000
      const narrowed = scope === grant.scope ? null : scope
      const record: NewAccessToken = { hash, grant_id: grant.id, created_at, expires_at, scope: narrowed, retires }
      return { value, record }
    })

  const newRefreshToken = (grant_id: GrantId, created_at: number) =>
    Effect.mapEager(secrets.generate("refresh"), ({ hash, value }) => {
      const record: RefreshToken = { hash, grant_id, created_at, rotated_at: null, retired_at: null }
      return { value, record }
    })

  /** Ends a grant whose code or token came twice. */
  const refuseReplay = (grant: Grant, what: string): Answer =>
    Effect.andThen(
      store.revokeGrant(grant.id, now()),
      Effect.fail(
        OAuthError.invalidGrant(`${what}, so that everything issued for it has been revoked. Log the user in again.`)
      )
    )

  /** A grant that may still be used: it was given to this client, is not revoked, and its user exists. */
  const checkGrant = (grant: Grant, client: Client, what: string): Effect.Effect<void, OAuthError | DirectoryError> => {
    if (grant.client_id !== client.id) return refuse(`${what} was issued to another client.`)
    if (grant.revoked_at !== null) return refuse(`${what} has been revoked. Log the user in again.`)
    return Effect.flatMapEager(directory.isActive(grant.user_id), (isActive) =>
      isActive ? Effect.void : refuse("The user who granted access is gone.")
    )
  }

  /** What binds a code to the request that it was issued for: its redirect URI and its PKCE challenge. */
  const checkBinding = (code: AuthorizationCode, parameters: Parameters): Effect.Effect<void, OAuthError> => {
    const redirectUri = get(parameters, "redirect_uri")
    if (redirectUri === null && code.redirect_uri_given) {
      const description = "The parameter redirect_uri is missing. Repeat the one of the authorize step."
      return Effect.fail(OAuthError.invalidRequest(description))
    }
    if (redirectUri !== null && redirectUri !== code.redirect_uri)
      return refuse("The redirect_uri is not the one of the authorize step.")
    const verifier = get(parameters, "code_verifier")
    if (code.code_challenge === null) {
      return verifier === null
        ? Effect.void
        : refuse("A code_verifier came, but the authorize step had no code_challenge.")
    }
    if (verifier === null) return refuse("The code_verifier is missing. Send the one behind the code_challenge.")
    return Effect.flatMapEager(verifies(secrets, verifier, code.code_challenge), (isRight) =>
      isRight ? Effect.void : refuse("The code_verifier does not fit the code_challenge.")
    )
  }

  const exchangeCode = Effect.fnUntraced(function* (
    client: Client,
    parameters: Parameters
  ): Effect.fn.Return<TokenResponse, Effect.Error<Answer>> {
    const at = now()
    const presented = get(parameters, "code")
    if (presented === null) return yield* missing("code")
    const hash = yield* secrets.hashOf(presented)
    const found = yield* store.findCode(hash)
    // One that was used is a replay, however late it comes.
    if (found === null || (!found.isUsed && isExpired(found.code, at)))
      return yield* refuse("The code is unknown or has expired. Log the user in again.")
    const { code, grant } = found
    yield* checkGrant(grant, client, "The code")
    yield* checkBinding(code, parameters)
    // One that was used is a replay whatever the limit: it must end the grant.
    if (!found.isUsed) yield* countToken(client, grant.user_id, at)

    const access = yield* newAccessToken(grant, at, grant.scope, null)
    const refresh = yield* newRefreshToken(grant.id, at)
    const issued = { access: access.record, refresh: refresh.record, maxAccessTokens }
    const seq = yield* store.redeemCode(hash, issued, at)
    // Only the store can tell, when it was found unused and its grant whole a moment ago.
    if (seq === null)
      return yield* refuseReplay(grant, "The code was used before, or access was revoked in the meantime")
    return response(accessTokenText(seq, access.value), refresh.value, grant.scope, at)
  })

  const refreshTokens = (client: Client, parameters: Parameters): Answer => {
    const at = now()
    const presented = get(parameters, "refresh_token")
    if (presented === null) return missing("refresh_token")
    return Effect.flatMapEager(secrets.hashOf(presented), (hash) =>
      Effect.flatMapEager(store.findRefreshToken(hash), (found): Answer => {
        if (found === null) return refuse("The refresh token is unknown. Log the user in again.")
        const { grant, token } = found
        return Effect.flatMapEager(checkGrant(grant, client, "The refresh token"), (): Answer => {
          if (isReplay(token, at) || bursts.isOver(hash, at))
            return refuseReplay(grant, "The refresh token was used before")
          const scope = narrowedScope(settings, grant.scope, get(parameters, "scope"))
          if (scope === null) return Effect.fail(OAuthError.invalidScope(narrowingRefusal(grant.scope)))
          return Effect.flatMapEager(countToken(client, grant.user_id, at), () =>
            issueFor(client, grant, { at, hash, presented, scope })
          )
        })
      })
    )
  }

  /** Issues an access token for a refresh token, and another refresh token where these rotate. */
  const issueFor = (client: Client, grant: Grant, { at, hash, presented, scope }: Refresh): Answer => {
    const rotates = refreshRotation === "always" || (refreshRotation === "public" && !isConfidential(client))
    const successorOf = rotates ? newRefreshToken(grant.id, at) : Effect.succeed(null)
    return Effect.flatMapEager(successorOf, (successor) =>
      Effect.flatMapEager(newAccessToken(grant, at, scope, successor === null ? null : hash), (access) => {
        const issued = { access: access.record, refresh: successor?.record ?? null, maxAccessTokens }
        return Effect.flatMapEager(store.refresh(hash, issued, at), (seq): Answer => {
          // Retired or revoked since it was found living a moment ago: its sender is late, and no thief.
          if (seq === null)
            return refuse("The refresh token was replaced while it was used. Use the one that replaced it.")
          if (successor !== null) bursts.note(hash, at)
          const text = accessTokenText(seq, access.value)
          return Effect.succeed(response(text, successor?.value ?? presented, scope, at))
        })
      })
    )
  }

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
            return exchangeCode(client, parameters)
          case "refresh_token":
            return refreshTokens(client, parameters)
          default:
            return Effect.fail(
              OAuthError.unsupportedGrantType("The grant_type must be authorization_code or refresh_token.")
            )
        }
      }
    )
  }
}

const refuse = (description: string): Effect.Effect<never, OAuthError> =>
  Effect.fail(OAuthError.invalidGrant(description))

/** A parameter is absent that the grant can't do without. */
const missing = (name: string): Effect.Effect<never, OAuthError> =>
  Effect.fail(OAuthError.invalidRequest(`The parameter ${name} is missing. Send it in the body.`))

const response = (access_token: string, refresh_token: string, scope: string, now: number): TokenResponse => ({
  access_token,
  token_type: "Bearer",
  expires_in: accessTokenLifetimeSeconds,
  refresh_token,
  scope,
  created_at: Math.floor(now / 1_000)
})

// The limit of tokens.

/**
 * How many tokens a client may be issued in a minute.
 *
 * Only requests that are about to be granted are counted: client ids are no secret, and knowing one must
 * not be enough to stop its client. What is not granted writes nothing, and wrong secrets have a throttle of their own
 * (`LoginThrottle`).
 */
const makeTokenLimit = (
  limit: number | null
): ((client: Client, user: UserId, now: number) => Effect.Effect<void, TooManyTokens>) => {
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

/** This many refreshes of one token within `burstWindow` milliseconds are workers, and not a client that tries again. */
const burstSize = 3
const burstWindow = 1_000

/** How long after the last of them the token is kept, in milliseconds. */
const burstGrace = 10_000

/** The most tokens that are remembered; the oldest are forgotten first. */
const maxRemembered = 10_000

interface Refreshes {
  /** The last times, oldest first. */
  readonly times: ReadonlyArray<number>
  /** Until when the token is not retired. */
  readonly keptUntil: number
  /** Whether what came for it was used before. */
  readonly isUsed: boolean
}

/**
 * Which refresh tokens several workers of one client are refreshing at once.
 *
 * A rotated token is retired when what came for it is first used. Workers that share a token and refresh together would
 * then end their own grant: the first to be answered uses its access token while the others' requests are still under
 * way, and these look like a replay. So a token that came several times within a moment is retired some seconds later.
 * A thief of the token gains those seconds only, and would have had them before anyway. Kept in the memory of one
 * process: requests that other processes took do not count here.
 *
 * Remembers as well which tokens it has retired, so that a read writes no more than once for a token.
 */
export interface RefreshReuse {
  /** Counts a refresh that was granted. */
  readonly note: (token: string, now: number) => void
  /** Notes that what came for the token is used; says whether workers are refreshing it, so that it must not be retired yet. */
  readonly use: (token: string, now: number) => boolean
  /** Notes that the token is retired; false when it is known to be. */
  readonly retire: (token: string) => boolean
  /** Takes that back: it could not be stored. */
  readonly forgetRetired: (token: string) => void
  /** Whether the token should be retired by now, because what came for it was used while workers were refreshing it. */
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
