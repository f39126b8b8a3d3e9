/**
 * Requests that existing programs send, but no OAuth library does. An app SDK refreshes in JSON with its old token in
 * the header, and requests unknown scopes. A script sends exactly the documented parameters.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { challenge, pkce } from "../harness/CodeGrant.ts"
import { shared } from "../harness/Shared.ts"
import { apiStatus, appRedirectUri, redirectUri, serve, visit } from "./Service.ts"

const TokenAnswer = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("Bearer"),
  expires_in: Schema.Literal(86_400),
  refresh_token: Schema.String,
  scope: Schema.Literal("public"),
  created_at: Schema.Int
})

const service = shared(serve({ unknownScope: "ignore" }))

const token = async (init: RequestInit) => {
  const response = await fetch(`${service().url}/oauth/token`, { method: "POST", ...init })
  const body: unknown = await response.json()
  assert.strictEqual(response.status, 200, JSON.stringify(body))
  return Schema.decodeUnknownSync(TokenAnswer, { onExcessProperty: "error" })(body)
}

const authorize = (fields: Readonly<Record<string, string>>) =>
  `${service().url}/oauth/authorize?${new URLSearchParams({ response_type: "code", ...fields }).toString()}`

const inJson = (fields: object, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(fields)
})

/** The app SDK, with and without a secret. */
const sdks = [
  ["with a secret", { client_id: "c1", client_secret: "s1" }, redirectUri, {}, {}],
  ["without a secret", { client_id: "p1" }, appRedirectUri, challenge, { code_verifier: pkce.verifier }]
] as const

describe("an SDK of apps", () => {
  it.each(sdks)(
    "%s logs in with undeclared scopes, and refreshes in JSON",
    async (_, client, uri, challenge, verifier) => {
      const { client_id } = client
      const callback = await visit(
        authorize({
          client_id,
          redirect_uri: uri,
          scope: "openid profile",
          prompt: "login",
          state: "3B1F-x",
          nonce: "n",
          ...challenge
        })
      )
      assert.strictEqual(callback.searchParams.get("state"), "3B1F-x")
      const code = callback.searchParams.get("code") ?? ""
      const first = await token(
        inJson({ grant_type: "authorization_code", code, redirect_uri: uri, ...client, ...verifier })
      )
      // The SDK's interceptor adds the expired token to every request, including this refresh.
      const bearer = { authorization: `Bearer ${first.access_token}` }
      const fields = { grant_type: "refresh_token", refresh_token: first.refresh_token, ...client }
      const second = await token(inJson(fields, bearer))
      assert.strictEqual(await apiStatus(service().url, second.access_token), 200)
      const third = await token(
        inJson({ ...fields, refresh_token: second.refresh_token }, { authorization: "Bearer expired" })
      )
      assert.strictEqual(await apiStatus(service().url, third.access_token), 200)
    }
  )
})

describe("a script that follows the documentation", () => {
  it("can send the client's secret in the authorize URL, and multipart forms", async () => {
    const callback = await visit(authorize({ client_id: "c1", client_secret: "s1", redirect_uri: redirectUri }))
    const form = new FormData()
    const fields = {
      grant_type: "authorization_code",
      code: callback.searchParams.get("code") ?? "",
      client_id: "c1",
      client_secret: "s1",
      redirect_uri: redirectUri
    }
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    const first = await token({ body: form })
    const refresh = new FormData()
    refresh.set("grant_type", "refresh_token")
    refresh.set("client_id", "c1")
    refresh.set("refresh_token", first.refresh_token)
    const second = await token({ body: refresh })
    assert.strictEqual(second.refresh_token, first.refresh_token)
    assert.strictEqual(await apiStatus(service().url, second.access_token), 200)
  })
})
