/**
 * A service with the endpoint, and an assistant that is not registered and knows only its URL: the client of the MCP
 * SDK, with its own login by metadata.
 */
import { assert } from "@effect/vitest"
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import type { HostDirectory } from "doorhook"
import { Effect } from "effect"
import { startSite } from "../../doorhook/test/harness/ClientSite.ts"
import { mount, start } from "../../doorhook/test/harness/Embedded.ts"
import { logIn } from "../../doorhook/test/harness/LoginForm.ts"
import { mcp } from "../src/index.ts"
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "./Sdk.ts"

const callback = "http://127.0.0.1:49152/done"

/** Two users: `ada` administers building 1, and `ben` building 2 and is tenant 201. */
const directory: HostDirectory = {
  client: () => null,
  authenticate: async (login, password) => (password === "right" ? { id: login } : null),
  administers: (user, building) => building === (user === "ada" ? 1 : 2),
  isTenant: (user, tenant) => user === "ben" && tenant === 201,
  buildings: (user) => {
    const id = user === "ada" ? 1 : 2
    return [{ id, name: `Tower ${id}`, time_zone: "Europe/Berlin", access_points: [{ id: 10 * id, name: "Front" }] }]
  },
  tenants: (user) => (user === "ben" ? [{ id: 201, building_id: 1, unit: { id: 7, label: "4B" } }] : [])
}

/** Starts a service with the endpoint, and the site with the assistant's metadata document. */
export const startEndpoint = Effect.fnUntraced(function* (options: Partial<Parameters<typeof start>[0]> = {}) {
  const site = yield* startSite
  const id = `${site.url}/assistant.json`
  const document = { client_id: id, client_name: "Tower Assistant", redirect_uris: [callback] }
  site.answer = (_, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document))
  const doorhook = yield* start({ directory, mcp: mcp(), caFile: site.caFile, clientIdMetadata: "any", ...options })
  const { url } = yield* mount(doorhook)
  return { doorhook, id, site, url }
})

/** The SDK's login for an assistant whose user logs in as `login`. */
class Login implements OAuthClientProvider {
  readonly redirectUrl = callback
  readonly clientMetadata = { client_name: "Tower Assistant", redirect_uris: [callback] }
  readonly clientMetadataUrl: string
  /** The URL to which the user was sent last. */
  asked = ""
  #information: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ""

  constructor(clientMetadataUrl: string) {
    this.clientMetadataUrl = clientMetadataUrl
  }

  readonly clientInformation = () => this.#information
  readonly saveClientInformation = (information: OAuthClientInformationMixed) => void (this.#information = information)
  readonly tokens = () => this.#tokens
  readonly saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens)
  readonly redirectToAuthorization = (url: URL) => void (this.asked = url.href)
  readonly saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier)
  readonly codeVerifier = () => this.#verifier
}

/** Lets the user log in where the assistant sent them. Returns the code in the redirect. */
const codeFrom = async (asked: string, login: string): Promise<string> => {
  const answer = await logIn(asked, login, "right")
  const location = answer.headers.get("location") ?? assert.fail(`${answer.status} ${await answer.text()}`)
  return new URL(location).searchParams.get("code") ?? assert.fail(location)
}

/** Connects an assistant by metadata alone: 401, metadata, login form, code, token. */
export const connect = Effect.fnUntraced(function* (
  { id, url }: { readonly id: string; readonly url: string },
  login = "ada"
) {
  const authProvider = new Login(id)
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider })
  const client = new Client({ name: "tower-assistant", version: "1.0.0" })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const first = transport()
      await client.connect(first).then(
        () => assert.fail("connected without a token"),
        (error: unknown) => assert.instanceOf(error, UnauthorizedError)
      )
      await first.finishAuth(await codeFrom(authProvider.asked, login))
      await client.connect(transport())
    }),
    () => Effect.promise(() => client.close())
  )
  return { authProvider, client }
})
