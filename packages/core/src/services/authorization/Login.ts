/**
 * Logs a user in and issues the authorization code (RFC 6749 section 4.1.2). Logging in to a page that names the client
 * is the consent.
 */
import { Clock, Effect } from "effect"
import type { Redacted } from "effect"
import { GrantId } from "../../domain/Ids.ts"
import { codeLifetimeSeconds } from "../../domain/Token.ts"
import { Directory } from "../../ports/Directory.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import type { AuthorizeRequest } from "./AuthorizeRequest.ts"
import type { LoginThrottle } from "./LoginThrottle.ts"
import { generate, generateId } from "./Secrets.ts"

/** Somebody at the login page. */
export interface LoginAttempt {
  readonly login: string
  readonly password: Redacted.Redacted<string>
  /** The network address it comes from. */
  readonly address: string
}

export type LoginResult =
  | { readonly _tag: "LoggedIn"; readonly code: string }
  /** Unknown login or wrong password: nothing says which. */
  | { readonly _tag: "Refused" }
  /** Too many failures. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** Tries to log in for a checked request. */
export const login = (throttle: LoginThrottle) =>
  Effect.fnUntraced(function* (request: AuthorizeRequest, attempt: LoginAttempt) {
    const directory = yield* Directory
    const guarded = yield* throttle.guard(attempt, directory.authenticate(attempt.login, attempt.password))
    if (guarded._tag === "Throttled") return guarded satisfies LoginResult
    if (guarded.value === null) return { _tag: "Refused" } satisfies LoginResult

    const now = yield* Clock.currentTimeMillis
    const code = yield* generate("code")
    const grant_id = GrantId.make(yield* generateId("grt_"))
    yield* (yield* TokenStore).createCode(
      {
        id: grant_id,
        user_id: guarded.value.id,
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
    return { _tag: "LoggedIn", code: code.value } satisfies LoginResult
  })
