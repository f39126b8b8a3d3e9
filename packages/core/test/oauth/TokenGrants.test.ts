import {
  AuthorizationServer,
  DocumentDirectory,
  MemoryStore,
  OAuthError,
  StoreError,
  TokenStore,
  unboundOnly
} from "@doorhook/core"
import type { ClientRequest } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  authorizeC1,
  authorizeP1,
  bodyOf,
  c1,
  directoryValue,
  exchangeOf,
  obtainCode,
  obtainPublicTokens,
  obtainTokens,
  parametersOf,
  pkce,
  publicExchangeOf,
  readDirectory,
  redirectUri,
  refreshOf,
  issuer,
  send,
  tenant,
  testLayer,
  includes
} from "./fixtures.ts"
import type { UserTokens } from "./fixtures.ts"

type Fields = Readonly<Record<string, string>>

const token = (fields: Fields) => send(bodyOf(fields))

/** Returns the error of a request that must be refused. */
const refusal = Effect.fnUntraced(function* (
  request: ClientRequest
): Effect.fn.Return<OAuthError, unknown, AuthorizationServer> {
  const error = yield* Effect.flip(send(request))
  if (!(error instanceof OAuthError)) return assert.fail(String(error))
  assert.match(error.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  return error
})

const refused = Effect.fnUntraced(function* (fields: Fields, error: string) {
  assert.strictEqual((yield* refusal(bodyOf(fields))).error, error)
})

const authenticate = (accessToken: string) =>
  Effect.flatMap(AuthorizationServer, (service) => service.authenticate(accessToken, unboundOnly))

const basic = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`

const wellFormed = (response: UserTokens) => {
  assert.deepStrictEqual(Object.keys(response), [
    "access_token",
    "token_type",
    "expires_in",
    "refresh_token",
    "scope",
    "created_at"
  ])
  assert.match(response.access_token, /^dh_at_[1-9][0-9]*\.[A-Za-z0-9_-]{43}$/)
  assert.match(response.refresh_token, /^dh_rt_[A-Za-z0-9_-]{43}$/)
  includes(response, { token_type: "Bearer", expires_in: 86_400, scope: "public" })
}

describe("the text of an access token", () => {
  it.effect("is unknown with another number, another random part, or in any other form", () =>
    Effect.gen(function* () {
      const { access_token } = yield* obtainTokens
      const other = yield* obtainPublicTokens
      const [number = "", random = ""] = access_token.slice("dh_at_".length).split(".")
      const [otherNumber = ""] = other.access_token.slice("dh_at_".length).split(".")
      assert.strictEqual((yield* authenticate(access_token))?.client_id, "c1")
      for (const text of [
        `dh_at_${otherNumber}.${random}`,
        `dh_at_${number}.${"A".repeat(43)}`,
        `dh_at_${number}${random}`,
        `dh_at_${random}`,
        `dh_at_0${number}.${random}`,
        `dh_at_+${number}.${random}`,
        `dh_at_${number}e0.${random}`,
        `dh_at_9007199254740993.${random}`,
        `dh_at_99999999999999999999.${random}`,
        `dh_at_${number}.${random}.`,
        `dh_at_${number}.${random}\n`,
        ` ${access_token}`,
        access_token.replace("dh_at_", "dh_rt_"),
        "dh_at_.",
        "dh_at_",
        "dh_ac_unknown",
        "é",
        ""
      ])
        assert.isNull(yield* authenticate(text), text)
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("with another token's number revokes nothing", () =>
    Effect.gen(function* () {
      const { revoke } = yield* AuthorizationServer
      const { access_token } = yield* obtainTokens
      const forged = access_token.slice(0, -43) + "A".repeat(43)
      for (const text of [forged, "dh_at_0.x", "x"]) yield* revoke(bodyOf({ ...c1, token: text }))
      assert.isNotNull(yield* authenticate(access_token))
      yield* revoke(bodyOf({ ...c1, token: access_token }))
      assert.isNull(yield* authenticate(access_token))
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("exchanging a code", () => {
  it.effect("returns the six members of the document, with tokens for the user", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_900)
      const response = yield* obtainTokens
      wellFormed(response)
      assert.strictEqual(response.created_at, 1_700_000_000)
      includes(yield* authenticate(response.access_token), {
        user_id: "admin@example.com",
        client_id: "c1"
      })
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("stores only digests of codes and tokens", () =>
    Effect.gen(function* () {
      const stored: Array<unknown> = []
      const keep =
        <A extends ReadonlyArray<unknown>, B>(call: (...parameters: A) => B) =>
        (...parameters: A): B => {
          stored.push(parameters)
          return call(...parameters)
        }
      const recording = Layer.effect(
        TokenStore,
        Effect.map(TokenStore, (store) =>
          TokenStore.of({ ...store, createCode: keep(store.createCode), redeemCode: keep(store.redeemCode) })
        )
      ).pipe(Layer.provideMerge(Layer.fresh(MemoryStore.layer)))
      yield* Effect.provide(obtainTokens, testLayer({}, recording))
      assert.lengthOf(stored, 2)
      assert.notMatch(JSON.stringify(stored), /"dh_/)
    })
  )

  it.effect("returns access and refresh tokens that can't replace each other", () =>
    Effect.gen(function* () {
      const response = yield* obtainTokens
      assert.isNull(yield* authenticate(response.refresh_token))
      yield* refused(refreshOf(response.access_token, "c1"), "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect.each(["0 hours", "20 hours"] as const)("accepts a code once: a second use after %s revokes all", (later) =>
    Effect.gen(function* () {
      const code = yield* obtainCode(authorizeC1)
      const response = yield* token(exchangeOf(code))
      yield* TestClock.adjust(later)
      assert.isNotNull(yield* authenticate(response.access_token))
      yield* refused(exchangeOf(code), "invalid_grant")
      assert.isNull(yield* authenticate(response.access_token))
      yield* refused(refreshOf(response.refresh_token, "c1"), "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("reports that access may have been revoked, if a revocation intervenes", () => {
    const revoking = Layer.effect(
      TokenStore,
      Effect.map(TokenStore, (store) =>
        TokenStore.of({
          ...store,
          redeemCode: (hash, issued, now) =>
            Effect.andThen(store.revokeGrant(issued.access.grant_id, now), store.redeemCode(hash, issued, now))
        })
      )
    ).pipe(Layer.provideMerge(Layer.fresh(MemoryStore.layer)))
    return Effect.gen(function* () {
      const { error, error_description } = yield* refusal(bodyOf(exchangeOf(yield* obtainCode(authorizeC1))))
      assert.strictEqual(error, "invalid_grant")
      assert.include(error_description, "or access was revoked in the meantime")
    }).pipe(Effect.provide(testLayer({}, revoking)))
  })

  it.effect("accepts a code for less than ten minutes after the login", () =>
    Effect.gen(function* () {
      const first = yield* obtainCode(authorizeC1)
      yield* TestClock.adjust(599_999)
      yield* token(exchangeOf(first))
      const second = yield* obtainCode(authorizeC1)
      yield* TestClock.adjust(600_000)
      yield* refused(exchangeOf(second), "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("refuses a code that is unknown, another client's, or bound to another redirect URI", () =>
    Effect.gen(function* () {
      yield* refused(exchangeOf("dh_ac_unknown"), "invalid_grant")
      const code = yield* obtainCode(authorizeC1)
      const c2 = { client_id: "c2", client_secret: "s:2 /+%é" }
      yield* refused({ ...exchangeOf(code), ...c2 }, "invalid_grant")
      yield* refused({ ...exchangeOf(code), redirect_uri: `${redirectUri}/` }, "invalid_grant")
      yield* refused({ ...exchangeOf(code), redirect_uri: "" }, "invalid_request")
      // None of these refusals has used up the code.
      wellFormed(yield* token(exchangeOf(code)))
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("does not require a redirect URI that was the default, and accepts it", () =>
    Effect.gen(function* () {
      const authorize = { client_id: "c1", response_type: "code" }
      yield* token({ ...exchangeOf(yield* obtainCode(authorize)), redirect_uri: "" })
      yield* token({ ...exchangeOf(yield* obtainCode(authorize)), redirect_uri: "urn:ietf:wg:oauth:2.0:oob" })
      yield* refused(exchangeOf(yield* obtainCode(authorize)), "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("requires the verifier of a challenge, and refuses a verifier without a challenge", () =>
    Effect.gen(function* () {
      const exchange = {
        grant_type: "authorization_code",
        code: yield* obtainCode(authorizeP1),
        redirect_uri: "https://p.example/cb",
        client_id: "p1"
      }
      yield* refused(exchange, "invalid_grant")
      yield* refused({ ...exchange, code_verifier: pkce.verifier.replace("d", "e") }, "invalid_grant")
      yield* refused({ ...exchange, code_verifier: pkce.challenge }, "invalid_grant")
      wellFormed(yield* token({ ...exchange, code_verifier: pkce.verifier, code_challenge_method: "plain" }))
      const plain = exchangeOf(yield* obtainCode(authorizeC1))
      yield* refused({ ...plain, code_verifier: pkce.verifier }, "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("returns different tokens for every exchange", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* obtainTokens, yield* obtainTokens]
      assert.notStrictEqual(one.access_token, other.access_token)
      assert.notStrictEqual(one.refresh_token, other.refresh_token)
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("guessing a client's secret", () => {
  const from = (address: string | null, fields: Fields): ClientRequest => ({ ...bodyOf(fields), address })
  const wrong = (code = "x") => ({ ...exchangeOf(code), client_secret: "wrong" })

  it.effect("is throttled only for that client and address, at every endpoint that accepts secrets", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      const code = yield* obtainCode(authorizeC1)
      for (let failure = 1; failure <= 10; failure++) {
        includes(yield* Effect.flip(send(from("198.51.100.1", wrong()))), { error: "invalid_client" })
      }
      const right = from("198.51.100.1", exchangeOf(code))
      includes(yield* Effect.flip(send(right)), { _tag: "TooManyAttempts", retry_after: 900 })
      const { introspect, revoke } = yield* AuthorizationServer
      const ask = from("198.51.100.1", { ...c1, token: refresh_token })
      includes(yield* Effect.flip(introspect(ask)), { _tag: "TooManyAttempts" })
      includes(yield* Effect.flip(revoke(ask)), { _tag: "TooManyAttempts" })
      // A request that needs no secret reveals nothing about secrets and is not refused.
      yield* send(from("198.51.100.1", refreshOf(refresh_token, "c1")))
      yield* send(from("198.51.100.2", exchangeOf(code)))
      includes(yield* introspect(from("198.51.100.2", { ...c1, token: refresh_token })), { active: true })
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("does not reveal whether a client exists, and refuses no right secret that is sent often", () =>
    Effect.gen(function* () {
      const nobody = from("198.51.100.1", { ...wrong(), client_id: "nobody" })
      for (let failure = 1; failure <= 10; failure++) {
        includes(yield* Effect.flip(send(nobody)), { error: "invalid_client" })
      }
      includes(yield* Effect.flip(send(nobody)), { _tag: "TooManyAttempts" })
      const { introspect } = yield* AuthorizationServer
      yield* Effect.all(
        Array.from({ length: 200 }, () => introspect(from("198.51.100.1", { ...c1, token: "x" }))),
        { concurrency: "unbounded" }
      )
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("client authentication at the token endpoint", () => {
  const withHeader = (fields: Fields, authorization: string): ClientRequest => ({
    parameters: parametersOf(fields),
    authorization,
    address: null,
    issuer
  })

  const refusals: ReadonlyArray<readonly [string, ClientRequest, string]> = [
    ["no parameters at all", bodyOf({}), "invalid_request"],
    ["an empty grant_type", bodyOf({ ...exchangeOf("x"), grant_type: "" }), "invalid_request"],
    ["another grant_type", bodyOf({ ...c1, grant_type: "password" }), "unsupported_grant_type"],
    ["no client", bodyOf({ grant_type: "authorization_code", code: "x" }), "invalid_client"],
    ["an unknown client", bodyOf({ ...exchangeOf("x"), client_id: "nobody" }), "invalid_client"],
    ["a wrong secret", bodyOf({ ...exchangeOf("x"), client_secret: "s2" }), "invalid_client"],
    ["no secret of a client that has one", bodyOf({ ...exchangeOf("x"), client_secret: "" }), "invalid_client"],
    ["a secret of a client that has none", bodyOf({ ...exchangeOf("x"), client_id: "p1" }), "invalid_client"],
    ["a wrong secret by Basic", withHeader({ grant_type: "refresh_token" }, basic("c1", "s2")), "invalid_client"],
    ["Basic without a colon", withHeader({ grant_type: "refresh_token" }, "Basic YzE="), "invalid_client"],
    ["Basic with a broken escape", withHeader({ grant_type: "refresh_token" }, basic("c1", "%zz")), "invalid_client"],
    ["Basic and a secret in the body", withHeader(exchangeOf("x"), basic("c1", "s1")), "invalid_request"],
    ["Basic and another client_id in the body", withHeader(refreshOf("x", "c2"), basic("c1", "s1")), "invalid_request"]
  ]
  it.effect.each(refusals)("refuses %s", ([, request, error]) =>
    Effect.gen(function* () {
      const refusedWith = yield* refusal(request)
      assert.strictEqual(refusedWith.error, error)
      assert.strictEqual(refusedWith.status, error === "invalid_client" ? 401 : 400)
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("returns the same error for an unknown client as for a wrong secret", () =>
    Effect.gen(function* () {
      const unknown = yield* refusal(bodyOf({ ...exchangeOf("x"), client_id: "nobody" }))
      const wrong = yield* refusal(bodyOf({ ...exchangeOf("x"), client_secret: "s2" }))
      assert.strictEqual(unknown.message, wrong.message)
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("accepts form-encoded Basic credentials together with the same client_id in the body", () =>
    Effect.gen(function* () {
      const { client_id: _, client_secret: __, ...fields } = exchangeOf(yield* obtainCode(authorizeC1))
      wellFormed(yield* send(withHeader({ ...fields, client_id: "c1" }, basic("c1", "s1"))))
      const encoded = new URLSearchParams({ c2: "s:2 /+%é" }).toString().replace("=", ":")
      const request = withHeader(refreshOf("x", "c2"), `basic ${Buffer.from(encoded).toString("base64")}`)
      assert.strictEqual((yield* refusal(request)).error, "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("accepts neither a Bearer header as a client nor Basic without a secret as a secret", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      wellFormed(yield* send(withHeader({ ...refreshOf(refresh_token, "c1"), ...c1 }, "Bearer expired")))
      const secretless = withHeader({ grant_type: "refresh_token", refresh_token: "x" }, basic("p1", ""))
      assert.strictEqual((yield* refusal(secretless)).error, "invalid_grant")
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("the limits of tokens", () => {
  const limited = (fields: Fields, retry_after: number) =>
    Effect.map(Effect.flip(token(fields)), (error) => {
      includes(error, { _tag: "TooManyTokens", retry_after })
      assert.include(String(error), "(setting tokenRequestsPerMinute)")
    })

  it.effect("apply to one client, for the rest of the minute, and use up no code", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      yield* TestClock.adjust("20 seconds")
      for (let n = 0; n < 2; n++) yield* token(refreshOf(refresh_token, "c1"))
      yield* limited(refreshOf(refresh_token, "c1"), 40)
      const exchange = exchangeOf(yield* obtainCode(authorizeC1))
      yield* limited(exchange, 40)
      wellFormed(yield* obtainPublicTokens)
      yield* TestClock.adjust("40 seconds")
      wellFormed(yield* token(exchange))
      wellFormed(yield* token(refreshOf(refresh_token, "c1")))
    }).pipe(Effect.provide(testLayer({ tokenRequestsPerMinute: 3 })))
  )

  it.effect("count no refused request, so that knowing a client's id is not enough to block it", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      for (let n = 0; n < 20; n++) {
        yield* refused(refreshOf(`dh_rt_${n}`, "c1"), "invalid_grant")
        yield* refused(refreshOf("", "c1"), "invalid_request")
        yield* refused({ ...refreshOf(refresh_token), ...c1, scope: "admin" }, "invalid_scope")
        yield* refused(exchangeOf(String(n)), "invalid_grant")
      }
      wellFormed(yield* token(refreshOf(refresh_token, "c1")))
    }).pipe(Effect.provide(testLayer({ tokenRequestsPerMinute: 2 })))
  )

  it.effect("apply to each user of a client without a secret, so that no user can block the others", () =>
    Effect.gen(function* () {
      const ours = yield* obtainPublicTokens
      const second = yield* token(refreshOf(ours.refresh_token))
      yield* limited(refreshOf(second.refresh_token), 60)
      wellFormed(yield* token(publicExchangeOf(yield* obtainCode(authorizeP1, tenant))))
    }).pipe(Effect.provide(testLayer({ tokenRequestsPerMinute: 2 })))
  )

  it.effect("don't prevent a replay from revoking its grant", () =>
    Effect.gen(function* () {
      const code = yield* obtainCode(authorizeC1)
      const { access_token } = yield* token(exchangeOf(code))
      yield* refused(exchangeOf(code), "invalid_grant")
      assert.isNull(yield* authenticate(access_token))
    }).pipe(Effect.provide(testLayer({ tokenRequestsPerMinute: 1 })))
  )

  it.effect("are 600 a minute, and 100 access tokens per grant, beyond which the oldest end", () =>
    Effect.gen(function* () {
      const first = yield* obtainTokens
      const issued = [first.access_token]
      for (let n = 0; n < 599; n++) {
        yield* TestClock.adjust(10)
        issued.push((yield* token(refreshOf(first.refresh_token, "c1"))).access_token)
      }
      yield* limited(refreshOf(first.refresh_token, "c1"), 55)
      const living = yield* Effect.forEach(issued, (each) => Effect.map(authenticate(each), (who) => who !== null))
      assert.deepStrictEqual(
        living,
        issued.map((_, n) => n >= 500)
      )
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("can be set", () =>
    Effect.gen(function* () {
      const first = yield* obtainTokens
      for (let n = 0; n < 700; n++) yield* token(refreshOf(first.refresh_token, "c1"))
      assert.isNotNull(yield* authenticate(first.access_token))
    }).pipe(Effect.provide(testLayer({ tokenRequestsPerMinute: null, accessTokensPerGrant: 1_000 })))
  )
})

describe("refreshing", () => {
  it.effect("by a client with a secret does not require the secret, and keeps the refresh token", () =>
    Effect.gen(function* () {
      const first = yield* obtainTokens
      yield* TestClock.adjust("400 days")
      const second = yield* token(refreshOf(first.refresh_token, "c1"))
      wellFormed(second)
      assert.strictEqual(second.refresh_token, first.refresh_token)
      assert.notStrictEqual(second.access_token, first.access_token)
      assert.strictEqual(second.created_at, first.created_at + 400 * 86_400)
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("refuses a wrong secret, and requires the secret if set to", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      yield* refused({ ...refreshOf(refresh_token, "c1"), client_secret: "s2" }, "invalid_client")
      yield* refused(refreshOf(refresh_token, "c1"), "invalid_client")
      wellFormed(yield* token({ ...refreshOf(refresh_token), ...c1 }))
    }).pipe(Effect.provide(testLayer({ refreshRequiresSecret: true })))
  )

  it.effect("refuses a token that is missing, unknown or another client's", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainTokens
      yield* refused(refreshOf("", "c1"), "invalid_request")
      yield* refused(refreshOf("dh_rt_unknown", "c1"), "invalid_grant")
      yield* refused(refreshOf(refresh_token, "p1"), "invalid_grant")
      wellFormed(yield* token(refreshOf(refresh_token, "c1")))
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("refuses a wider scope and leaves the token unused", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainPublicTokens
      yield* refused({ ...refreshOf(refresh_token), scope: "public admin" }, "invalid_scope")
      yield* refused({ ...refreshOf(refresh_token), scope: "public+x" }, "invalid_scope")
      yield* TestClock.adjust("1 hour")
      wellFormed(yield* token({ ...refreshOf(refresh_token), scope: "public" }))
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("can narrow the scope of the access token, but not that of the grant", () =>
    Effect.gen(function* () {
      const { authenticate, introspect } = yield* AuthorizationServer
      const scopesOf = Effect.fnUntraced(function* (accessToken: string) {
        const introspection = yield* introspect(bodyOf({ ...c1, token: accessToken }))
        return [(yield* authenticate(accessToken, unboundOnly))?.scopes, introspection.active && introspection.scope]
      })
      const code = yield* obtainCode({ ...authorizeC1, scope: "doors:open  public doors:open" })
      const first = yield* token(exchangeOf(code))
      assert.strictEqual(first.scope, "doors:open public")
      assert.deepStrictEqual(yield* scopesOf(first.access_token), [["doors:open", "public"], "doors:open public"])
      const again = { ...refreshOf(first.refresh_token), ...c1 }
      const narrowed = yield* token({ ...again, scope: "doors:open" })
      assert.strictEqual(narrowed.scope, "doors:open")
      assert.deepStrictEqual(yield* scopesOf(narrowed.access_token), [["doors:open"], "doors:open"])
      yield* refused({ ...again, scope: "doors:open doors:list" }, "invalid_scope")
      const whole = yield* token(again)
      assert.deepStrictEqual(yield* scopesOf(whole.access_token), [["doors:open", "public"], "doors:open public"])
      const refreshable = yield* introspect(bodyOf({ ...c1, token: whole.refresh_token }))
      includes(refreshable, { active: true, scope: "doors:open public" })
    }).pipe(Effect.provide(testLayer({ scopes: { "doors:open": "Open doors", "doors:list": "List doors" } })))
  )

  it.effect(
    "by a client without a secret rotates the token, and can be repeated within a minute if the answer was lost",
    () =>
      Effect.gen(function* () {
        const first = yield* obtainPublicTokens
        const second = yield* token(refreshOf(first.refresh_token))
        assert.notStrictEqual(second.refresh_token, first.refresh_token)
        yield* TestClock.adjust(59_999)
        const again = yield* token(refreshOf(first.refresh_token))
        for (const { refresh_token } of [second, again]) wellFormed(yield* token(refreshOf(refresh_token)))
      }).pipe(Effect.provide(testLayer()))
  )

  const secondUses: ReadonlyArray<
    readonly [string, (second: UserTokens) => Effect.Effect<unknown, unknown, AuthorizationServer>]
  > = [
    ["refuses an old refresh token after a minute, and revokes its grant", () => TestClock.adjust(60_000)],
    [
      "refuses an old refresh token once the new access token was used, and revokes its grant",
      ({ access_token }) => authenticate(access_token)
    ]
  ]
  it.effect.each(secondUses)("%s", ([, wait]) =>
    Effect.gen(function* () {
      const first = yield* obtainPublicTokens
      const second = yield* token(refreshOf(first.refresh_token))
      yield* wait(second)
      yield* refused(refreshOf(first.refresh_token), "invalid_grant")
      yield* refused(refreshOf(second.refresh_token), "invalid_grant")
      assert.isNull(yield* authenticate(second.access_token))
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("writes a retirement once for many reads with the new access token, and again only if it failed", () => {
    const retired: Array<string> = []
    let fails = true
    const watched = Layer.effect(
      TokenStore,
      Effect.map(TokenStore, (store) => ({
        ...store,
        retireRefreshToken: (hash, now) => {
          retired.push(hash)
          const failure = new StoreError({ operation: "retireRefreshToken", cause: "a fault" })
          return fails ? Effect.fail(failure) : store.retireRefreshToken(hash, now)
        }
      }))
    ).pipe(Layer.provideMerge(Layer.fresh(MemoryStore.layer)))
    return Effect.gen(function* () {
      const first = yield* obtainPublicTokens
      const second = yield* token(refreshOf(first.refresh_token))
      assert.include(String(yield* Effect.flip(authenticate(second.access_token))), "a fault")
      fails = false
      for (let n = 0; n < 50; n++) assert.isNotNull(yield* authenticate(second.access_token))
      assert.lengthOf(retired, 2)
      yield* refused(refreshOf(first.refresh_token), "invalid_grant")
    }).pipe(Effect.provide(testLayer({}, watched)))
  })

  it.effect("rotates for every client, or for none, if set to", () =>
    Effect.gen(function* () {
      const rotated = Effect.gen(function* () {
        const { refresh_token } = yield* obtainTokens
        return (yield* token(refreshOf(refresh_token, "c1"))).refresh_token !== refresh_token
      })
      assert.isTrue(yield* rotated.pipe(Effect.provide(testLayer({ refreshRotation: "always" }))))
      assert.isFalse(yield* rotated.pipe(Effect.provide(testLayer({ refreshRotation: "never" }))))
    })
  )

  it.effect("twenty times concurrently returns twenty valid access tokens", () =>
    Effect.gen(function* () {
      for (const { client, tokens } of [
        { client: "c1", tokens: yield* obtainTokens },
        { client: "p1", tokens: yield* obtainPublicTokens }
      ]) {
        const responses = yield* Effect.all(
          Array.from({ length: 20 }, () => token(refreshOf(tokens.refresh_token, client))),
          { concurrency: "unbounded" }
        )
        for (const { access_token } of responses) assert.isNotNull(yield* authenticate(access_token))
      }
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("does not lock out twenty workers that refresh one token and use their new tokens immediately", () =>
    Effect.gen(function* () {
      const { refresh_token } = yield* obtainPublicTokens
      // Three workers get their tokens first, and use them while the others refresh.
      const early = yield* Effect.all(
        Array.from({ length: 3 }, () => token(refreshOf(refresh_token))),
        { concurrency: "unbounded" }
      )
      const worker = (issued: UserTokens) => Effect.as(authenticate(issued.access_token), issued)
      const workers = [
        ...early.map(worker),
        ...Array.from({ length: 17 }, () => Effect.flatMap(token(refreshOf(refresh_token)), worker))
      ]
      const issued = yield* Effect.all(workers, { concurrency: "unbounded" })
      for (const { access_token } of issued) assert.isNotNull(yield* authenticate(access_token))
      // After the burst, using the refresh token again revokes the grant, whether or not an access token was used
      // since.
      yield* TestClock.adjust("9999 millis")
      const last = yield* token(refreshOf(refresh_token))
      yield* TestClock.adjust("10 seconds")
      assert.isNotNull(yield* authenticate(last.access_token))
      yield* refused(refreshOf(refresh_token), "invalid_grant")
      for (const { access_token } of issued) assert.isNull(yield* authenticate(access_token))
    }).pipe(Effect.provide(testLayer()))
  )

  const { clients } = directoryValue
  it.effect.each([
    [
      "is refused if the client no longer exists, and so is the access token",
      { clients: clients.filter(({ id }) => id !== "c1") },
      "invalid_client"
    ],
    ["is refused if the user no longer exists, and so is the access token", { users: [] }, "invalid_grant"]
  ] as const)("%s", ([, left, error]) =>
    Effect.gen(function* () {
      const { access_token, refresh_token } = yield* obtainTokens
      const code = yield* obtainCode(authorizeC1)
      const directory = yield* DocumentDirectory
      yield* directory.replace(readDirectory({ ...directoryValue, ...left }))
      yield* refused(refreshOf(refresh_token, "c1"), error)
      yield* refused(exchangeOf(code), error)
      assert.isNull(yield* authenticate(access_token))
      yield* directory.replace(readDirectory(directoryValue))
      assert.isNotNull(yield* authenticate(access_token))
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("using an access token", () => {
  it.effect("works until exactly 86400 seconds after created_at", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_900)
      const { access_token, created_at } = yield* obtainTokens
      yield* TestClock.setTime((created_at + 86_400) * 1_000 - 1)
      assert.isNotNull(yield* authenticate(access_token))
      yield* TestClock.setTime((created_at + 86_400) * 1_000)
      assert.isNull(yield* authenticate(access_token))
    }).pipe(Effect.provide(testLayer()))
  )
})
