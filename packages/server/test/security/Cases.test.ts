/**
 * The usual test cases for authorization servers and integration APIs that no other file tests.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  authorizeC1,
  Browser,
  exchangeOf,
  multipart,
  obtainCode,
  pkce,
  post,
  redirectUri,
  sharedServer
} from "../oauth/OAuthServer.ts"
import { call, document, onServer } from "../TestServer.ts"

const server = sharedServer()

const collection = "/v4/buildings/1/integrations"
const tokenUrl = () => `${server.url}/oauth/token`

/** The status and error code of an answer of the token endpoint. */
const outcome = async (fields: Readonly<Record<string, string>>) => {
  const reply = await post(tokenUrl(), multipart(fields))
  return [reply.status, reply.textAt("error")]
}

describe("the authorization server", () => {
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
  ])("a redirect URI that differs in anything is refused on a page: %j", async (uri) => {
    const { headers, status, text } = await new Browser(server.url).authorize({ ...authorizeC1, redirect_uri: uri })
    assert.deepStrictEqual([status, headers.get("location")], [400, null])
    assert.notInclude(text, "evil.example")
  })

  it.each(["token", "code token", "id_token", "none", "CODE"])("no response type but code: %s", async (type) => {
    const { headers } = await new Browser(server.url).authorize({ ...authorizeC1, response_type: type })
    const location = new URL(headers.get("location") ?? "")
    assert.strictEqual(location.searchParams.get("error"), "unsupported_response_type")
  })

  it.each(["x".repeat(42), "x".repeat(129), `${"x".repeat(42)}+`, `${"x".repeat(42)}=`])(
    "a challenge is 43 characters of base64url: %s",
    async (code_challenge) => {
      const fields = { ...authorizeC1, code_challenge, code_challenge_method: "S256" }
      const { headers } = await new Browser(server.url).authorize(fields)
      const location = new URL(headers.get("location") ?? "")
      assert.strictEqual(location.searchParams.get("error"), "invalid_request")
    }
  )

  it("a redirect URI of the authorize step is required again", async () => {
    const { redirect_uri: _, ...rest } = exchangeOf(await obtainCode(server.url))
    const [status, error] = await outcome(rest)
    assert.strictEqual(status, 400)
    assert.include(["invalid_request", "invalid_grant"], error)
  })

  it("a challenge method is ignored at the token endpoint", async () => {
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: "S256" }
    const code = await obtainCode(server.url, { ...authorizeC1, ...challenge })
    const plain = { ...exchangeOf(code), code_challenge_method: "plain" }
    assert.deepStrictEqual(await outcome({ ...plain, code_verifier: pkce.challenge }), [400, "invalid_grant"])
    assert.deepStrictEqual(await outcome({ ...plain, code_verifier: pkce.verifier }), [200, ""])
  })

  it("a refresh may request only the granted scope", async () => {
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

describe("integrations", () => {
  onServer("the same PUT twice leaves the same integration", function* () {
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
  })

  onServer("a deleted integration is gone, for every method", function* () {
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
  })
})
