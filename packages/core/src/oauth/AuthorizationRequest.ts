/**
 * The authorize step (document section 4.1, RFC 6749 section 4.1.1): whether a client may send a user to the login page,
 * and where the user goes from there.
 *
 * Nobody is redirected to an address that its client has not registered: as long as client or redirect URI are in doubt,
 * the problem is shown on a page (RFC 6749 section 4.1.2.1).
 */
import { Effect } from "effect"
import type { Client } from "../model/Client.ts"
import { isConfidential, outOfBandUri } from "../model/Client.ts"
import { publicScope, scopeNames } from "../model/Token.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import * as RedirectUri from "../model/RedirectUri.ts"
import type { AuthorizationSettingsShape } from "./AuthorizationSettings.ts"
import type { ClientAuthentication } from "./ClientAuthentication.ts"
import { warnOnce } from "./ClientAuthentication.ts"
import type { Parameters } from "./Parameters.ts"
import { cameTwice, firstRepeated, get } from "./Parameters.ts"
import type { Secrets } from "./Secrets.ts"

/** A request that may be put before the user. */
export interface AuthorizeRequest {
  readonly client: Client
  readonly redirect_uri: string
  /** Whether the client named the redirect URI, rather than leaving it to the default. */
  readonly redirect_uri_given: boolean
  /** Given back as it came, null when none came. */
  readonly state: string | null
  /** What will be granted; see `scopeNames`. */
  readonly scope: string
  readonly code_challenge: string | null
}

/** Error codes that a client is redirected with (RFC 6749 section 4.1.2.1). */
export type AuthorizeErrorCode = "invalid_request" | "unsupported_response_type" | "invalid_scope" | "access_denied"

/** Why a user is not shown the login page. */
export type AuthorizeProblem =
  /** A page for the user, who must not be redirected. 401 says that the client's secret was wrong. */
  | { readonly _tag: "Page"; readonly status: 400 | 401; readonly message: string }
  /** A page that says that too many wrong secrets came. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }
  /** An error for the client, which the user is sent back to. */
  | {
      readonly _tag: "Redirect"
      readonly redirect_uri: string
      readonly error: AuthorizeErrorCode
      readonly error_description: string
      readonly state: string | null
    }

/** What becomes of an authorize request. */
export type AuthorizeCheck = { readonly _tag: "Valid"; readonly request: AuthorizeRequest } | AuthorizeProblem

/** Parameters that decide whether there is anybody to redirect to. */
const identifying = ["client_id", "redirect_uri", "client_secret"] as const

const others = ["response_type", "state", "scope", "code_challenge", "code_challenge_method"] as const

/** All parameters that mean something here. */
export const authorizeParameters = [...identifying, ...others] as const

const page = (message: string, status: 400 | 401 = 400): AuthorizeProblem => ({ _tag: "Page", status, message })

/** Sends an error to the client; shows it where there is no client to send it to. */
const toClient =
  (target: Pick<AuthorizeRequest, "redirect_uri" | "state">) =>
  (error: AuthorizeErrorCode, error_description: string): AuthorizeProblem =>
    target.redirect_uri === outOfBandUri
      ? page(error_description)
      : { _tag: "Redirect", redirect_uri: target.redirect_uri, error, error_description, state: target.state }

/** What becomes of a request that the user denied. */
export const denied = (request: AuthorizeRequest): AuthorizeProblem =>
  toClient(request)("access_denied", "Access was denied. Nothing was shared with the application.")

/**
 * Whether a state comes back exactly as it came, by way of a form: control characters don't, and what was not UTF-8 is
 * U+FFFD by now. RFC 6749 (appendix A.5) allows much less.
 */
const comesBack = (state: string): boolean => !/[\p{Cc}\ufffd]/u.test(state)

/** What is wrong with a redirect URI; null when nothing is. Warns of one that the directory alone takes for right. */
const redirectProblem = Effect.fnUntraced(function* (
  directory: Directory["Service"],
  { id, redirect_uris }: Client,
  given: string | null
) {
  if (RedirectUri.isRegistered(redirect_uris, given ?? outOfBandUri)) return null
  if (given === null) {
    return "The parameter redirect_uri is missing, and the application is not registered to show its codes on a page."
  }
  if (!redirect_uris.includes(given)) {
    return "This redirect_uri is not registered for the application. It must be repeated character by character."
  }
  yield* warnOnce(
    directory,
    `The directory's \`client\` answers a redirect URI that is not taken: it must be ${RedirectUri.expected}. It is one of client ${id}.`
  )
  return `This redirect_uri is registered for the application, but it is none that is taken here: it must be ${RedirectUri.expected}.`
})

/** What is wrong with a PKCE challenge; null when nothing is. */
const challengeProblem = (client: Client, challenge: string | null, method: string | null): string | null => {
  if (challenge === null) {
    if (method !== null) return "The code_challenge is missing. Send it with its code_challenge_method."
    return isConfidential(client)
      ? null
      : "This client has no secret and must use PKCE. Send a code_challenge with code_challenge_method S256."
  }
  if (method !== "S256") return "The only code_challenge_method is S256, and it must be named."
  return isChallenge(challenge)
    ? null
    : "The code_challenge is not SHA-256 in base64url, which has 43 characters without padding."
}

/** What the check needs. */
interface AuthorizationRequestNeeds {
  readonly clients: ClientAuthentication
  readonly directory: Directory["Service"]
  readonly settings: AuthorizationSettingsShape
}

/**
 * Checks all parameters of an authorization request that comes from an address, if it is known. Unknown ones are ignored (RFC
 * 6749 section 3.1).
 */
export const makeCheckAuthorize = ({ clients, directory, settings }: AuthorizationRequestNeeds) =>
  Effect.fnUntraced(function* (
    parameters: Parameters,
    address: string | null
  ): Effect.fn.Return<AuthorizeCheck, StoreError | DirectoryError> {
    const doubtful = identifying.find((name) => parameters.repeated.has(name))
    if (doubtful !== undefined) return page(cameTwice(doubtful))
    const clientId = get(parameters, "client_id")
    if (clientId === null) return page("The parameter client_id is missing.")
    const client = yield* clients.findClient(clientId)
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
    if (responseType !== "code") return fail("unsupported_response_type", "The only response_type is code.")
    const scope = grantedScope(settings, get(parameters, "scope"))
    if (scope === null) return fail("invalid_scope", scopeRefusal(settings))
    const code_challenge = get(parameters, "code_challenge")
    const problem = challengeProblem(client, code_challenge, get(parameters, "code_challenge_method"))
    if (problem !== null) return fail("invalid_request", problem)

    const request: AuthorizeRequest = {
      client,
      redirect_uri,
      redirect_uri_given: given !== null,
      state,
      scope,
      code_challenge
    }
    return { _tag: "Valid", request }
  })

// Proof Key for Code Exchange (RFC 7636), method S256 alone: `plain` would put the secret into the URL it protects.

const challengePattern = /^[A-Za-z0-9_-]{43}$/
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/

/** Whether a text can be a challenge: SHA-256 in base64url. */
export const isChallenge = (text: string): boolean => challengePattern.test(text)

/** Whether a verifier is the one behind a challenge. */
export const verifies = (secrets: Secrets, verifier: string, challenge: string): Effect.Effect<boolean> =>
  verifierPattern.test(verifier)
    ? Effect.flatMapEager(secrets.hashOf(verifier), (hash) => secrets.equals(hash, challenge))
    : Effect.succeed(false)

// The scope parameter (RFC 6749 section 3.3).

type ScopeSettings = Pick<AuthorizationSettingsShape, "scopes" | "unknownScope">

const isDeclared = ({ scopes }: ScopeSettings, name: string): boolean =>
  name === publicScope || Object.hasOwn(scopes, name)

/** The names in a scope parameter, each once. */
const askedFor = (parameter: string): ReadonlyArray<string> => [
  ...new Set(parameter.split(" ").filter((name) => name !== ""))
]

/**
 * The scope to grant: what is asked for, and nothing more; `public` where nothing is. Null when something else than the
 * declared scopes is asked for.
 */
export const grantedScope = (settings: ScopeSettings, parameter: string | null): string | null => {
  const asked = askedFor(parameter ?? "")
  const declared = asked.filter((name) => isDeclared(settings, name))
  if (declared.length < asked.length && settings.unknownScope === "refuse") return null
  return declared.length === 0 ? publicScope : declared.join(" ")
}

/**
 * The scope of an access token for a refresh token whose grant has this scope: all of it, or the part that is asked for (RFC 6749
 * section 6). Null when more is asked for.
 */
export const narrowedScope = (settings: ScopeSettings, granted: string, parameter: string | null): string | null => {
  if (parameter === null) return granted
  const held = scopeNames(granted)
  const asked = askedFor(parameter)
  const kept = asked.filter((name) => held.includes(name))
  const isIgnored = (name: string) => settings.unknownScope === "ignore" && !isDeclared(settings, name)
  if (!asked.every((name) => held.includes(name) || isIgnored(name))) return null
  return kept.length === 0 ? granted : kept.join(" ")
}

/** What a client that asked for another scope should do. */
const scopeRefusal = ({ scopes }: ScopeSettings): string => {
  const names = [publicScope, ...Object.keys(scopes)]
  return names.length === 1
    ? `The only scope is ${publicScope}. Ask for it, or leave the scope parameter out.`
    : `The scopes are ${names.join(", ")}. Ask for some of them, or leave the scope parameter out.`
}

/** What a client should do that asked for more than a refresh token's scope. */
export const narrowingRefusal = (granted: string): string =>
  `The scope of the refresh token is ${scopeNames(granted).join(", ")}. Ask for a part of it, or leave the scope parameter out.`
