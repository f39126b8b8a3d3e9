/**
 * Logs a user in and issues the authorization code (RFC 6749 section 4.1.2). Logging in to a page that names the client
 * is the consent; a user whom the host knows already consents by a button.
 */
import { Clock, Effect, Redacted } from "effect"
import type { UserId } from "../../domain/Ids.ts"
import { GrantId } from "../../domain/Ids.ts"
import { codeLifetimeSeconds } from "../../domain/Token.ts"
import type { SessionAnswer, SessionRequest } from "../../ports/Directory.ts"
import { Directory } from "../../ports/Directory.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import type { AuthorizeRequest } from "./AuthorizeRequest.ts"
import { GuessThrottle } from "./GuessThrottle.ts"
import { generate, generateId } from "./Secrets.ts"

/** Somebody at the login page. */
export interface LoginAttempt {
  readonly login: string
  readonly password: Redacted.Redacted<string>
  /** The network address it comes from; null when nobody knows. */
  readonly address: string | null
}

export type LoginResult =
  | { readonly _tag: "LoggedIn"; readonly code: string }
  /** Unknown login or wrong password: nothing says which. */
  | { readonly _tag: "Refused" }
  /** Too many failures. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** Who is logged in at the host; null when the host does not say, and doorhook is to ask for login and password. */
export const session = Effect.fnUntraced(function* (request: SessionRequest) {
  const directory = yield* Directory
  const answer: SessionAnswer = directory.session === undefined ? null : yield* directory.session(request)
  return answer
})

/** Issues a code for a user who has allowed a checked request. */
export const approve = Effect.fnUntraced(function* (request: AuthorizeRequest, user: UserId) {
  const now = yield* Clock.currentTimeMillis
  const code = yield* generate("code")
  const grant_id = GrantId.make(yield* generateId("grt_"))
  yield* (yield* TokenStore).createCode(
    {
      id: grant_id,
      user_id: user,
      client_id: request.client.id,
      scope: request.scope,
      created_at: now,
      revoked_at: null
    },
    {
      hash: code.hash,
      grant_id,
      client_id: request.client.id,
      redirect_uri: request.redirect_uri,
      redirect_uri_given: request.redirect_uri_given,
      code_challenge: request.code_challenge,
      expires_at: now + codeLifetimeSeconds * 1_000
    }
  )
  return code.value
})

/**
 * Whether a text can be nobody's login or password. An LDAP server takes an empty one for a bind without a name, and grants it
 * (RFC 4513 section 5.1.2); a NUL ends a text for some hash functions, and no text of PostgreSQL has one.
 */
const isNobodys = (text: string): boolean => text === "" || text.includes("\0")

/** Asks the host, unless it needs no asking. */
const authenticate = Effect.fnUntraced(function* ({ login: name, password }: LoginAttempt) {
  if (isNobodys(name) || isNobodys(Redacted.value(password))) return null
  return yield* (yield* Directory).authenticate(name, password)
})

/** Tries to log in for a checked request. */
export const login = Effect.fnUntraced(function* (request: AuthorizeRequest, attempt: LoginAttempt) {
  const throttle = yield* GuessThrottle
  const guarded = yield* throttle.guard(
    { kind: "login", name: attempt.login, address: attempt.address },
    authenticate(attempt)
  )
  if (guarded._tag === "Throttled") return guarded satisfies LoginResult
  if (guarded.value === null) return { _tag: "Refused" } satisfies LoginResult
  return { _tag: "LoggedIn", code: yield* approve(request, guarded.value.id) } satisfies LoginResult
})
