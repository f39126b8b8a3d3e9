import { AddressPolicy } from "@doorhook/core"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as oauth from "oauth4webapi"
import {
  admin,
  authorizeC1,
  Browser,
  exchangeOf,
  multipart,
  obtainCode,
  post,
  secretOfC1,
  startServer
} from "./OAuthServer.ts"

let server: Awaited<ReturnType<typeof startServer>>
// Starts a new server per test, so that failures in one test do not count in the next.
beforeEach(async () => {
  server = await startServer({ http: { trustedProxies: Option.toArray(AddressPolicy.parseNetwork("127.0.0.1")) } })
})

const from = (address: string) => ({ "x-forwarded-for": address })
const attacker = from("198.51.100.1")
const guesses = Array.from({ length: 10 }, (_, n) => `guess ${n}`)
const basic = (secret: string) => ({ authorization: `Basic ${btoa(`c1:${encodeURIComponent(secret)}`)}` })

describe("guessing a client's secret", () => {
  it("is refused with 429 at every endpoint, but only from the guesser's address", async () => {
    const code = await obtainCode(server.url)
    const token = { token: "dh_at_x" }
    const send = (path: string, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
      post(`${server.url}/oauth/${path}`, multipart(fields), headers)
    for (const [n, client_secret] of guesses.entries()) {
      const answer = await (n % 3 === 0
        ? send("token", { ...exchangeOf(code), client_secret }, attacker)
        : n % 3 === 1
          ? send("revoke", { ...token, client_id: "c1", client_secret }, attacker)
          : send("introspect", token, { ...attacker, ...basic(client_secret) }))
      assert.deepStrictEqual([answer.status, answer.textAt("error")], [401, "invalid_client"])
    }
    const right = { client_id: "c1", client_secret: secretOfC1 }
    for (const refused of [
      await send("token", exchangeOf(code), attacker),
      await send("revoke", { ...token, ...right }, attacker),
      await send("introspect", token, { ...attacker, ...basic(secretOfC1) })
    ]) {
      assert.deepStrictEqual([refused.status, refused.textAt("error")], [429, "temporarily_unavailable"])
      assert.match(refused.headers.get("retry-after") ?? "", /^(?:900|89\d)$/)
      assert.isNull(refused.headers.get("www-authenticate"))
      assert.strictEqual(refused.headers.get("cache-control"), "no-store")
      assert.match(refused.textAt("error_description"), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    }
    const elsewhere = await send("token", exchangeOf(code), from("198.51.100.2"))
    assert.strictEqual(elsewhere.status, 200)
    // The documented refresh request has no secret, so it does not count as a guess.
    const refresh = {
      grant_type: "refresh_token",
      client_id: "c1",
      refresh_token: elsewhere.textAt("refresh_token")
    }
    assert.strictEqual((await send("token", refresh, attacker)).status, 200)
  })

  it("is reported in a format that client libraries understand", async () => {
    const client = { client_id: "c1" }
    const issuer = { issuer: server.url, token_endpoint: `${server.url}/oauth/token` }
    const options = { [oauth.allowInsecureRequests]: true, headers: attacker }
    const ask = async (secret: string) => {
      const parameters = oauth.validateAuthResponse(issuer, client, new URLSearchParams({ code: "x", iss: server.url }))
      const answer = await oauth.authorizationCodeGrantRequest(
        issuer,
        client,
        oauth.ClientSecretPost(secret),
        parameters,
        "https://client.example/cb",
        oauth.nopkce,
        options
      )
      return oauth.processAuthorizationCodeResponse(issuer, client, answer).catch((error: unknown) => error)
    }
    for (const guess of guesses) await ask(guess)
    const error = await ask(secretOfC1)
    assert.instanceOf(error, oauth.ResponseBodyError)
    if (!(error instanceof oauth.ResponseBodyError)) return
    assert.deepStrictEqual([error.status, error.error], [429, "temporarily_unavailable"])
    assert.isNotNull(error.response.headers.get("retry-after"))
  })

  it("in the authorize step ends in an error page, while links without a secret still work", async () => {
    const visitor = new Browser(server.url)
    const authorize = (client_secret: string) =>
      visitor.request(`/oauth/authorize?${new URLSearchParams({ ...authorizeC1, client_secret }).toString()}`, {
        headers: attacker
      })
    for (const guess of guesses) assert.strictEqual((await authorize(guess)).status, 401)
    const refused = await authorize(secretOfC1)
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(refused.headers.get("content-type"), "text/html; charset=utf-8")
    assert.match(refused.headers.get("retry-after") ?? "", /^(?:900|89\d)$/)
    assert.isNull(refused.headers.get("location"))
    assert.match((await visitor.logIn(authorizeC1, admin)).search, /code=/)
    // The authorize step counts its guesses separately, so the same address can still use the token endpoint.
    const exchange = exchangeOf(await obtainCode(server.url))
    assert.strictEqual((await post(`${server.url}/oauth/token`, multipart(exchange), attacker)).status, 200)
  })
})
