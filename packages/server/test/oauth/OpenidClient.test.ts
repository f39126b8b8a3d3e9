/**
 * Runs the widely used library openid-client against the server, which must pass all of the library's checks.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as client from "openid-client"
import { admin, Browser, formOf, redirectUri, secretOfC1, startServer } from "./OAuthServer.ts"

let server: Awaited<ReturnType<typeof startServer>>
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const discover = (id: string, authentication: client.ClientAuth) =>
  client.discovery(new URL(server.url), id, undefined, authentication, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests]
  })

/** Logs the user in like a browser. Returns the URL of the redirect. */
const logIn = async (url: URL): Promise<URL> => {
  const browser = new Browser(server.url)
  const page = await browser.request(url.href)
  const answer = await browser.submit(formOf(page.text), admin)
  return new URL(answer.headers.get("location") ?? assert.fail(answer.text))
}

const clients: ReadonlyArray<readonly [string, string, client.ClientAuth, string]> = [
  ["with a secret in the body", "c1", client.ClientSecretPost(secretOfC1), redirectUri],
  ["with a secret by Basic", "c1", client.ClientSecretBasic(secretOfC1), redirectUri],
  ["without a secret", "p1", client.None(), "http://127.0.0.1:41234/cb"]
]

describe("openid-client", () => {
  it.each(clients)(
    "finds the endpoints, logs in, refreshes and revokes: %s",
    async (_, id, authentication, redirect_uri) => {
      const config = await discover(id, authentication)
      const pkceCodeVerifier = client.randomPKCECodeVerifier()
      const expectedState = client.randomState()
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri,
        scope: "public",
        state: expectedState,
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256"
      })
      const callback = await logIn(url)
      const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState })
      assert.closeTo(tokens.expiresIn() ?? 0, 86_400, 60)
      assert.strictEqual(tokens.token_type, "bearer")

      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "")
      assert.notStrictEqual(refreshed.access_token, tokens.access_token)
      assert.strictEqual(refreshed.refresh_token === tokens.refresh_token, id === "c1")

      await client.tokenRevocation(config, refreshed.refresh_token ?? "")
      const error: unknown = await client.refreshTokenGrant(config, refreshed.refresh_token ?? "").then(
        () => null,
        (cause: unknown) => cause
      )
      if (!(error instanceof client.ResponseBodyError)) return assert.fail(String(error))
      assert.strictEqual(error.error, "invalid_grant")
    }
  )

  it("introspects, and gets the reason if the user returns without a code", async () => {
    const config = await discover("c1", client.ClientSecretPost(secretOfC1))
    assert.isFalse((await client.tokenIntrospection(config, "unknown")).active)
    const url = client.buildAuthorizationUrl(config, { redirect_uri: redirectUri, state: "s", scope: "admin" })
    const { headers } = await new Browser(server.url).request(url.href)
    const callback = new URL(headers.get("location") ?? assert.fail("it was not redirected"))
    const error: unknown = await client.authorizationCodeGrant(config, callback, { expectedState: "s" }).then(
      () => null,
      (cause: unknown) => cause
    )
    if (!(error instanceof client.AuthorizationResponseError)) return assert.fail(String(error))
    assert.strictEqual(error.error, "invalid_scope")
  })

  it("gets the metadata at the issuer's address", async () => {
    const response = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    assert.strictEqual(response.headers.get("content-type"), "application/json")
    assert.deepInclude<object>(Object(await response.json()), {
      issuer: server.url,
      authorization_endpoint: `${server.url}/oauth/authorize`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true
    })
    assert.strictEqual((await fetch(response.url, { method: "POST" })).status, 405)
  })
})
