/**
 * Logs a user in and issues the authorization code (RFC 6749 section 4.1.2). Logging in to a page that names the client
 * is the consent; a user whom the host knows already consents by a button.
 */
import { Effect, Redacted } from "effect"
import type { UserId } from "../model/Ids.ts"
import { GrantId } from "../model/Ids.ts"
import { codeLifetimeSeconds } from "../model/Token.ts"
import type { Directory, DirectoryError, SessionAnswer, SessionRequest } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import type { AuthorizeRequest } from "./AuthorizationRequest.ts"
import type { LoginThrottle } from "./LoginThrottle.ts"
import type { Secrets } from "./Secrets.ts"

/** An attempt at the login page. */
export interface LoginAttempt {
  readonly login: string
  readonly password: Redacted.Redacted<string>
  /** The network address it comes from; null when it is unknown. */
  readonly address: string | null
}

export type LoginResult =
  | { readonly _tag: "LoggedIn"; readonly code: string }
  /** Unknown login or wrong password: nothing says which. */
  | { readonly _tag: "Refused" }
  /** Too many failures. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** What logins need. */
interface LoginNeeds {
  readonly directory: Directory["Service"]
  readonly now: () => number
  readonly secrets: Secrets
  readonly store: TokenStore["Service"]
  readonly throttle: LoginThrottle
}

/** The steps of a login; `AuthorizationServer` describes them. */
export const makeLogin = ({ directory, now, secrets, store, throttle }: LoginNeeds) => {
  const session = (request: SessionRequest): Effect.Effect<SessionAnswer, DirectoryError> =>
    directory.session === undefined ? Effect.succeed(null) : directory.session(request)

  const approve = Effect.fnUntraced(function* (
    request: AuthorizeRequest,
    user: UserId
  ): Effect.fn.Return<string, StoreError> {
    const created_at = now()
    const code = yield* secrets.generate("code")
    const grant_id = GrantId.make(secrets.generateId("grt_"))
    yield* store.createCode(
      {
        id: grant_id,
        user_id: user,
        client_id: request.client.id,
        scope: request.scope,
        created_at,
        revoked_at: null
      },
      {
        hash: code.hash,
        grant_id,
        client_id: request.client.id,
        redirect_uri: request.redirect_uri,
        redirect_uri_given: request.redirect_uri_given,
        code_challenge: request.code_challenge,
        expires_at: created_at + codeLifetimeSeconds * 1_000
      }
    )
    return code.value
  })

  /** Asks the host, unless the answer is certain. */
  const authenticate = ({ login: name, password }: LoginAttempt) =>
    isNobodys(name) || isNobodys(Redacted.value(password))
      ? Effect.succeed(null)
      : directory.authenticate(name, password)

  const login = Effect.fnUntraced(function* (
    request: AuthorizeRequest,
    attempt: LoginAttempt
  ): Effect.fn.Return<LoginResult, StoreError | DirectoryError> {
    const guess = { kind: "login", name: attempt.login, address: attempt.address } as const
    const guarded = yield* throttle.guard(guess, () => authenticate(attempt))
    if (guarded._tag === "Throttled") return guarded
    if (guarded.value === null) return { _tag: "Refused" }
    return { _tag: "LoggedIn", code: yield* approve(request, guarded.value.id) }
  })

  return { approve, login, session }
}

/**
 * Whether a text can't be a login or a password. An LDAP server takes an empty one for a bind without a name, and grants it
 * (RFC 4513 section 5.1.2); a NUL ends a text for some hash functions, and no text of PostgreSQL has one.
 */
const isNobodys = (text: string): boolean => text === "" || text.includes("\0")
