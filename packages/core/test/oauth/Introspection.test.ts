import { AuthorizationServer, unboundOnly } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { bodyOf, c1, obtainPublicTokens, obtainTokens, refreshOf, testLayer, includes } from "./fixtures.ts"

type Fields = Readonly<Record<string, string>>

const service = <A, E>(use: (service: AuthorizationServer["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(AuthorizationServer, use)
const authenticate = (token: string) => service(({ authenticate }) => authenticate(token, unboundOnly))
const revoke = (fields: Fields) => service(({ revoke }) => revoke(bodyOf(fields)))
const introspect = (fields: Fields) => service(({ introspect }) => introspect(bodyOf(fields)))
const refresh = (token: string, client: string) => service(({ token: send }) => send(bodyOf(refreshOf(token, client))))

const c2 = { client_id: "c2", client_secret: "s:2 /+%é" }

describe("revoking", () => {
  it.effect("an access token ends only that token", () =>
    Effect.gen(function* () {
      const { access_token, refresh_token } = yield* obtainTokens
      const sibling = yield* refresh(refresh_token, "c1")
      yield* revoke({ ...c1, token: access_token, token_type_hint: "refresh_token" })
      assert.isNull(yield* authenticate(access_token))
      assert.isNotNull(yield* authenticate(sibling.access_token))
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("a refresh token ends its whole grant", () =>
    Effect.gen(function* () {
      const { access_token, refresh_token } = yield* obtainPublicTokens
      yield* revoke({ client_id: "p1", token: refresh_token, token_type_hint: "nonsense" })
      assert.isNull(yield* authenticate(access_token))
      includes(yield* Effect.flip(refresh(refresh_token, "p1")), { error: "invalid_grant" })
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("an unknown token is not an error, not even twice", () =>
    Effect.gen(function* () {
      const { access_token } = yield* obtainTokens
      for (const token of ["unknown", access_token, access_token]) yield* revoke({ ...c1, token })
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("requires a token and the client it was issued to", () =>
    Effect.gen(function* () {
      const { access_token, refresh_token } = yield* obtainTokens
      for (const token of [access_token, refresh_token]) {
        includes(yield* Effect.flip(revoke({ ...c2, token })), { error: "invalid_grant" })
        includes(yield* Effect.flip(revoke({ client_id: "c1", token })), { error: "invalid_client" })
        includes(yield* Effect.flip(revoke({ token })), { error: "invalid_client" })
      }
      includes(yield* Effect.flip(revoke(c1)), { error: "invalid_request" })
      assert.isNotNull(yield* authenticate(access_token))
      yield* refresh(refresh_token, "c1")
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("introspecting", () => {
  it.effect("describes an active token, with times in whole seconds", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_900)
      const { access_token, refresh_token } = yield* obtainTokens
      const known = { active: true, scope: "public", client_id: "c1", sub: "admin@example.com", iat: 1_700_000_000 }
      assert.deepStrictEqual<unknown>(yield* introspect({ ...c1, token: access_token }), {
        ...known,
        token_type: "Bearer",
        exp: 1_700_086_400
      })
      assert.deepStrictEqual<unknown>(yield* introspect({ ...c1, token: refresh_token }), known)
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("only reports inactive for a token that is revoked, expired, another client's or unknown", () =>
    Effect.gen(function* () {
      const inactive = Effect.fnUntraced(function* (fields: Fields) {
        assert.deepStrictEqual<unknown>(yield* introspect(fields), { active: false })
      })
      const { access_token, refresh_token } = yield* obtainTokens
      yield* inactive({ ...c2, token: access_token })
      yield* inactive({ ...c1, token: "unknown" })
      yield* TestClock.adjust("1 day")
      yield* inactive({ ...c1, token: access_token })
      yield* revoke({ ...c1, token: refresh_token })
      yield* inactive({ ...c1, token: refresh_token })
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("reports a refresh token as inactive once the use of its successor has retired it", () =>
    Effect.gen(function* () {
      const first = yield* obtainTokens
      const second = yield* refresh(first.refresh_token, "c1")
      includes(yield* introspect({ ...c1, token: first.refresh_token }), { active: true })
      yield* authenticate(second.access_token)
      includes(yield* introspect({ ...c1, token: first.refresh_token }), { active: false })
      includes(yield* introspect({ ...c1, token: second.refresh_token ?? "" }), { active: true })
    }).pipe(Effect.provide(testLayer({ refreshRotation: "always" })))
  )

  it.effect("is only for clients that authenticate", () =>
    Effect.gen(function* () {
      const { access_token } = yield* obtainPublicTokens
      for (const fields of [{}, { client_id: "p1" }, { client_id: "c1" }, { ...c1, client_secret: "s2" }]) {
        const error = yield* Effect.flip(introspect({ ...fields, token: access_token }))
        includes(error, { error: "invalid_client" })
      }
    }).pipe(Effect.provide(testLayer()))
  )

  it.effect("does not count as a use of the token, and retires nothing", () =>
    Effect.gen(function* () {
      const first = yield* obtainTokens
      const second = yield* refresh(first.refresh_token, "c1")
      yield* introspect({ ...c1, token: second.access_token })
      yield* refresh(first.refresh_token, "c1")
    }).pipe(Effect.provide(testLayer({ refreshRotation: "always" })))
  )
})
