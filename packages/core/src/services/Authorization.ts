/**
 * The authorization server without its HTTP surface (document section 5): who a token stands for, whether a client may
 * send a user here, logging users in, and handing out and taking back tokens.
 */
import { Context, Effect, Layer } from "effect"
import type { TokenResponse } from "../domain/Token.ts"
import { Crypto } from "../ports/Crypto.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import type { UserId } from "../domain/Ids.ts"
import type { DirectoryError, SessionAnswer, SessionRequest } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { AuthorizationSettings } from "./authorization/AuthorizationSettings.ts"
import type { AuthorizeCheck, AuthorizeRequest } from "./authorization/AuthorizeRequest.ts"
import * as AuthorizeStep from "./authorization/AuthorizeRequest.ts"
import type { ClientRequest } from "./authorization/ClientAuthentication.ts"
import type { Introspection, Principal } from "./authorization/PresentedTokens.ts"
import * as Tokens from "./authorization/PresentedTokens.ts"
import type { LoginAttempt, LoginResult } from "./authorization/Login.ts"
import * as Login from "./authorization/Login.ts"
import * as GuessThrottle from "./authorization/GuessThrottle.ts"
import * as RefreshBursts from "./authorization/RefreshBursts.ts"
import type { OAuthError, TooManyGuesses, TooManyTokens } from "./authorization/OAuthError.ts"
import type { Parameters } from "./authorization/Parameters.ts"
import * as TokenGrants from "./authorization/TokenGrants.ts"
import * as TokenLimit from "./authorization/TokenLimit.ts"

/** What requests to the token endpoint and its siblings can fail with. */
type Refusal = OAuthError | TooManyGuesses | StoreError | DirectoryError

type Needed =
  | TokenStore
  | ClientStore
  | Directory
  | Crypto
  | AuthorizationSettings
  | GuessThrottle.GuessThrottle
  | RefreshBursts.RefreshBursts
  | TokenLimit.TokenLimit

export class Authorization extends Context.Service<
  Authorization,
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

    /** The token endpoint, both grants (RFC 6749 sections 4.1.3 and 6). */
    readonly token: (request: ClientRequest) => Effect.Effect<TokenResponse, Refusal | TooManyTokens>

    /** Ends a token, and with a refresh token everything of its grant (RFC 7009). Unknown tokens are no error. */
    readonly revoke: (request: ClientRequest) => Effect.Effect<void, Refusal>

    /** What a token of the asking client stands for (RFC 7662). */
    readonly introspect: (request: ClientRequest) => Effect.Effect<Introspection, Refusal>
  }
>()("@doorhook/core/services/Authorization") {
  static readonly layer: Layer.Layer<
    Authorization,
    never,
    TokenStore | ClientStore | Directory | Crypto | AuthorizationSettings
  > = Layer.effect(
    Authorization,
    Effect.gen(function* () {
      const tokens = yield* TokenStore
      const clients = yield* ClientStore
      const directory = yield* Directory
      const crypto = yield* Crypto
      const settings = yield* AuthorizationSettings
      const throttle = GuessThrottle.make()
      const bursts = RefreshBursts.make()
      const limit = TokenLimit.make(settings.tokenRequestsPerMinute)
      // Laid over the caller's context in one step: each step is work for every request.
      const provide = <A, E>(effect: Effect.Effect<A, E, Needed>): Effect.Effect<A, E> =>
        Effect.updateContext(effect, (context: Context.Context<never>) =>
          context.pipe(
            Context.add(TokenStore, tokens),
            Context.add(ClientStore, clients),
            Context.add(Directory, directory),
            Context.add(Crypto, crypto),
            Context.add(AuthorizationSettings, settings),
            Context.add(GuessThrottle.GuessThrottle, throttle),
            Context.add(RefreshBursts.RefreshBursts, bursts),
            Context.add(TokenLimit.TokenLimit, limit)
          )
        )
      return Authorization.of({
        authenticate: (accessToken) => provide(Tokens.authenticate(accessToken)),
        checkAuthorize: (parameters, address) => provide(AuthorizeStep.checkAuthorize(parameters, address)),
        session: (request) => provide(Login.session(request)),
        approve: (request, user) => provide(Login.approve(request, user)),
        login: (request, attempt) => provide(Login.login(request, attempt)),
        token: (request) => provide(TokenGrants.token(request)),
        revoke: (request) => provide(Tokens.revoke(request)),
        introspect: (request) => provide(Tokens.introspect(request))
      })
    })
  )
}
