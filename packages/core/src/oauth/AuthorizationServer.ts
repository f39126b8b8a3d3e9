/**
 * The authorization server without its HTTP endpoints (interface document, section 5): checks authorization requests,
 * logs users in, issues tokens and authenticates access tokens.
 *
 * Its parts are plain functions over the ports. If the store, the directory and `Crypto` are synchronous, the methods
 * also return their results synchronously, as an `Exit`.
 */
import { Context, Effect, Layer } from "effect"
import type { UserId } from "../model/Ids.ts"
import type { TokenResponse } from "../model/Token.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { DirectoryError, SessionAnswer, SessionRequest } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import type { AuthorizeCheck, AuthorizeRequest, AuthorizeSource } from "./AuthorizationRequest.ts"
import { makeCheckAuthorize } from "./AuthorizationRequest.ts"
import { AuthorizationSettings } from "./AuthorizationSettings.ts"
import type { TooManyDocuments } from "./ClientDocuments.ts"
import { ClientDocuments } from "./ClientDocuments.ts"
import type { ClientRequest } from "./ClientAuthentication.ts"
import { makeClientAuthentication } from "./ClientAuthentication.ts"
import type { LoginAttempt, LoginResult, SignInResult } from "./Login.ts"
import { makeLogin } from "./Login.ts"
import * as LoginThrottle from "./LoginThrottle.ts"
import type { OAuthError, TooManyAttempts, TooManyTokens } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import type { Audience } from "./Resources.ts"
import { Resources } from "./Resources.ts"
import { makeSecrets } from "./Secrets.ts"
import { makeRefreshReuse, makeTokenEndpoint } from "./TokenEndpoint.ts"
import type { Introspection, Principal } from "./Tokens.ts"
import { makeTokens } from "./Tokens.ts"

/** Failures of the token, revocation and introspection endpoints. */
type Refusal = OAuthError | TooManyAttempts | StoreError | DirectoryError

export class AuthorizationServer extends Context.Service<
  AuthorizationServer,
  {
    /**
     * Returns the principal of an access token; null if the token is unknown, expired, revoked or for another audience,
     * or its user or client no longer exists.
     */
    readonly authenticate: (
      accessToken: string,
      audience: Audience
    ) => Effect.Effect<Principal | null, StoreError | DirectoryError>

    /** Checks whether a client may send a user to the login page with these parameters (RFC 6749 section 4.1.1). */
    readonly checkAuthorize: (
      parameters: Parameters,
      source: AuthorizeSource
    ) => Effect.Effect<AuthorizeCheck, StoreError | DirectoryError>

    /** Returns the user logged in at the host, or where to log in; null if doorhook's own login page is needed. */
    readonly session: (request: SessionRequest) => Effect.Effect<SessionAnswer, DirectoryError>

    /** Issues an authorization code for a checked request after consent by a user who is logged in at the host. */
    readonly approve: (request: AuthorizeRequest, user: UserId) => Effect.Effect<string, StoreError>

    /** Logs a user in for a checked request and issues an authorization code. */
    readonly login: (
      request: AuthorizeRequest,
      attempt: LoginAttempt
    ) => Effect.Effect<LoginResult, StoreError | DirectoryError>

    /** Logs a user in to doorhook's own pages. Failures of `signIn` and `login` are counted together. */
    readonly signIn: (attempt: LoginAttempt) => Effect.Effect<SignInResult, DirectoryError>

    /** Whether a signed-in user still exists. */
    readonly isActive: (user: UserId) => Effect.Effect<boolean, DirectoryError>

    /** Issues tokens for all grant types (RFC 6749 sections 4.1.3, 4.4.2 and 6). */
    readonly token: (request: ClientRequest) => Effect.Effect<TokenResponse, Refusal | TooManyTokens | TooManyDocuments>

    /** Revokes an access token, or the whole grant of a refresh token (RFC 7009). Unknown tokens are not an error. */
    readonly revoke: (request: ClientRequest) => Effect.Effect<void, Refusal>

    /** Introspects a token of the calling client (RFC 7662). */
    readonly introspect: (request: ClientRequest) => Effect.Effect<Introspection, Refusal>
  }
>()("@doorhook/core/oauth/AuthorizationServer") {
  static readonly layer: Layer.Layer<
    AuthorizationServer,
    never,
    TokenStore | ClientStore | Directory | Crypto | AuthorizationSettings
  > = Layer.effect(
    AuthorizationServer,
    Effect.gen(function* () {
      const store = yield* TokenStore
      const directory = yield* Directory
      const settings = yield* AuthorizationSettings
      const now = yield* storeTime
      const secrets = makeSecrets(yield* Crypto)
      const throttle = LoginThrottle.make(now)
      const bursts = makeRefreshReuse()
      const clients = makeClientAuthentication({
        directory,
        store: yield* ClientStore,
        tokens: store,
        secrets,
        throttle,
        now,
        documents: yield* ClientDocuments
      })
      const resources = new Resources(settings)
      const parts = { bursts, clients, directory, now, resources, secrets, settings, store, throttle }
      return AuthorizationServer.of({
        checkAuthorize: makeCheckAuthorize(parts),
        token: makeTokenEndpoint(parts),
        ...makeLogin(parts),
        ...makeTokens(parts)
      })
    })
  )
}
