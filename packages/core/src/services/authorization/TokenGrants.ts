/**
 * The token endpoint (document section 4.1): a code, or a refresh token, for an access token.
 *
 * Who wins a race is decided by the store (`redeemCode`, `refresh`). A code that comes a second time, or a rotated refresh
 * token that comes when its grace is over (`rules/TokenLife`), is a replay, and ends the grant, because one of the two who
 * held it was not meant to (RFC 6749 section 10.5, RFC 9700 section 4.14.2).
 */
import { Clock, Effect } from "effect"
import type { Client } from "../../domain/Client.ts"
import { isConfidential } from "../../domain/Client.ts"
import type { GrantId } from "../../domain/Ids.ts"
import type { AccessToken, AuthorizationCode, Grant, RefreshToken, TokenHash } from "../../domain/Token.ts"
import { accessTokenLifetimeSeconds } from "../../domain/Token.ts"
import type { TokenResponse } from "../../domain/Token.ts"
import { Directory } from "../../ports/Directory.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import { isExpired, isReplay } from "../../rules/TokenLife.ts"
import { AuthorizationSettings } from "./AuthorizationSettings.ts"
import type { ClientRequest } from "./ClientAuthentication.ts"
import { authenticateClient } from "./ClientAuthentication.ts"
import { OAuthError } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import * as Pkce from "./Pkce.ts"
import { RefreshBursts } from "./RefreshBursts.ts"
import * as ScopeParameter from "./ScopeParameter.ts"
import { generate, hashOf } from "./Secrets.ts"
import { TokenLimit } from "./TokenLimit.ts"

/** A parameter that the grant can't do without. */
const required = (parameters: Parameters, name: string) =>
  Effect.suspend(() => {
    const value = get(parameters, name)
    return value === null
      ? OAuthError.invalidRequest(`The parameter ${name} is missing. Send it in the body.`)
      : Effect.succeed(value)
  })

/** A new access token, and how it is kept. */
const newAccessToken = Effect.fnUntraced(function* (grant_id: GrantId, now: number, retires: TokenHash | null) {
  const { value, hash } = yield* generate("access")
  // Whole seconds, as `created_at` is on the wire: a token ends exactly `expires_in` after it.
  const expires_at = (Math.floor(now / 1_000) + accessTokenLifetimeSeconds) * 1_000
  const record: AccessToken = { hash, grant_id, created_at: now, expires_at, retires }
  return { value, record }
})

const newRefreshToken = Effect.fnUntraced(function* (grant_id: GrantId, now: number) {
  const { value, hash } = yield* generate("refresh")
  const record: RefreshToken = { hash, grant_id, created_at: now, rotated_at: null, retired_at: null }
  return { value, record }
})

const response = (access_token: string, refresh_token: string, scope: string, now: number): TokenResponse => ({
  access_token,
  token_type: "Bearer",
  expires_in: accessTokenLifetimeSeconds,
  refresh_token,
  scope,
  created_at: Math.floor(now / 1_000)
})

/** Ends a grant whose code or token came twice. */
const refuseReplay = Effect.fnUntraced(function* (grant: Grant, now: number, what: string) {
  yield* (yield* TokenStore).revokeGrant(grant.id, now)
  return yield* OAuthError.invalidGrant(
    `${what}, so that everything issued for it has been revoked. Log the user in again.`
  )
})

/** A grant that may still be used: it was given to this client, is not revoked, and its user exists. */
const checkGrant = Effect.fnUntraced(function* (grant: Grant, client: Client, what: string) {
  if (grant.client_id !== client.id) return yield* OAuthError.invalidGrant(`${what} was issued to another client.`)
  if (grant.revoked_at !== null)
    return yield* OAuthError.invalidGrant(`${what} has been revoked. Log the user in again.`)
  if (!(yield* (yield* Directory).isActive(grant.user_id))) {
    return yield* OAuthError.invalidGrant("The user who granted access is gone.")
  }
})

/** What binds a code to the request that it was issued for: its redirect URI and its PKCE challenge. */
const checkBinding = Effect.fnUntraced(function* (code: AuthorizationCode, parameters: Parameters) {
  const redirectUri = get(parameters, "redirect_uri")
  if (redirectUri === null && code.redirect_uri_given) {
    return yield* OAuthError.invalidRequest(
      "The parameter redirect_uri is missing. Repeat the one of the authorize step."
    )
  }
  if (redirectUri !== null && redirectUri !== code.redirect_uri) {
    return yield* OAuthError.invalidGrant("The redirect_uri is not the one of the authorize step.")
  }
  const verifier = get(parameters, "code_verifier")
  if (code.code_challenge === null) {
    if (verifier === null) return
    return yield* OAuthError.invalidGrant("A code_verifier came, but the authorize step had no code_challenge.")
  }
  if (verifier === null) {
    return yield* OAuthError.invalidGrant("The code_verifier is missing. Send the one behind the code_challenge.")
  }
  if (!(yield* Pkce.verifies(verifier, code.code_challenge))) {
    return yield* OAuthError.invalidGrant("The code_verifier does not fit the code_challenge.")
  }
})

const unknownCode = "The code is unknown or has expired. Log the user in again."

const exchangeCode = Effect.fnUntraced(function* (client: Client, parameters: Parameters) {
  const store = yield* TokenStore
  const now = yield* Clock.currentTimeMillis
  const hash = yield* hashOf(yield* required(parameters, "code"))
  const found = yield* store.findCode(hash)
  // One that was used is a replay, however late it comes.
  if (found === null || (!found.isUsed && isExpired(found.code, now)))
    return yield* OAuthError.invalidGrant(unknownCode)
  const { code, grant } = found
  yield* checkGrant(grant, client, "The code")
  yield* checkBinding(code, parameters)
  // One that was used is a replay whatever the limit: it must end the grant.
  if (!found.isUsed) yield* (yield* TokenLimit).count(client, grant.user_id)

  const { accessTokensPerGrant: maxAccessTokens } = yield* AuthorizationSettings
  const access = yield* newAccessToken(grant.id, now, null)
  const refresh = yield* newRefreshToken(grant.id, now)
  const issued = yield* store.redeemCode(hash, { access: access.record, refresh: refresh.record, maxAccessTokens }, now)
  // Nobody but the store can tell, when it was found unused and its grant whole a moment ago.
  if (!issued) return yield* refuseReplay(grant, now, "The code was used before, or access was taken back meanwhile")
  return response(access.value, refresh.value, grant.scope, now)
})

const refreshTokens = Effect.fnUntraced(function* (client: Client, parameters: Parameters) {
  const store = yield* TokenStore
  const { accessTokensPerGrant: maxAccessTokens, refreshRotation, unknownScope } = yield* AuthorizationSettings
  const now = yield* Clock.currentTimeMillis
  const presented = yield* required(parameters, "refresh_token")
  const hash = yield* hashOf(presented)
  const found = yield* store.findRefreshToken(hash)
  if (found === null) return yield* OAuthError.invalidGrant("The refresh token is unknown. Log the user in again.")
  const { token, grant } = found
  yield* checkGrant(grant, client, "The refresh token")
  const bursts = yield* RefreshBursts
  if (isReplay(token, now) || bursts.isOver(hash, now))
    return yield* refuseReplay(grant, now, "The refresh token was used before")
  if (!ScopeParameter.isGrantable(get(parameters, "scope"), unknownScope)) {
    return yield* OAuthError.invalidScope(ScopeParameter.refusal)
  }
  yield* (yield* TokenLimit).count(client, grant.user_id)

  const rotates = refreshRotation === "always" || (refreshRotation === "public" && !isConfidential(client))
  const successor = rotates ? yield* newRefreshToken(grant.id, now) : null
  const access = yield* newAccessToken(grant.id, now, successor === null ? null : hash)
  const tokens = { access: access.record, refresh: successor?.record ?? null, maxAccessTokens }
  const issued = yield* store.refresh(hash, tokens, now)
  // Retired or revoked since it was found living a moment ago: whoever sent it is late, and no thief.
  if (!issued) {
    return yield* OAuthError.invalidGrant(
      "The refresh token was replaced while it was used. Use the one that replaced it."
    )
  }
  if (successor !== null) bursts.note(hash, now)
  return response(access.value, successor?.value ?? presented, grant.scope, now)
})

/** Answers a request to the token endpoint. */
export const token = Effect.fnUntraced(function* (request: ClientRequest) {
  const { parameters } = request
  const repeated = firstRepeated(parameters)
  if (repeated !== null) return yield* OAuthError.invalidRequest(cameTwice(repeated))
  const grantType = yield* required(parameters, "grant_type")
  const { refreshRequiresSecret } = yield* AuthorizationSettings
  const secretless = grantType === "refresh_token" && !refreshRequiresSecret
  const client = yield* authenticateClient(request, secretless ? "secret_if_sent" : "secret")
  switch (grantType) {
    case "authorization_code":
      return yield* exchangeCode(client, parameters)
    case "refresh_token":
      return yield* refreshTokens(client, parameters)
    default:
      return yield* OAuthError.unsupportedGrantType("The grant_type must be authorization_code or refresh_token.")
  }
})
