/**
 * A small setup for the authorization server: two clients with secrets, one without, and two users.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  Crypto,
  DirectoryDocument,
  DocumentDirectory,
  MemoryStore,
  outOfBandUri,
  Parameters
} from "@doorhook/core"
import type {
  AuthorizationSettingsShape,
  AuthorizeRequest,
  ClientRequest,
  ClientStore,
  TokenResponse,
  TokenStore
} from "@doorhook/core"
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"

export const redirectUri = "https://client.example/cb"

/** RFC 7636 appendix B. */
export const pkce = {
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
} as const

export const directoryValue = {
  clients: [
    { id: "c1", secret: "s1", name: "Acme", redirect_uris: [redirectUri, outOfBandUri] },
    { id: "c2", secret: "s:2 /+%é", name: "Other", redirect_uris: ["https://other.example/cb"] },
    { id: "p1", name: "Pocket app", redirect_uris: ["http://127.0.0.1/cb", "https://p.example/cb"] }
  ],
  users: [
    { login: "admin@example.com", password: "correct horse", buildings: [1] },
    { login: "tenant@example.com", password: "battery staple", tenants: [101] }
  ],
  buildings: [{ id: 1, name: "North Tower", time_zone: "Europe/Berlin", access_points: [{ id: 11, name: "Front" }] }],
  tenants: [{ id: 101, building_id: 1, unit: { id: 7, label: "4B" } }]
}

export const readDirectory = (value: unknown): DirectoryDocument.DirectoryDocument =>
  Result.getOrThrow(DirectoryDocument.fromValue(value))

/** All services, over an empty memory store. */
export const testLayer = (
  settings: Partial<AuthorizationSettingsShape> = {},
  store: Layer.Layer<TokenStore | ClientStore> = Layer.fresh(MemoryStore.layer)
) =>
  AuthorizationServer.layer.pipe(
    Layer.provideMerge(DocumentDirectory.layer(readDirectory(directoryValue))),
    Layer.provideMerge(store),
    Layer.provide([AuthorizationSettings.layer(settings), Crypto.layerWebCrypto])
  )

type Fields = Readonly<Record<string, string>>

export const parametersOf = (fields: Fields): Parameters.Parameters => Parameters.fromPairs(Object.entries(fields))

/** The client's address in all requests. */
const address = "192.0.2.1"

/** The public URL. */
export const issuer = "https://doors.example"

/** Makes a client's request with all parameters in the body. */
export const bodyOf = (fields: Fields) => ({ parameters: parametersOf(fields), authorization: null, address, issuer })

export const c1 = { client_id: "c1", client_secret: "s1" } as const
export const authorizeC1: Fields = { client_id: "c1", redirect_uri: redirectUri, response_type: "code" }
export const authorizeP1: Fields = {
  client_id: "p1",
  redirect_uri: "https://p.example/cb",
  response_type: "code",
  code_challenge: pkce.challenge,
  code_challenge_method: "S256"
}

/** Asserts that a value has at least these members. */
export const includes = (actual: unknown, expected: object): void =>
  assert.deepInclude<object>(Object(actual), expected)

/** Checks an authorize request that must be valid. */
export const checked = Effect.fnUntraced(function* (
  fields: Fields
): Effect.fn.Return<AuthorizeRequest, unknown, AuthorizationServer> {
  const check = yield* (yield* AuthorizationServer).checkAuthorize(parametersOf(fields), { address, issuer })
  if (check._tag !== "Valid") return assert.fail(`not valid: ${JSON.stringify(check)}`)
  return check.request
})

const administrator = { login: "admin@example.com", password: "correct horse" } as const
export const tenant = { login: "tenant@example.com", password: "battery staple" } as const

/** Logs a user in and returns the code. */
export const obtainCode = Effect.fnUntraced(function* (
  fields: Fields,
  { login, password }: typeof administrator | typeof tenant = administrator
): Effect.fn.Return<string, unknown, AuthorizationServer> {
  const attempt = { login, password: Redacted.make<string>(password), address }
  const result = yield* (yield* AuthorizationServer).login(yield* checked(fields), attempt)
  if (result._tag !== "LoggedIn") return assert.fail(`not logged in: ${result._tag}`)
  return result.code
})

/** Makes the token request with which c1 redeems a code. */
export const exchangeOf = (code: string): Fields => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  ...c1
})

/** Tokens of a user, which include a refresh token. */
export type UserTokens = Required<TokenResponse>

/** Sends a token request. */
export const send = (request: ClientRequest) =>
  Effect.flatMap(AuthorizationServer, (service) =>
    Effect.map(service.token(request), (response): UserTokens => ({
      ...response,
      refresh_token: response.refresh_token ?? ""
    }))
  )

/** Obtains tokens for c1, a client with a secret. */
export const obtainTokens = Effect.gen(function* () {
  return yield* send(bodyOf(exchangeOf(yield* obtainCode(authorizeC1))))
})

/** Makes the token request with which p1 redeems a code. */
export const publicExchangeOf = (code: string): Fields => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: "https://p.example/cb",
  client_id: "p1",
  code_verifier: pkce.verifier
})

/** Obtains tokens for p1, a client without a secret. */
export const obtainPublicTokens = Effect.gen(function* () {
  return yield* send(bodyOf(publicExchangeOf(yield* obtainCode(authorizeP1))))
})

/** Makes a refresh request, by default from p1. */
export const refreshOf = (refresh_token: string, client_id = "p1"): Fields => ({
  grant_type: "refresh_token",
  client_id,
  refresh_token
})
