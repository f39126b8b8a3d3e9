/**
 * What openid-client gets besides tokens: introspection, refusals and metadata.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as client from "openid-client"
import { Browser, redirectUri, secretOfC1, startServer } from "./OAuthServer.ts"

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

describe("openid-client", () => {
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
