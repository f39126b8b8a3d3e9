import { AuthorizationServer, Crypto, denied, outOfBandUri, Parameters } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import * as AuthorizationRequest from "../../src/oauth/AuthorizationRequest.ts"
import { makeSecrets } from "../../src/oauth/Secrets.ts"
import {
  authorizeC1,
  authorizeP1,
  checked,
  issuer,
  parametersOf,
  pkce,
  redirectUri,
  testLayer,
  includes
} from "./fixtures.ts"

const from = (address: string | null = null) => ({ address, issuer })

const check = (fields: Readonly<Record<string, string>>, settings = {}) =>
  Effect.flatMap(AuthorizationServer, (service) => service.checkAuthorize(parametersOf(fields), from())).pipe(
    Effect.provide(testLayer(settings))
  )

const without = (fields: Readonly<Record<string, string>>, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name))

describe("checkAuthorize", () => {
  it.effect("accepts a request with only the required parameters", () =>
    Effect.gen(function* () {
      const result = yield* check(authorizeC1)
      includes(result, { _tag: "Valid" })
    })
  )

  it.effect("defaults to the out-of-band URI for clients that are registered for it, and only for them", () =>
    Effect.gen(function* () {
      const request = yield* checked({ client_id: "c1", response_type: "code" }).pipe(Effect.provide(testLayer()))
      assert.strictEqual(request.redirect_uri, outOfBandUri)
      assert.isFalse(request.redirect_uri_given)
      includes(yield* check({ client_id: "c2", response_type: "code" }), { _tag: "Page", status: 400 })
    })
  )

  const pages: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, number]> = [
    ["no client_id", without(authorizeC1, "client_id"), 400],
    ["an unknown client", { ...authorizeC1, client_id: "nobody" }, 400],
    ["a client_id of another case", { ...authorizeC1, client_id: "C1" }, 400],
    ["a redirect_uri that is not registered", { ...authorizeC1, redirect_uri: "https://evil.example/cb" }, 400],
    ["a wrong client_secret", { ...authorizeC1, client_secret: "s2" }, 401],
    ["a client_secret for a client that has none", { ...authorizeP1, client_secret: "s1" }, 401],
    // An out-of-band request has no redirect target, so any problem is shown on a page.
    ["a bad scope out of band", { ...authorizeC1, redirect_uri: outOfBandUri, scope: "admin" }, 400]
  ]
  it.effect.each(pages)("shows a page for %s", ([, fields, status]) =>
    Effect.gen(function* () {
      includes(yield* check(fields), { _tag: "Page", status })
    })
  )

  const redirects: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, string]> = [
    ["no response_type", without(authorizeC1, "response_type"), "invalid_request"],
    ["response_type token", { ...authorizeC1, response_type: "token" }, "unsupported_response_type"],
    ["response_type code token", { ...authorizeC1, response_type: "code token" }, "unsupported_response_type"],
    ["an unknown scope", { ...authorizeC1, scope: "public admin" }, "invalid_scope"],
    ["no challenge of a public client", without(authorizeP1, "code_challenge"), "invalid_request"],
    [
      "no PKCE of a public client",
      { ...authorizeC1, client_id: "p1", redirect_uri: "https://p.example/cb" },
      "invalid_request"
    ],
    ["plain PKCE", { ...authorizeP1, code_challenge_method: "plain" }, "invalid_request"],
    [
      "a challenge without a method, which would be plain",
      without(authorizeP1, "code_challenge_method"),
      "invalid_request"
    ],
    ["a challenge of 42 characters", { ...authorizeP1, code_challenge: "a".repeat(42) }, "invalid_request"],
    ["a challenge of 129 characters", { ...authorizeP1, code_challenge: "a".repeat(129) }, "invalid_request"],
    ["a challenge with a +", { ...authorizeP1, code_challenge: `${"a".repeat(42)}+` }, "invalid_request"]
  ]
  it.effect.each(redirects)("redirects with an error for %s", ([, fields, error]) =>
    Effect.gen(function* () {
      const result = yield* check({ ...fields, state: "s" })
      includes(result, { _tag: "Redirect", error, state: "s", redirect_uri: fields["redirect_uri"] })
    })
  )

  it.effect("accepts the right client_secret and a known scope, and ignores unknown parameters", () =>
    Effect.gen(function* () {
      const extras = { client_secret: "s1", scope: "public", foo: "1", nonce: "x", prompt: "login" }
      includes(yield* check({ ...authorizeC1, ...extras }), { _tag: "Valid" })
    })
  )

  it.effect("accepts an unknown scope if settings ignore it, and grants the known one", () =>
    Effect.gen(function* () {
      const fields = { ...authorizeC1, scope: "openid profile" }
      const request = yield* checked(fields).pipe(Effect.provide(testLayer({ unknownScope: "ignore" })))
      assert.strictEqual(request.scope, "public")
    })
  )

  it.effect("counts a parameter without a value as absent", () =>
    Effect.gen(function* () {
      const request = yield* checked({ ...authorizeC1, state: "", scope: "", code_challenge: "" }).pipe(
        Effect.provide(testLayer())
      )
      assert.isNull(request.state)
      assert.isNull(request.code_challenge)
    })
  )

  it.effect("refuses repeated parameters: on a page if they identify the client, otherwise by a redirect", () =>
    Effect.gen(function* () {
      const twice = (name: string) =>
        Effect.flatMap(AuthorizationServer, (service) =>
          service.checkAuthorize(
            Parameters.fromPairs([...Object.entries({ ...authorizeC1, state: "s", audience: "r" }), [name, "x"]]),
            from()
          )
        ).pipe(Effect.provide(testLayer()))
      includes(yield* twice("client_id"), { _tag: "Page" })
      includes(yield* twice("redirect_uri"), { _tag: "Page" })
      includes(yield* twice("response_type"), { _tag: "Redirect", error: "invalid_request", state: "s" })
      includes(yield* twice("audience"), { _tag: "Valid" })
      // No state is returned, because the request contains two different states.
      includes(yield* twice("state"), { _tag: "Redirect", error: "invalid_request", state: null })
    })
  )

  it.effect(
    "throttles guesses of the client's secret by address, and accepts requests without a secret as before",
    () =>
      Effect.gen(function* () {
        const { checkAuthorize } = yield* AuthorizationServer
        const withSecret = (client_secret: string) => parametersOf({ ...authorizeC1, client_secret })
        for (let failure = 1; failure <= 10; failure++) {
          includes(yield* checkAuthorize(withSecret("s2"), from("192.0.2.1")), { _tag: "Page", status: 401 })
        }
        assert.deepStrictEqual(yield* checkAuthorize(withSecret("s1"), from("192.0.2.1")), {
          _tag: "Throttled",
          retry_after: 900
        })
        includes(yield* checkAuthorize(withSecret("s1"), from("192.0.2.2")), { _tag: "Valid" })
        includes(yield* checkAuthorize(parametersOf(authorizeC1), from("192.0.2.1")), { _tag: "Valid" })
      }).pipe(Effect.provide(testLayer()))
  )

  it("returns any state unchanged", async () => {
    // A form turns bytes that are not UTF-8 into U+FFFD, so a state with that character is refused.
    const unchanged = fc.string({ unit: "grapheme", minLength: 1 }).filter((state) => !state.includes("\ufffd"))
    await fc.assert(
      fc.asyncProperty(unchanged, async (state) => {
        const request = await Effect.runPromise(checked({ ...authorizeC1, state }).pipe(Effect.provide(testLayer())))
        assert.strictEqual(request.state, state)
      }),
      { numRuns: 50 }
    )
  })

  it.effect("reports denied access to the client, or to the user if there is no redirect", () =>
    Effect.gen(function* () {
      const request = yield* checked({ ...authorizeC1, state: "s" })
      includes(denied(request), { _tag: "Redirect", error: "access_denied", redirect_uri: redirectUri })
      includes(denied(yield* checked({ ...authorizeC1, redirect_uri: outOfBandUri })), { _tag: "Page" })
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("Pkce", () => {
  const verifies = (verifier: string, challenge: string) =>
    Crypto.use((crypto) => AuthorizationRequest.verifies(makeSecrets(crypto), verifier, challenge)).pipe(
      Effect.provide(Crypto.layerWebCrypto),
      Effect.runPromise
    )

  it("accepts the test vector of RFC 7636 appendix B", async () => {
    assert.isTrue(AuthorizationRequest.isChallenge(pkce.challenge))
    assert.isTrue(await verifies(pkce.verifier, pkce.challenge))
  })

  it("accepts no other verifier, not even the challenge itself", async () => {
    assert.isFalse(await verifies(pkce.challenge, pkce.challenge))
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9._~-]{43,128}$/), async (verifier) => {
        assert.strictEqual(await verifies(verifier, pkce.challenge), verifier === pkce.verifier)
      }),
      { numRuns: 100 }
    )
  })

  it("refuses a verifier that is too easy to guess, even with its challenge", async () => {
    const short = "a".repeat(42)
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(short))
    assert.isFalse(await verifies(short, Buffer.from(digest).toString("base64url")))
  })
})
