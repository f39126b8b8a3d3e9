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
import type { McpOptions } from "../src/index.ts"
import { mcp } from "../src/index.ts"
import { Client, ElicitRequestSchema, StreamableHTTPClientTransport, UnauthorizedError } from "./Sdk.ts"

const callback = "http://127.0.0.1:49152/done"

/** Two users: `ada` administers building 1, and `ben` building 2 and is tenant 201. */
export const directory: HostDirectory = {
  // A confidential client acts for the user in its id.
  client: (id) => (id.startsWith("svc-") ? { id, name: id, secret: "s", redirect_uris: [callback] } : null),
  serviceUser: ({ id }) => id.slice(4),
  authenticate: async (login, password) => (password === "right" ? { id: login } : null),
  administers: (user, building) => building === (user === "ada" ? 1 : 2),
  isTenant: (user, tenant) => user === "ben" && tenant === 201,
  buildings: (user) => {
    const id = user === "ada" ? 1 : 2
    return [{ id, name: `Tower ${id}`, time_zone: "Europe/Berlin", access_points: [{ id: 10 * id, name: "Front" }] }]
  },
  tenants: (user) => (user === "ben" ? [{ id: 201, building_id: 1, unit: { id: 7, label: "4B" } }] : [])
}

/** Starts the site with the assistant's metadata document. */
export const startAssistantSite = Effect.gen(function* () {
  const site = yield* startSite
  const id = `${site.url}/assistant.json`
  const document = { client_id: id, client_name: "Tower Assistant", redirect_uris: [callback] }
  site.answer = (_, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document))
  return { id, site }
})

/** Starts a service with the endpoint, and the site with the assistant's metadata document. */
export const startEndpoint = Effect.fnUntraced(function* (
  options: Partial<Parameters<typeof start>[0]> = {},
  own: McpOptions = {}
) {
  const { id, site } = yield* startAssistantSite
  const doorhook = yield* start({ directory, mcp: mcp(own), caFile: site.caFile, clientIdMetadata: "any", ...options })
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

/** Asks a user's client for a token, without a login. `resource` is null for a token that is bound to nothing. */
export const tokenFor = (
  url: string,
  user: string,
  { resource = `${url}/mcp`, scope = "public" }: { readonly resource?: string | null; readonly scope?: string } = {}
) =>
  Effect.promise(async () => {
    const known = { grant_type: "client_credentials", client_id: `svc-${user}`, client_secret: "s", scope }
    const body = new URLSearchParams({ ...known, ...(resource !== null && { resource }) })
    const answer = await fetch(`${url}/oauth/token`, { method: "POST", body })
    return String(Reflect.get(Object(await answer.json()), "access_token"))
  })

/** An answer of the endpoint. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  /** The messages in the body; empty if there are none. */
  readonly messages: ReadonlyArray<Record<string, unknown>>
}

/** A program that speaks the protocol without the SDK. */
export class Wire {
  readonly #url: string
  token: string
  session: string | null = null

  constructor(url: string, token: string) {
    this.#url = `${url}/mcp`
    this.token = token
  }

  readonly request = (body: string | null, headers: Readonly<Record<string, string>> = {}, method = "POST") =>
    fetch(this.#url, {
      method,
      body,
      headers: {
        authorization: `Bearer ${this.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(this.session !== null && { "mcp-session-id": this.session }),
        ...headers
      }
    })

  readonly send = async (message: object, headers: Readonly<Record<string, string>> = {}): Promise<Answered> => {
    const answer = await this.request(JSON.stringify({ jsonrpc: "2.0", ...message }), headers)
    const text = await answer.text()
    const isStream = answer.headers.get("content-type") === "text/event-stream"
    const texts = isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data) : [text.trim()]
    const messages = texts.filter((one) => one !== "").map((one): Record<string, unknown> => Object(JSON.parse(one)))
    return { status: answer.status, headers: answer.headers, messages }
  }

  readonly initialize = async (capabilities: object = {}): Promise<Answered> => {
    const clientInfo = { name: "wire", version: "1" }
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo }
    const answer = await this.send({ id: 0, method: "initialize", params })
    this.session = answer.headers.get("mcp-session-id")
    return answer
  }

  readonly call = (name: string, args: object = {}): Promise<Answered> =>
    this.send({ id: 1, method: "tools/call", params: { name, arguments: args } })

  /** Calls a tool as a client of the revision without sessions. */
  readonly callAlone = (
    name: string,
    args: object,
    more: object = {},
    capabilities: object = {}
  ): Promise<Answered> => {
    const version = "2026-07-28"
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
      "io.modelcontextprotocol/clientInfo": { name: "wire", version: "1" }
    }
    const message = { id: 1, method: "tools/call", params: { name, arguments: args, _meta, ...more } }
    return this.send(message, { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": name })
  }
}

/** Returns the result of a call: its structured content, or the text. */
export const resultOf = ({ messages }: Answered): unknown => {
  const { content, structuredContent } = Object(messages.at(-1)?.["result"])
  return structuredContent ?? JSON.parse(String(Reflect.get(Object(content?.[0]), "text")))
}

/** Returns the code of a failed call. */
export const codeOf = (answer: Answered): unknown => Object(Object(resultOf(answer)).error).code

type Decision = "accept" | "decline" | "cancel"

/**
 * Connects an assistant by metadata alone: 401, metadata, login form, code, token. With `decide`, the assistant can ask
 * its user.
 */
export const connect = Effect.fnUntraced(function* (
  { id, url }: { readonly id: string; readonly url: string },
  login = "ada",
  decide?: (question: string) => Decision | Promise<Decision>
) {
  const authProvider = new Login(id)
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider })
  const about = { name: "tower-assistant", version: "1.0.0" }
  const client = new Client(about, { capabilities: decide === undefined ? {} : { elicitation: {} } })
  if (decide !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      const action = await decide(params.message)
      return { action, ...(action === "accept" && { content: {} }) }
    })
  }
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
