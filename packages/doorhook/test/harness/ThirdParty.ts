/**
 * A third party: its OAuth library, its API calls, and its integrations.
 */
import { Schema } from "effect"
import * as client from "openid-client"
import { logIn } from "./LoginForm.ts"

/** Makes the client's configuration from the metadata that the service publishes. */
export const discover = (url: string, id: string, secret: string) =>
  client.discovery(new URL(url), id, secret, client.ClientSecretPost(secret), {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests]
  })

/** Gets tokens by authorization code with PKCE. */
export const takeTokens = async (
  config: client.Configuration,
  redirect_uri: string,
  login: string,
  password: string
): Promise<client.TokenEndpointResponse> => {
  const code_verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const authorizeUrl = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: "public",
    state,
    code_challenge: await client.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: "S256"
  })
  const answer = await logIn(authorizeUrl, login, password)
  const location = answer.headers.get("location")
  if (location === null) throw new Error(`no redirect but ${answer.status}: ${await answer.text()}`)
  return client.authorizationCodeGrant(config, new URL(location), {
    pkceCodeVerifier: code_verifier,
    expectedState: state
  })
}

/** Calls the API with a bearer token. */
export const callApi = (
  url: string,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

/** Returns the request body that creates an integration. */
export const integrationDocument = (url: string, types: ReadonlyArray<string> = ["call", "access_log"]) => ({
  data: {
    type: "integrations",
    attributes: {
      integrator: "webhook",
      configuration: { url, method: "post" },
      bindings: types.map((resource_type) => ({ resource_type, actions: ["create"] }))
    }
  }
})

const Created = Schema.Struct({
  data: Schema.Struct({ id: Schema.String }),
  meta: Schema.Struct({ signing_secret: Schema.String })
})

/**
 * Creates an integration for building 1, which must succeed. Returns its id, and the secret that only this response
 * contains.
 */
export const createIntegration = async (
  url: string,
  token: string,
  receiver: string,
  types?: ReadonlyArray<string>,
  path = "/v4/buildings/1/integrations"
) => {
  const answer = await callApi(url, token, "POST", path, integrationDocument(receiver, types))
  const text = await answer.text()
  if (answer.status !== 201) throw new Error(`no integration but ${answer.status}: ${text}`)
  const { data, meta } = Schema.decodeUnknownSync(Created)(JSON.parse(text))
  return { id: data.id, signing_secret: meta.signing_secret }
}
