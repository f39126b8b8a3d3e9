/**
 * The authorization server without its HTTP surface (document section 5): checks authorization requests, logs users in, issues
 * tokens, and says who a token stands for.
 *
 * Its parts are plain functions over the ports. What a request waits for answers at once, as an `Exit`, where store, directory
 * and `Crypto` do.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { UserId } from "../model/Ids.ts"
import type { TokenResponse } from "../model/Token.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { DirectoryError, SessionAnswer, SessionRequest } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import type { AuthorizeCheck, AuthorizeRequest } from "./AuthorizationRequest.ts"
import { makeCheckAuthorize } from "./AuthorizationRequest.ts"
import { AuthorizationSettings } from "./AuthorizationSettings.ts"
import type { ClientRequest } from "./ClientAuthentication.ts"
import { makeClientAuthentication } from "./ClientAuthentication.ts"
import type { LoginAttempt, LoginResult, SignInResult } from "./Login.ts"
import { makeLogin } from "./Login.ts"
import * as LoginThrottle from "./LoginThrottle.ts"
import type { OAuthError, TooManyAttempts, TooManyTokens } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { makeSecrets } from "./Secrets.ts"
import { makeRefreshReuse, makeTokenEndpoint } from "./TokenEndpoint.ts"
import type { Introspection, Principal } from "./Tokens.ts"
import { makeTokens } from "./Tokens.ts"

/** Failures of the token, revocation and introspection endpoints. */
type Refusal = OAuthError | TooManyAttempts | StoreError | DirectoryError

export class AuthorizationServer extends Context.Service<
  AuthorizationServer,
  {
    /** Who an access token stands for; null when it is unknown, expired or revoked, or its user or client is gone. */
    readonly authenticate: (accessToken: string) => Effect.Effect<Principal | null, StoreError | DirectoryError>

    /**
     * Whether a client may send a user to the login page with these parameters (RFC 6749 section 4.1.1), from a network
     * address, if it is known.
     */
    readonly checkAuthorize: (
      parameters: Parameters,
      address: string | null
    ) => Effect.Effect<AuthorizeCheck, StoreError | DirectoryError>

    /** Who is logged in at the host, or where to log in; null when doorhook is to ask for login and password. */
    readonly session: (request: SessionRequest) => Effect.Effect<SessionAnswer, DirectoryError>

    /** Issues an authorization code for a user who is logged in at the host and has allowed a checked request. */
    readonly approve: (request: AuthorizeRequest, user: UserId) => Effect.Effect<string, StoreError>

    /** Logs a user in for a checked request and issues an authorization code. */
    readonly login: (
      request: AuthorizeRequest,
      attempt: LoginAttempt
    ) => Effect.Effect<LoginResult, StoreError | DirectoryError>

    /** Logs a user in to doorhook's own pages. Failures count together with those of `login`. */
    readonly signIn: (attempt: LoginAttempt) => Effect.Effect<SignInResult, DirectoryError>

    /** Whether a user who has signed in still exists. */
    readonly isActive: (user: UserId) => Effect.Effect<boolean, DirectoryError>

    /** The token endpoint, both grants (RFC 6749 sections 4.1.3 and 6). */
    readonly token: (request: ClientRequest) => Effect.Effect<TokenResponse, Refusal | TooManyTokens>

    /** Ends a token, and with a refresh token everything of its grant (RFC 7009). Unknown tokens are no error. */
    readonly revoke: (request: ClientRequest) => Effect.Effect<void, Refusal>

    /** What a token of the asking client stands for (RFC 7662). */
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
      const clock = yield* Clock.Clock
      const now = (): number => clock.currentTimeMillisUnsafe()
      const secrets = makeSecrets(yield* Crypto)
      const throttle = LoginThrottle.make(now)
      const bursts = makeRefreshReuse()
      const clients = makeClientAuthentication({ directory, store: yield* ClientStore, secrets, throttle, now })
      const parts = { bursts, clients, directory, now, secrets, settings, store, throttle }
      return AuthorizationServer.of({
        checkAuthorize: makeCheckAuthorize(parts),
        token: makeTokenEndpoint(parts),
        ...makeLogin(parts),
        ...makeTokens(parts)
      })
    })
  )
}
