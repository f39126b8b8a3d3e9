/**
 * Twenty concurrent requests with the same code or the same refresh token, handled by two processes on one database.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  Crypto,
  DirectoryDocument,
  DocumentDirectory,
  Parameters,
  unboundOnly
} from "@doorhook/core"
import type { AuthorizeRequest, TokenResponse } from "@doorhook/core"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Result } from "effect"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"

const redirect_uri = "http://127.0.0.1/cb"
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
const user = { login: "admin@example.com", password: "correct horse" }

const directory = DirectoryDocument.fromValue({
  clients: [{ id: "p1", name: "Pocket app", redirect_uris: [redirect_uri] }],
  users: [user],
  buildings: [],
  tenants: []
})

const issuer = "https://doors.example"

/** Makes an authorization server like that of a separate process. */
const makeProcess = (url: string) =>
  Layer.build(
    AuthorizationServer.layer.pipe(
      Layer.provide(DocumentDirectory.layer(Result.getOrThrow(directory))),
      Layer.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))),
      Layer.provide([AuthorizationSettings.layer(), Crypto.layerWebCrypto])
    )
  ).pipe(Effect.map(Context.get(AuthorizationServer)))

type Process = AuthorizationServer["Service"]

const checkAuthorize = (process: Process) =>
  process.checkAuthorize(
    Parameters.fromPairs([
      ["client_id", "p1"],
      ["response_type", "code"],
      ["redirect_uri", redirect_uri],
      ["code_challenge", challenge],
      ["code_challenge_method", "S256"]
    ]),
    { address: null, issuer }
  )

const logIn = Effect.fnUntraced(function* (process: Process) {
  const check = yield* checkAuthorize(process)
  if (check._tag !== "Valid") return assert.fail(`the request is not valid: ${check._tag}`)
  const request: AuthorizeRequest = check.request
  const attempt = { login: user.login, password: Redacted.make(user.password), address: null }
  const result = yield* process.login(request, attempt)
  return result._tag === "LoggedIn" ? result.code : assert.fail(result._tag)
})

const send = (process: Process, fields: Readonly<Record<string, string>>) =>
  process.token({
    parameters: Parameters.fromPairs(Object.entries({ client_id: "p1", ...fields })),
    authorization: null,
    address: null,
    issuer
  })

const exchange = (process: Process, code: string) =>
  send(process, { grant_type: "authorization_code", code, redirect_uri, code_verifier: verifier })

const refresh = (process: Process, { refresh_token = "" }: Pick<TokenResponse, "refresh_token">) =>
  send(process, { grant_type: "refresh_token", refresh_token })

const twenty = Array.from({ length: 20 }, (_, at) => at)

const setUp = Effect.fnUntraced(function* (url: string) {
  const [here, there] = yield* Effect.all([makeProcess(url), makeProcess(url)])
  return { here, one: (at: number) => (at % 2 === 0 ? here : there) }
})

await describeOnPostgres("tokens of two processes", (server) => {
  it.live("one of twenty exchanges of a code succeeds, and the others revoke its tokens", () =>
    Effect.gen(function* () {
      const { here, one } = yield* setUp((yield* pooledDatabase(server)).url)
      const code = yield* logIn(here)
      const results = yield* Effect.forEach(twenty, (at) => Effect.result(exchange(one(at), code)), {
        concurrency: "unbounded"
      })
      const issued = results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
      assert.strictEqual(issued.length, 1)
      for (const result of results) {
        if (Result.isFailure(result)) assert.include(result.failure.message, "invalid_grant")
      }
      for (const { access_token } of issued) assert.isNull(yield* one(1).authenticate(access_token, unboundOnly))
    })
  )

  it.live("twenty refreshes of a public client's token all succeed and revoke nothing", () =>
    Effect.gen(function* () {
      const { here, one } = yield* setUp((yield* pooledDatabase(server)).url)
      const first = yield* exchange(here, yield* logIn(here))
      const issued = yield* Effect.forEach(twenty, (at) => refresh(one(at), first), { concurrency: "unbounded" })
      assert.strictEqual(new Set(issued.map(({ refresh_token }) => refresh_token)).size, 20)
      for (const [at, { access_token }] of issued.entries()) {
        assert.isNotNull(yield* one(at + 1).authenticate(access_token, unboundOnly))
      }
      for (const each of issued.slice(0, 3)) yield* refresh(one(1), each)
    })
  )
})
