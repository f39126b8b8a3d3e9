/**
 * An assistant that knows only the URL of the endpoint logs in by metadata, with the MCP SDK's own client.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { challenge as challengeOfCode, pkce } from "../../doorhook/test/harness/CodeGrant.ts"
import { submit } from "../../doorhook/test/harness/LoginForm.ts"
import { connect, startEndpoint } from "./Assistant.ts"

/** An exchange of the walk: what was sent, and what decided the next step. */
type Step = readonly [request: string, status: number, decisive: string]

describe("a client with only the URL", () => {
  live("gets from 401 to events, step by step", function* () {
    const { doorhook, id, url } = yield* startEndpoint()
    const { id: event } = yield* Effect.promise(() =>
      doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: 7 } })
    )
    const steps: Array<Step> = []
    const seen = (request: string, { status }: Response, decisive: string): void =>
      void steps.push([request, status, decisive.replaceAll(url, "URL")])
    yield* Effect.promise(async () => {
      const refused = await fetch(`${url}/mcp`, { method: "POST" })
      const challenge = refused.headers.get("www-authenticate") ?? ""
      seen("POST /mcp", refused, challenge)
      const [, resourceMetadata = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
      const [, scope = ""] = /scope="([^"]+)"/.exec(challenge) ?? []

      const resourceAnswer = await fetch(resourceMetadata)
      const { authorization_servers, resource } = Object(await resourceAnswer.json())
      seen(`GET ${new URL(resourceMetadata).pathname}`, resourceAnswer, `${resource} at ${authorization_servers[0]}`)

      const serverAnswer = await fetch(`${authorization_servers[0]}/.well-known/oauth-authorization-server`)
      const server = Object(await serverAnswer.json())
      const accepts = `client_id_metadata_document_supported: ${server.client_id_metadata_document_supported}`
      seen("GET /.well-known/oauth-authorization-server", serverAnswer, accepts)

      const redirect_uri = "http://127.0.0.1:49152/done"
      const state = "chosen by the client"
      const asked = { response_type: "code", client_id: id, redirect_uri, resource, scope, state, ...challengeOfCode }
      const authorize = `${server.authorization_endpoint}?${new URLSearchParams(asked).toString()}`
      const page = await fetch(authorize)
      seen("GET /oauth/authorize?client_id=https://...", page, page.headers.get("content-type") ?? "")
      const agreed = await submit(page, { login: "ada", password: "right" })
      const back = new URL(agreed.headers.get("location") ?? assert.fail())
      assert.strictEqual(back.searchParams.get("state"), state)
      assert.strictEqual(back.searchParams.get("iss"), server.issuer)
      seen(
        "POST /oauth/authorize (login, password)",
        agreed,
        `${back.origin}${back.pathname}?code=...&state=...&iss=...`
      )

      const code = back.searchParams.get("code") ?? ""
      const grant = { grant_type: "authorization_code", client_id: id, code, redirect_uri, resource }
      const body = new URLSearchParams({ ...grant, code_verifier: pkce.verifier })
      const exchanged = await fetch(server.token_endpoint, { method: "POST", body })
      const { access_token, token_type } = Object(await exchanged.json())
      seen("POST /oauth/token", exchanged, token_type)

      const headers = {
        authorization: `Bearer ${access_token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream"
      }
      const clientInfo = { name: "curl", version: "8" }
      const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
      const message = (method: string, params: object, id = 1) => JSON.stringify({ jsonrpc: "2.0", id, method, params })
      const begun = await fetch(resource, { method: "POST", headers, body: message("initialize", initialize) })
      const session = begun.headers.get("mcp-session-id") ?? ""
      seen("POST /mcp initialize", begun, session === "" ? "" : "Mcp-Session-Id")
      const call = message("tools/call", { name: "list_events", arguments: { building_id: 1 } })
      const within = { ...headers, "mcp-session-id": session }
      const listed = await fetch(resource, { method: "POST", headers: within, body: call })
      const { result } = Object(await listed.json())
      seen("POST /mcp tools/call list_events", listed, JSON.parse(result.content[0].text).events[0].event_id)
    })
    assert.deepStrictEqual(steps, [
      [
        "POST /mcp",
        401,
        'Bearer realm="doorhook", scope="public", resource_metadata="URL/.well-known/oauth-protected-resource/mcp"'
      ],
      ["GET /.well-known/oauth-protected-resource/mcp", 200, "URL/mcp at URL"],
      ["GET /.well-known/oauth-authorization-server", 200, "client_id_metadata_document_supported: true"],
      ["GET /oauth/authorize?client_id=https://...", 200, "text/html; charset=utf-8"],
      ["POST /oauth/authorize (login, password)", 303, "http://127.0.0.1:49152/done?code=...&state=...&iss=..."],
      ["POST /oauth/token", 200, "Bearer"],
      ["POST /mcp initialize", 200, "Mcp-Session-Id"],
      ["POST /mcp tools/call list_events", 200, event]
    ])
  })
})

describe("the MCP SDK's client", () => {
  for (const database of ["memory", "SQLite"]) {
    live(`logs in by metadata alone, and lists and calls tools, over ${database}`, function* () {
      const file = join(yield* temporaryFolder, "doors.db")
      const endpoint = yield* startEndpoint({ database: database === "memory" ? database : file })
      const { authProvider, client } = yield* connect(endpoint)
      const asked = new URL(authProvider.asked).searchParams
      assert.strictEqual(asked.get("resource"), `${endpoint.url}/mcp`)
      assert.strictEqual(asked.get("client_id"), endpoint.id)
      assert.strictEqual(asked.get("scope"), "public")
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.includeMembers(
        tools.map(({ name }) => name),
        ["list_places"]
      )
      const { structuredContent } = yield* Effect.promise(() => client.callTool({ name: "list_places" }))
      assert.deepStrictEqual(structuredContent, {
        buildings: [{ id: 1, name: "Tower 1", time_zone: "Europe/Berlin", access_points: [{ id: 10, name: "Front" }] }],
        tenants: []
      })
    })
  }
})
