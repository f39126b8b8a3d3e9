/**
 * A third party with a real OAuth client library, and a person who logs in for it by submitting the form.
 */
import * as client from "openid-client"

/** Submits the login form of an authorize URL as a browser would, and answers where it leads. */
export const logIn = async (authorizeUrl: URL, login: string, password: string): Promise<Response> => {
  const page = await fetch(authorizeUrl)
  const html = await page.text()
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1] ?? authorizeUrl.href
  const fields = new URLSearchParams()
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    fields.set(unescape(/name="([^"]*)"/.exec(input)?.[1]), unescape(/value="([^"]*)"/.exec(input)?.[1]))
  }
  fields.set("login", login)
  fields.set("password", password)
  return fetch(new URL(unescape(action), page.url), {
    method: "POST",
    redirect: "manual",
    headers: {
      cookie: page.headers
        .getSetCookie()
        .map((cookie) => cookie.split(";")[0])
        .join("; ")
    },
    body: fields
  })
}

const unescape = (html = ""): string =>
  html
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

/** The client's configuration, discovered from the service. */
export const discover = (url: string, id: string, secret: string) =>
  client.discovery(new URL(url), id, secret, client.ClientSecretPost(secret), {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests]
  })

/** Takes tokens by authorization code with PKCE. */
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
export const callApi = (url: string, token: string, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

/** The document of an integration. */
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
