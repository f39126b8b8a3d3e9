/**
 * The usual test cases for authorization servers and integration APIs, by id. The table says where each case is tested.
 * Cases without a test elsewhere are tested in this file.
 *
 * The ids begin with A for the authorize step, T for the token endpoint, R for refreshing, V for revocation,
 * introspection and metadata, B for bearer tokens at the API, and I for integrations.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  authorizeC1,
  Browser,
  exchangeOf,
  multipart,
  obtainCode,
  pkce,
  post,
  redirectUri,
  startServer
} from "../oauth/OAuthServer.ts"
import { call, document, testServer } from "../TestServer.ts"
import { missing } from "./NamedTests.ts"
import type { NamedTest } from "./NamedTests.ts"

const authorize = "packages/server/test/oauth/AuthorizeEndpoint.test.ts"
const checks = "packages/core/test/oauth/AuthorizeRequest.test.ts"
const token = "packages/server/test/oauth/TokenEndpoint.test.ts"
const grants = "packages/core/test/oauth/TokenGrants.test.ts"
const introspection = "packages/core/test/oauth/Introspection.test.ts"
const bearer = "packages/server/test/api/BearerToken.test.ts"
const integrations = "packages/server/test/api/Integrations.test.ts"
const wrong = "packages/server/test/api/WrongInput.test.ts"
const mediaTypes = "packages/server/test/api/MediaTypes.test.ts"
const lists = "packages/server/test/api/Lists.test.ts"
const races = "packages/doorhook/test/oauth/Races.test.ts"
const own = "packages/server/test/security/Cases.test.ts"

const cases: Readonly<Record<string, ReadonlyArray<NamedTest>>> = {
  A1: [[authorize, "can't be framed, cached or named as a referrer"]],
  A3: [[authorize, "an unknown client"]],
  A5: [[own, "A5: a redirect URI that differs in anything is refused on a page"]],
  A7: [[authorize, "no redirect_uri of a client that is not out of band"]],
  A9: [[own, "A9: no response type but code"]],
  A11: [[authorize, "get an error page if the client is not identified"]],
  A13: [
    [authorize, "redirects the browser with a code, the unchanged state, and the issuer"],
    [checks, "returns any state unchanged"]
  ],
  A15: [[authorize, 'foo: "1", prompt: "login"']],
  A17: [[own, "A17: a challenge is 43 characters of base64url"]],
  A19: [
    [authorize, "is checked, and removed before a page is shown"],
    ["packages/server/test/oauth/Privacy.test.ts", "contain no secret, code, token, password or query"]
  ],
  A21: [[authorize, "is checked, and removed before a page is shown"]],
  A23: [[authorize, "gives the same answer to an unknown login and a wrong password"]],
  A25: [[authorize, "can be denied: the client gets the error"]],
  A27: [[authorize, "a bad scope out of band"]],
  A29: [[authorize, "names the client, its request and the user's destination, all escaped"]],
  A31: [[authorize, "is slowed down after ten failures"]],
  T1: [[token, "accepts a multipart form, as in the interface document"]],
  T3: [["packages/doorhook/test/oauth/SimpleOauth2.test.ts", "gets, uses, refreshes and revokes tokens with %s"]],
  T5: [[token, "an empty form"]],
  T7: [[token, "no grant_type"]],
  T9: [[token, "refuses %s twice, in both kinds of form"]],
  T11: [[token, "a wrong secret"]],
  T13: [
    [token, "accepts Basic, form-encoded"],
    ["packages/doorhook/test/oauth/Oauth4webapi.test.ts", "an odd id and secret by Basic"]
  ],
  T15: [[token, "refuses credentials in two places"]],
  T17: [[grants, "accepts form-encoded Basic credentials together with the same client_id in the body"]],
  T19: [[token, "no secret"]],
  T21: [[token, "and ignores a Bearer header"]],
  T23: [[grants, "accepts a code for less than ten minutes after the login"]],
  T25: [
    [grants, "accepts a code once: the second use revokes everything issued for it"],
    [races, "gets tokens from one of twenty exchanges of a code, and the other exchanges revoke them"]
  ],
  T27: [[grants, "refuses a code that is unknown, another client's, or bound to another redirect URI"]],
  T29: [[own, "T29: a redirect URI of the authorize step is required again"]],
  T31: [["packages/core/test/oauth/AuthorizeRequest.test.ts", "accepts the test vector of RFC 7636 appendix B"]],
  T33: [[grants, "requires the verifier of a challenge, and refuses a verifier without a challenge"]],
  T35: [[checks, "accepts no other verifier, not even the challenge itself"]],
  T37: [[own, "T37: a challenge method is ignored at the token endpoint"]],
  T39: [[token, "refuses bodies above 64 KiB and continues"]],
  T41: [[token, "a client is told whether to try again, and nothing internal"]],
  T43: [
    [grants, "returns different tokens for every exchange"],
    [token, "accepts a multipart form, as in the interface document"]
  ],
  R1: [[token, "refreshes with only the parameters of the document"]],
  R3: [
    [grants, "refuses a token that is missing, unknown or another client's"],
    [grants, "returns access and refresh tokens that can't replace each other"]
  ],
  R5: [[own, "R5: a refresh may request only the granted scope"]],
  R7: [
    [
      grants,
      "by a client without a secret rotates the token, and can be repeated within a minute if the answer was lost"
    ]
  ],
  R9: [[races, "can refresh twenty times concurrently, and each response stays valid"]],
  R11: [[grants, "is refused if the user no longer exists, and so is the access token"]],
  R13: [[grants, "works after expired tokens were purged"]],
  V1: [[token, "ends an access token immediately, and answers any token with JSON"]],
  V3: [
    [token, "ends an access token immediately, and answers any token with JSON"],
    [introspection, "an unknown token is not an error, not even twice"]
  ],
  V5: [[token, "requires an authenticated client and a token"]],
  V7: [
    [introspection, "describes an active token, with times in whole seconds"],
    [introspection, "only reports inactive for a token that is revoked, expired, another client's or unknown"]
  ],
  B1: [[bearer, "are requested by a challenge, which has an error only if a token was sent"]],
  B3: [[grants, "works until exactly 86400 seconds after created_at"]],
  B5: [[bearer, "are read only from the header, whatever the case of the scheme"]],
  B7: [[bearer, "are checked before anything else in the request"]],
  I1: [[integrations, "show the signing secret once and never again"]],
  I3: [[mediaTypes, "of bodies are the two JSON types, without parameters that change their meaning"]],
  I5: [[mediaTypes, "of answers are negotiated"]],
  I7: [[wrong, "is reported by status, code and a pointer into the request, and changes nothing"]],
  I9: [[wrong, "is reported by status, code and a pointer into the request, and changes nothing"]],
  I11: [[wrong, "is reported by status, code and a pointer into the request, and changes nothing"]],
  I13: [[wrong, "is reported by status, code and a pointer into the request, and changes nothing"]],
  I15: [[wrong, "is reported with all its problems in one answer"]],
  I17: [[lists, "are empty at first"]],
  I19: [[wrong, "in a path gets 404"]],
  I21: [[integrations, "keep their secret when they change"]],
  I23: [[wrong, "with an id in the document is refused, unless it is the id in the path"]],
  I25: [[own, "I25: the same PUT twice leaves the same integration"]],
  I27: [[own, "I27: a deleted integration is gone, for every method"]],
  I29: [[lists, "are paginated in the order of creation, in both styles"]],
  I31: [[wrong, "in a query is refused with the parameter's name"]],
  I33: [[integrations, "change only if their version matches If-Match"]],
  I35: [[integrations, "show the signing secret once and never again"]],
  I37: [
    [
      "packages/server/test/security/Fuzz.test.ts",
      "to the API and the operator API get regular answers that reveal nothing internal"
    ]
  ]
}

let server: Awaited<ReturnType<typeof startServer>>
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const collection = "/v4/buildings/1/integrations"
const tokenUrl = () => `${server.url}/oauth/token`

/** The status and error code of an answer of the token endpoint. */
const outcome = async (fields: Readonly<Record<string, string>>) => {
  const reply = await post(tokenUrl(), multipart(fields))
  return [reply.status, reply.textAt("error")]
}

describe("cases", () => {
  it("are each tested where the table says", () => {
    assert.deepStrictEqual(missing(Object.values(cases).flat()), [])
  })

  it.each([
    "https://client.example:443/cb",
    "https://CLIENT.example/cb",
    "https://client.example/cb/",
    "https://client.example/cb?x=1",
    "https://client.example/cb#f",
    "https://client.example/cb/../cb",
    "http://client.example/cb",
    "https://u@client.example/cb",
    "https://client.example/%63b",
    "https://client.example.evil.example/cb",
    "https://client.example\\@evil.example/cb",
    "//client.example/cb",
    "/cb",
    "javascript:alert(1)",
    " https://client.example/cb",
    "https://client.example/cb\u0000"
  ])("A5: a redirect URI that differs in anything is refused on a page: %j", async (uri) => {
    const { headers, status, text } = await new Browser(server.url).authorize({ ...authorizeC1, redirect_uri: uri })
    assert.deepStrictEqual([status, headers.get("location")], [400, null])
    assert.notInclude(text, "evil.example")
  })

  it.each(["token", "code token", "id_token", "none", "CODE"])("A9: no response type but code: %s", async (type) => {
    const { headers } = await new Browser(server.url).authorize({ ...authorizeC1, response_type: type })
    const location = new URL(headers.get("location") ?? "")
    assert.strictEqual(location.searchParams.get("error"), "unsupported_response_type")
  })

  it.each(["x".repeat(42), "x".repeat(129), `${"x".repeat(42)}+`, `${"x".repeat(42)}=`])(
    "A17: a challenge is 43 characters of base64url: %s",
    async (code_challenge) => {
      const fields = { ...authorizeC1, code_challenge, code_challenge_method: "S256" }
      const { headers } = await new Browser(server.url).authorize(fields)
      const location = new URL(headers.get("location") ?? "")
      assert.strictEqual(location.searchParams.get("error"), "invalid_request")
    }
  )

  it("T29: a redirect URI of the authorize step is required again", async () => {
    const { redirect_uri: _, ...rest } = exchangeOf(await obtainCode(server.url))
    const [status, error] = await outcome(rest)
    assert.strictEqual(status, 400)
    assert.include(["invalid_request", "invalid_grant"], error)
  })

  it("T37: a challenge method is ignored at the token endpoint", async () => {
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: "S256" }
    const code = await obtainCode(server.url, { ...authorizeC1, ...challenge })
    const plain = { ...exchangeOf(code), code_challenge_method: "plain" }
    assert.deepStrictEqual(await outcome({ ...plain, code_verifier: pkce.challenge }), [400, "invalid_grant"])
    assert.deepStrictEqual(await outcome({ ...plain, code_verifier: pkce.verifier }), [200, ""])
  })

  it("R5: a refresh may request only the granted scope", async () => {
    const tokens = await post(tokenUrl(), multipart(exchangeOf(await obtainCode(server.url))))
    const refresh = (scope: string) =>
      outcome({ grant_type: "refresh_token", client_id: "c1", refresh_token: tokens.textAt("refresh_token"), scope })
    for (const scope of ["admin", "public admin", "public+x", "PUBLIC"]) {
      assert.deepStrictEqual(await refresh(scope), [400, "invalid_scope"], scope)
    }
    assert.deepStrictEqual(await refresh("public"), [200, ""])
  })

  it("a code can't be obtained twice through another redirect URI of the client", async () => {
    const code = await obtainCode(server.url, { ...authorizeC1, redirect_uri: redirectUri })
    assert.deepStrictEqual(await outcome({ ...exchangeOf(code), redirect_uri: "urn:ietf:wg:oauth:2.0:oob" }), [
      400,
      "invalid_grant"
    ])
  })
})

describe("cases of integrations", () => {
  it.effect("I25: the same PUT twice leaves the same integration", () =>
    Effect.gen(function* () {
      const created = yield* call("POST", collection, { as: "admin", body: document() })
      const one = `${collection}/${created.textAt("/data/id")}`
      const body = document({ bindings: [{ resource_type: "call", actions: ["create"] }] })
      const first = yield* call("PUT", one, { as: "admin", body })
      const second = yield* call("PUT", one, { as: "admin", body })
      assert.deepStrictEqual([first.status, second.status], [200, 200])
      const stated = ({ at }: typeof first) => [
        at("/data/id"),
        at("/data/attributes/bindings"),
        at("/data/relationships")
      ]
      assert.deepStrictEqual(stated(second), stated(first))
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("I27: a deleted integration is gone, for every method", () =>
    Effect.gen(function* () {
      const created = yield* call("POST", collection, { as: "admin", body: document() })
      const one = `${collection}/${created.textAt("/data/id")}`
      const removed = yield* call("DELETE", one, { as: "admin" })
      assert.deepStrictEqual([removed.status, removed.text], [204, ""])
      for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
        const body = method === "PUT" || method === "PATCH" ? { body: document() } : {}
        assert.strictEqual((yield* call(method, one, { as: "admin", ...body })).status, 404, method)
      }
      assert.strictEqual((yield* call("POST", `${one}/rotate_secret`, { as: "admin" })).status, 404)
      assert.deepStrictEqual((yield* call("GET", collection, { as: "admin" })).at("/data"), [])
    }).pipe(Effect.provide(testServer()))
  )
})
