/**
 * OAuth calls complete synchronously, without a fiber, if the store and the directory answer synchronously.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  DirectoryDocument,
  DocumentDirectory,
  MemoryStore,
  Parameters,
  unboundOnly
} from "@doorhook/core"
import type { ClientStore, TokenStore } from "@doorhook/core"
import { NodeCrypto } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Result } from "effect"

const redirect_uri = "https://client.example/cb"
const c1 = { client_id: "c1", client_secret: "a secret" }
const user = { login: "admin@example.com", password: "correct horse" }
const directory = Result.getOrThrow(
  DirectoryDocument.fromValue({
    clients: [{ id: c1.client_id, secret: c1.client_secret, name: "Acme", redirect_uris: [redirect_uri] }],
    users: [user],
    buildings: [],
    tenants: []
  })
)

const layerOn = <E>(store: Layer.Layer<TokenStore | ClientStore, E>) =>
  AuthorizationServer.layer.pipe(
    Layer.provide(DocumentDirectory.layer(directory)),
    Layer.provide(Layer.fresh(store)),
    Layer.provide([AuthorizationSettings.layer(), NodeCrypto.layer])
  )

const body = (fields: Readonly<Record<string, string>>) => ({
  parameters: Parameters.fromPairs(Object.entries({ ...c1, ...fields })),
  authorization: null,
  address: "192.0.2.1",
  issuer: "https://doors.example"
})

const obtainTokens = Effect.gen(function* () {
  const service = yield* AuthorizationServer
  const request = body({ redirect_uri, response_type: "code" })
  const check = yield* service.checkAuthorize(request.parameters, request)
  if (check._tag !== "Valid") return assert.fail(check._tag)
  const result = yield* service.login(check.request, {
    login: user.login,
    password: Redacted.make(user.password),
    address: null
  })
  if (result._tag !== "LoggedIn") return assert.fail(result._tag)
  return yield* service.token(body({ grant_type: "authorization_code", code: result.code, redirect_uri }))
})

describe("at once", () => {
  for (const [name, store] of [
    ["memory", MemoryStore.layer],
    ["SQLite", SqliteStore.layer({ filename: ":memory:" })]
  ] as const) {
    it.effect(`authenticate answers over ${name}, for valid and invalid tokens`, () =>
      Effect.gen(function* () {
        const { authenticate } = yield* AuthorizationServer
        const { access_token } = yield* obtainTokens
        for (const text of [access_token, access_token.slice(0, -43) + "A".repeat(43), "unknown"]) {
          const answer = authenticate(text, unboundOnly)
          if (!Exit.isExit(answer) || Exit.isFailure(answer)) return assert.fail(`no answer to ${text}`)
          assert.strictEqual(answer.value !== null, text === access_token)
        }
      }).pipe(Effect.provide(layerOn(store)))
    )
  }

  it.effect("a refresh completes over memory, and so does a refusal", () =>
    Effect.gen(function* () {
      const { token } = yield* AuthorizationServer
      const { refresh_token = "" } = yield* obtainTokens
      const grant_type = "refresh_token"
      const answer = token(body({ grant_type, refresh_token }))
      assert.isTrue(Exit.isExit(answer) && Exit.isSuccess(answer))
      const refusals = [
        { refresh_token: "unknown" },
        { refresh_token, scope: "more" },
        { refresh_token, client_secret: "no" }
      ]
      for (const fields of refusals) {
        const refusal = token(body({ grant_type, ...fields }))
        assert.isTrue(Exit.isExit(refusal) && Exit.isFailure(refusal), JSON.stringify(fields))
      }
    }).pipe(Effect.provide(layerOn(MemoryStore.layer)))
  )
})
