/**
 * The authorize step (interface document, section 4.1; RFC 6749 section 4.1.1): decides whether a client may send a
 * user to the login page, and where the user returns to.
 *
 * Users are only redirected to registered addresses. If the client or the redirect URI is unknown or invalid, a page
 * shows the problem instead (RFC 6749 section 4.1.2.1).
 */
import { Effect, Result } from "effect"
import type { KnownClient } from "../model/Client.ts"
import { isConfidential, outOfBandUri } from "../model/Client.ts"
import { publicScope, scopeNames } from "../model/Token.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import * as RedirectUri from "../model/RedirectUri.ts"
import type { AuthorizationSettingsShape } from "./AuthorizationSettings.ts"
import type { ClientAuthentication } from "./ClientAuthentication.ts"
import { warnOnce } from "../ports/KnownClients.ts"
import type { Parameters } from "./Parameters.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import type { Resources } from "./Resources.ts"
import type { Secrets } from "./Secrets.ts"

/** A valid request, ready for the user's login and consent. */
export interface AuthorizeRequest {
  readonly client: Pick<KnownClient, "id" | "name" | "redirect_uris">
  /** The host that vouches for the client, if the client is not registered; otherwise null. */
  readonly client_host: string | null
  readonly redirect_uri: string
  /** Whether the client sent the redirect URI. If not, the default is used. */
  readonly redirect_uri_given: boolean
  /** The client's `state`, returned to it unchanged; null if the request has none. */
  readonly state: string | null
  /** The scope to grant; see `scopeNames`. */
  readonly scope: string
  /** The resources that the tokens are bound to; see `Grant.resource`. */
  readonly resource: string
  readonly code_challenge: string | null
}

/** Error codes for redirects to the client (RFC 6749 section 4.1.2.1). */
export type AuthorizeErrorCode =
  | "invalid_request"
  | "unsupported_response_type"
  | "invalid_scope"
  | "invalid_target"
  | "access_denied"

/** Why the login page is not shown. */
export type AuthorizeProblem =
  /** A page for the user, who must not be redirected. Status 401 means that the client's secret was wrong. */
  | { readonly _tag: "Page"; readonly status: 400 | 401; readonly message: string }
  /** A page about too many look-ups of clients that are not registered. `retry_after` is in whole seconds. */
  | { readonly _tag: "Busy"; readonly retry_after: number; readonly message: string }
  /** A page about too many wrong secrets. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }
  /** An error for the client, sent by redirecting the user. */
  | {
      readonly _tag: "Redirect"
      readonly redirect_uri: string
      readonly error: AuthorizeErrorCode
      readonly error_description: string
      readonly state: string | null
    }

/** The result of an authorize request. */
export type AuthorizeCheck = { readonly _tag: "Valid"; readonly request: AuthorizeRequest } | AuthorizeProblem

/** Parameters that identify the client and the redirect target. */
const identifying = ["client_id", "redirect_uri", "client_secret"] as const

const others = ["response_type", "state", "scope", "resource", "code_challenge", "code_challenge_method"] as const

/** All parameters of the authorize step. */
export const authorizeParameters = [...identifying, ...others] as const

const page = (message: string, status: 400 | 401 = 400): AuthorizeProblem => ({ _tag: "Page", status, message })

/** Redirects an error to the client, or shows it on a page if the client uses the out-of-band URI. */
const toClient =
  (target: Pick<AuthorizeRequest, "redirect_uri" | "state">) =>
  (error: AuthorizeErrorCode, error_description: string): AuthorizeProblem =>
    target.redirect_uri === outOfBandUri
      ? page(error_description)
      : { _tag: "Redirect", redirect_uri: target.redirect_uri, error, error_description, state: target.state }

/** Returns the result if the user denies the request. */
export const denied = (request: AuthorizeRequest): AuthorizeProblem =>
  toClient(request)("access_denied", "Access was denied. Nothing was shared with the application.")

/**
 * Whether an HTML form would send the state back unchanged. Forms change control characters, and bytes that were not
 * UTF-8 have already become U+FFFD. RFC 6749 (appendix A.5) allows even fewer characters.
 */
const comesBack = (state: string): boolean => !/[\p{Cc}\ufffd]/u.test(state)

/**
 * Returns the problem with a redirect URI; null if it is valid. Logs a warning if the directory lists a URI that is not
 * acceptable.
 */
const redirectProblem = Effect.fnUntraced(function* (
  directory: Directory["Service"],
  { id, redirect_uris }: KnownClient,
  given: string | null
) {
  if (RedirectUri.isRegistered(redirect_uris, given ?? outOfBandUri)) return null
  if (given === null) {
    return "The parameter redirect_uri is missing, and the application is not registered to show its codes on a page."
  }
  if (!redirect_uris.includes(given)) {
    return "This redirect_uri is not registered for the application. It must match a registered URI character by character."
  }
  yield* warnOnce(
    directory,
    `The directory's \`client\` returns a redirect URI for client ${id} that is not accepted: it must be ${RedirectUri.expected}.`
  )
  return `This redirect_uri is registered for the application, but it is not accepted here: it must be ${RedirectUri.expected}.`
})

/** Returns the problem with a PKCE challenge; null if it is valid. */
const challengeProblem = (client: KnownClient, challenge: string | null, method: string | null): string | null => {
  if (challenge === null) {
    if (method !== null) return "The code_challenge is missing. Send it with its code_challenge_method."
    return isConfidential(client)
      ? null
      : "This client has no secret and must use PKCE. Send a code_challenge with code_challenge_method S256."
  }
  if (method !== "S256") return "The code_challenge_method must be S256."
  return isChallenge(challenge)
    ? null
    : "The code_challenge is not SHA-256 in base64url, which has 43 characters without padding."
}

/** Where an authorization request comes from, and where it arrived. */
export interface AuthorizeSource {
  /** The network address of the sender; null if unknown. */
  readonly address: string | null
  /** The public URL. */
  readonly issuer: string
}

/** Dependencies of the check. */
interface AuthorizationRequestNeeds {
  readonly clients: ClientAuthentication
  readonly directory: Directory["Service"]
  readonly resources: Resources
  readonly settings: AuthorizationSettingsShape
}

/** Checks all parameters of an authorization request. Unknown parameters are ignored (RFC 6749 section 3.1). */
export const makeCheckAuthorize = ({ clients, directory, resources, settings }: AuthorizationRequestNeeds) =>
  Effect.fnUntraced(function* (
    parameters: Parameters,
    { address, issuer }: AuthorizeSource
  ): Effect.fn.Return<AuthorizeCheck, StoreError | DirectoryError> {
    const doubtful = identifying.find((name) => parameters.repeated.has(name))
    if (doubtful !== undefined) return page(cameTwice(doubtful))
    const clientId = get(parameters, "client_id")
    if (clientId === null) return page("The parameter client_id is missing.")
    const client = yield* clients.readClient(clientId, address).pipe(
      Effect.catchTags({
        DocumentRefused: ({ message }) => Effect.succeed(page(message)),
        TooManyDocuments: ({ message, retry_after }) =>
          Effect.succeed({ _tag: "Busy", retry_after, message } satisfies AuthorizeProblem)
      })
    )
    if (client !== null && "_tag" in client) return client
    if (client === null) return page("No application is registered under this client_id.")

    const given = get(parameters, "redirect_uri")
    const redirect_uri = given ?? outOfBandUri
    const astray = yield* redirectProblem(directory, client, given)
    if (astray !== null) return page(astray)
    const secret = get(parameters, "client_secret")
    if (secret !== null) {
      const isRight = yield* Effect.catchTag(
        clients.checkSecret(client, secret, { kind: "authorize", name: clientId, address }),
        "TooManyAttempts",
        ({ retry_after }) => Effect.succeed({ _tag: "Throttled", retry_after } satisfies AuthorizeProblem)
      )
      if (isRight === false) return page("The client_secret is wrong. It is not needed here: leave it out.", 401)
      if (isRight !== true) return isRight
    }

    const sent = parameters.repeated.has("state") ? null : get(parameters, "state")
    const state = sent === null || comesBack(sent) ? sent : null
    const fail = toClient({ redirect_uri, state })
    const repeated = firstRepeated(parameters)
    if (repeated !== null) return fail("invalid_request", cameTwice(repeated))
    if (state !== sent) return fail("invalid_request", "The state has control characters, or bytes that are not UTF-8.")
    const responseType = get(parameters, "response_type")
    if (responseType === null)
      return fail("invalid_request", "The parameter response_type is missing. It must be code.")
    if (responseType !== "code") return fail("unsupported_response_type", "The response_type must be code.")
    const resource = resources.requested(parameters.resources, issuer)
    if (Result.isFailure(resource)) return fail(resource.failure.error, resource.failure.error_description)
    const allowed = resources.scopesOf(resource.success, issuer)
    const scope = grantedScope(settings, allowed, get(parameters, "scope"))
    if (scope === null) return fail("invalid_scope", scopeRefusal(allowed))
    const code_challenge = get(parameters, "code_challenge")
    const problem = challengeProblem(client, code_challenge, get(parameters, "code_challenge_method"))
    if (problem !== null) return fail("invalid_request", problem)

    const request: AuthorizeRequest = {
      client,
      client_host: "host" in client ? client.host : null,
      redirect_uri,
      redirect_uri_given: given !== null,
      state,
      scope,
      resource: resource.success,
      code_challenge
    }
    return { _tag: "Valid", request }
  })

// Proof Key for Code Exchange (RFC 7636), only with method S256. The method `plain` would send the secret in the URL
// that it must protect.

const challengePattern = /^[A-Za-z0-9_-]{43}$/
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/

/** Whether a text has the form of a challenge: SHA-256 in base64url. */
export const isChallenge = (text: string): boolean => challengePattern.test(text)

/** Whether a verifier matches a challenge. */
export const verifies = (secrets: Secrets, verifier: string, challenge: string): Effect.Effect<boolean> =>
  verifierPattern.test(verifier)
    ? Effect.flatMapEager(secrets.hashOf(verifier), (hash) => secrets.equals(hash, challenge))
    : Effect.succeed(false)

// The scope parameter (RFC 6749 section 3.3).

type ScopeSettings = Pick<AuthorizationSettingsShape, "unknownScope">

/** Returns the names in a scope parameter, without repetitions. */
const askedFor = (parameter: string): ReadonlyArray<string> => [
  ...new Set(parameter.split(" ").filter((name) => name !== ""))
]

/**
 * Returns the scope to grant: the requested one, or `public` if none is requested. `allowed` has the declared scopes
 * that the requested resources allow. Null if another scope is requested and the settings refuse that, or if the
 * resources don't allow the default.
 */
export const grantedScope = (
  { unknownScope }: ScopeSettings,
  allowed: ReadonlyArray<string>,
  parameter: string | null
): string | null => {
  const asked = askedFor(parameter ?? "")
  const kept = asked.filter((name) => allowed.includes(name))
  if (kept.length < asked.length && unknownScope === "refuse") return null
  if (kept.length > 0) return kept.join(" ")
  return allowed.includes(publicScope) ? publicScope : null
}

/**
 * Returns the scope of an access token from a refresh (RFC 6749 section 6): the granted scope, or the requested part of
 * it. Null if more is requested. `known` has all scopes that could have been granted.
 */
export const narrowedScope = (
  { unknownScope }: ScopeSettings,
  known: ReadonlyArray<string>,
  granted: string,
  parameter: string | null
): string | null => {
  if (parameter === null) return granted
  const held = scopeNames(granted)
  const asked = askedFor(parameter)
  const kept = asked.filter((name) => held.includes(name))
  const isIgnored = (name: string) => unknownScope === "ignore" && !known.includes(name)
  if (!asked.every((name) => held.includes(name) || isIgnored(name))) return null
  return kept.length === 0 ? granted : kept.join(" ")
}

/** Advice for a client that requested a scope which is not allowed. */
export const scopeRefusal = (allowed: ReadonlyArray<string>): string => {
  const advice = allowed.includes(publicScope) ? ", or leave the scope parameter out" : ""
  return allowed.length === 1
    ? `The only scope is ${allowed.join("")}. Ask for it${advice}.`
    : `The scopes are ${allowed.join(", ")}. Ask for some of them${advice}.`
}

/** Advice for a client that requested more than a refresh token's scope. */
export const narrowingRefusal = (granted: string): string =>
  `The scope of the refresh token is ${scopeNames(granted).join(", ")}. Ask for a part of it, or leave the scope parameter out.`
