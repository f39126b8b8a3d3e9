/**
 * The whole life of a grant with the widely used library openid-client.
 */
import { assert, describe, it } from "@effect/vitest"
import * as client from "openid-client"
import { shared } from "../harness/Shared.ts"
import {
  apiStatus,
  appRedirectUri,
  oddRedirectUris,
  oddSecret,
  redirectUri,
  rejection,
  serve,
  visit
} from "./Service.ts"

const service = shared(serve())

const discover = (id: string, authentication: client.ClientAuth) =>
  client.discovery(new URL(service().url), id, undefined, authentication, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests]
  })

const clients = [
  ["a secret in the body", "c1", client.ClientSecretPost("s1"), redirectUri],
  ["a secret by Basic", "c1", client.ClientSecretBasic("s1"), redirectUri],
  ["an odd id and secret in the body", "c+2 ö", client.ClientSecretPost(oddSecret), oddRedirectUris[1]],
  ["no secret", "p1", client.None(), appRedirectUri]
] as const

describe("openid-client", () => {
  it.each(clients)("gets, uses, refreshes, introspects and revokes tokens with %s", async (_, id, secret, uri) => {
    const config = await discover(id, secret)
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const expectedState = client.randomState()
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: uri,
      scope: "public",
      state: expectedState,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256"
    })
    const tokens = await client.authorizationCodeGrant(config, await visit(url), { pkceCodeVerifier, expectedState })
    const api = new URL(`${service().url}/v4/buildings/1/integrations`)
    const answer = await client.fetchProtectedResource(config, tokens.access_token, api, "GET")
    assert.strictEqual(answer.status, 200)
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "")
    assert.strictEqual(refreshed.refresh_token === tokens.refresh_token, id !== "p1")
    if (id === "p1") {
      const refused = await rejection(client.tokenIntrospection(config, refreshed.access_token))
      assert.instanceOf(refused, Error)
    } else {
      assert.include(await client.tokenIntrospection(config, refreshed.access_token), { active: true, client_id: id })
    }
    await client.tokenRevocation(config, refreshed.access_token)
    assert.strictEqual(await apiStatus(service().url, refreshed.access_token), 401)
    await client.tokenRevocation(config, refreshed.refresh_token ?? "")
    const error = await rejection(client.refreshTokenGrant(config, refreshed.refresh_token ?? ""))
    if (!(error instanceof client.ResponseBodyError)) return assert.fail(String(error))
    assert.strictEqual(error.error, "invalid_grant")
  })
})
