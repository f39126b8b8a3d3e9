/**
 * The authorization server without its HTTP surface (document section 5): who a token stands for, whether a client may
 * send a user here, logging users in, and handing out and taking back tokens.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { ClientId, GrantId, UserId } from "../domain/Ids.ts"
import type { TokenResponse } from "../domain/Token.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { AuthorizeCheck, AuthorizeRequest } from "./authorization/AuthorizeRequest.ts"
import type { ClientRequest } from "./authorization/ClientAuthentication.ts"
import type { Introspection } from "./authorization/Introspection.ts"
import type { LoginAttempt, LoginResult } from "./authorization/Login.ts"
import type { OAuthError } from "./authorization/OAuthError.ts"
import type { Parameters } from "./authorization/Parameters.ts"

/** Who an access token stands for. */
export interface Principal {
  readonly user_id: UserId
  readonly client_id: ClientId
  readonly grant_id: GrantId
  readonly scope: string
}

/** What every request to the token endpoint and its siblings can fail with. */
type Refusal = OAuthError | StoreError | DirectoryError

export class Authorization extends Context.Service<
  Authorization,
  {
    /** Who an access token stands for; null when it is unknown, expired or revoked, or its user is gone. */
    readonly authenticate: (accessToken: string) => Effect.Effect<Principal | null, StoreError | DirectoryError>

    /** Whether a client may send a user to the login page with these parameters (RFC 6749 section 4.1.1). */
    readonly checkAuthorize: (parameters: Parameters) => Effect.Effect<AuthorizeCheck, DirectoryError>

    /** Logs a user in for a checked request and issues an authorization code. */
    readonly login: (
      request: AuthorizeRequest,
      attempt: LoginAttempt
    ) => Effect.Effect<LoginResult, StoreError | DirectoryError>

    /** The token endpoint, both grants (RFC 6749 sections 4.1.3 and 6). */
    readonly token: (request: ClientRequest) => Effect.Effect<TokenResponse, Refusal>

    /** Ends a token, and with a refresh token everything of its grant (RFC 7009). Unknown tokens are no error. */
    readonly revoke: (request: ClientRequest) => Effect.Effect<void, Refusal>

    /** What a token of the asking client stands for (RFC 7662). */
    readonly introspect: (request: ClientRequest) => Effect.Effect<Introspection, Refusal>
  }
>()("@doorhook/core/services/Authorization") {}
