/**
 * The whole life of a grant with oauth4webapi, which checks every response strictly.
 */
import { assert, describe, it } from "@effect/vitest"
import * as oauth from "oauth4webapi"
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

const insecure = { [oauth.allowInsecureRequests]: true }

const discover = async (): Promise<oauth.AuthorizationServer> => {
  const issuer = new URL(service().url)
  return oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
  )
}

/** Logs in and gets tokens. */
const takeTokens = async (
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  authentication: oauth.ClientAuth,
  redirect_uri: string
) => {
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(server.authorization_endpoint ?? "")
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri,
    response_type: "code",
    scope: "public",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256"
  }).toString()
  const parameters = oauth.validateAuthResponse(server, client, await visit(url), state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    redirect_uri,
    verifier,
    insecure
  )
  return oauth.processAuthorizationCodeResponse(server, client, response)
}

const clients = [
  ["a secret in the body", "c1", oauth.ClientSecretPost("s1"), redirectUri],
  ["a secret by Basic", "c1", oauth.ClientSecretBasic("s1"), redirectUri],
  ["an odd id and secret by Basic", "c+2 ö", oauth.ClientSecretBasic(oddSecret), oddRedirectUris[0]],
  ["no secret", "p1", oauth.None(), appRedirectUri]
] as const

describe("oauth4webapi", () => {
  it("finds the authorization server, knowing only the address of the API", async () => {
    const api = new URL(`${service().url}/v4`)
    const asked = oauth.protectedResourceRequest(
      "unknown",
      "GET",
      new URL(`${api.href}/buildings`),
      undefined,
      null,
      insecure
    )
    const error = await rejection(asked)
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) return assert.fail(String(error))
    const { resource_metadata } = error.cause[0]?.parameters ?? {}
    const discovery = await oauth.resourceDiscoveryRequest(api, insecure)
    assert.strictEqual(discovery.url, resource_metadata)
    const resource = await oauth.processResourceDiscoveryResponse(api, discovery)
    assert.deepStrictEqual(resource, {
      resource: `${service().url}/v4`,
      authorization_servers: [service().url],
      scopes_supported: ["public"],
      bearer_methods_supported: ["header"]
    })
    assert.strictEqual((await discover()).issuer, resource.authorization_servers?.[0])
  })

  it.each(clients)("gets, uses, refreshes and revokes tokens with %s", async (_, client_id, authentication, uri) => {
    const server = await discover()
    const client: oauth.Client = { client_id }
    const tokens = await takeTokens(server, client, authentication, uri)
    assert.strictEqual(tokens.expires_in, 86_400)
    assert.strictEqual(tokens.scope, "public")
    const api = new URL(`${service().url}/v4/buildings/1/integrations`)
    const resource = await oauth.protectedResourceRequest(tokens.access_token, "GET", api, undefined, null, insecure)
    assert.strictEqual(resource.status, 200)

    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, authentication, tokens.refresh_token ?? "", insecure)
    )
    assert.notStrictEqual(refreshed.access_token, tokens.access_token)
    assert.isString(refreshed.refresh_token)

    if (client_id !== "p1") {
      const introspection = await oauth.processIntrospectionResponse(
        server,
        client,
        await oauth.introspectionRequest(server, client, authentication, refreshed.access_token, insecure)
      )
      assert.include(introspection, { active: true, client_id, scope: "public", token_type: "Bearer" })
    }

    const revocation = await oauth.revocationRequest(
      server,
      client,
      authentication,
      refreshed.refresh_token ?? "",
      insecure
    )
    await oauth.processRevocationResponse(revocation)
    assert.strictEqual(await apiStatus(service().url, refreshed.access_token), 401)

    // The body must say why a refresh fails. If there were a `WWW-Authenticate` header, the library would ignore the
    // body.
    const late = await oauth.refreshTokenGrantRequest(
      server,
      client,
      authentication,
      refreshed.refresh_token ?? "",
      insecure
    )
    const error = await rejection(oauth.processRefreshTokenResponse(server, client, late))
    if (!(error instanceof oauth.ResponseBodyError)) return assert.fail(String(error))
    assert.strictEqual(error.error, "invalid_grant")
  })

  it("gets a challenge for a wrong secret, and an error for a forbidden scope", async () => {
    const server = await discover()
    const client: oauth.Client = { client_id: "c1" }
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.ClientSecretBasic("no"), "x", insecure)
    const error = await rejection(oauth.processRefreshTokenResponse(server, client, response))
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) return assert.fail(String(error))
    assert.strictEqual(error.status, 401)
    assert.strictEqual(error.cause[0]?.scheme, "basic")

    const callback = new URL(`${redirectUri}?error=access_denied&iss=${encodeURIComponent("https://evil.example")}`)
    assert.throws(() => oauth.validateAuthResponse(server, client, callback, oauth.expectNoState), /iss/)
  })

  it("gets the API's error for an invalid token", async () => {
    const api = new URL(`${service().url}/v4/buildings/1/integrations`)
    const asked = oauth.protectedResourceRequest("unknown", "GET", api, undefined, null, insecure)
    const error = await rejection(asked)
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) return assert.fail(String(error))
    assert.deepStrictEqual([error.cause[0]?.scheme, error.cause[0]?.parameters["error"]], ["bearer", "invalid_token"])
  })
})
