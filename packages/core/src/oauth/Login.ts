/**
 * Logs a user in and issues the authorization code (RFC 6749 section 4.1.2). A user consents by logging in on a page
 * that names the client, or by pressing a button if already logged in at the host.
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

/** A login attempt. */
export interface LoginAttempt {
  readonly login: string
  readonly password: Redacted.Redacted<string>
  /** The network address of the sender; null if unknown. */
  readonly address: string | null
}

export type LoginResult = { readonly _tag: "LoggedIn"; readonly code: string } | NotSignedIn

/** The result of a login to doorhook's own pages. */
export type SignInResult = { readonly _tag: "SignedIn"; readonly user: UserId } | NotSignedIn

type NotSignedIn =
  /** Unknown login or wrong password. The answer does not reveal which. */
  | { readonly _tag: "Refused" }
  /** Too many failures. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** Dependencies of logins. */
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
        resource: request.resource,
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

  /** Authenticates at the host, unless the credentials can't be valid. */
  const authenticate = ({ login: name, password }: LoginAttempt) =>
    isNobodys(name) || isNobodys(Redacted.value(password))
      ? Effect.succeed(null)
      : directory.authenticate(name, password)

  const signIn = Effect.fnUntraced(function* (attempt: LoginAttempt): Effect.fn.Return<SignInResult, DirectoryError> {
    const guess = { kind: "login", name: attempt.login, address: attempt.address } as const
    const guarded = yield* throttle.guard(guess, () => authenticate(attempt))
    if (guarded._tag === "Throttled") return guarded
    return guarded.value === null ? { _tag: "Refused" } : { _tag: "SignedIn", user: guarded.value.id }
  })

  const login = Effect.fnUntraced(function* (
    request: AuthorizeRequest,
    attempt: LoginAttempt
  ): Effect.fn.Return<LoginResult, StoreError | DirectoryError> {
    const result = yield* signIn(attempt)
    return result._tag === "SignedIn" ? { _tag: "LoggedIn", code: yield* approve(request, result.user) } : result
  })

  const isActive = (user: UserId): Effect.Effect<boolean, DirectoryError> => directory.isActive(user)

  return { approve, isActive, login, session, signIn }
}

/**
 * Whether a text can't be a login or a password. An LDAP server treats an empty password as an anonymous bind, which
 * succeeds (RFC 4513 section 5.1.2). For some hash functions, a NUL ends the text, and PostgreSQL can't store it.
 */
const isNobodys = (text: string): boolean => text === "" || text.includes("\0")
