/**
 * Clients that are not registered and whose id is the URL of their metadata, which anyone can make up: the happy path,
 * and documents that are slow, huge, private, redirected, changed in the meantime, or about another client.
 */
import { assert, describe, it } from "@effect/vitest"
import { listening } from "@doorhook/testkit/ListeningServer"
import { createDoorhook } from "doorhook"
import { Effect, Predicate } from "effect"
import { createServer as createHttpServer } from "node:http"
import type { RequestListener, ServerResponse } from "node:http"
import { startSite } from "../harness/ClientSite.ts"
import { challenge, pkce } from "../harness/CodeGrant.ts"
import { directory, event, live, mount, start } from "../harness/Embedded.ts"
import { logIn } from "../harness/LoginForm.ts"

const publicUrl = "http://127.0.0.1"
const callback = "http://127.0.0.1/done"
const atPort = "http://127.0.0.1:49152/done"

const jsonAt = async (url: string, init?: RequestInit): Promise<Record<string, unknown>> =>
  Object(await (await fetch(url, init)).json())

const setUp = Effect.fnUntraced(function* (options: Parameters<typeof start>[0] = {}) {
  const site = yield* startSite
  const doorhook = yield* start({ publicUrl, caFile: site.caFile, clientIdMetadata: "any", ...options })
  const { url } = yield* mount(doorhook)
  const id = `${site.url}/client.json`
  const known = { client_id: id, client_name: "Tower Assistant", redirect_uris: [callback, `${site.url}/cb`] }
  const serve = (document: object, headers: Record<string, string> = {}) => {
    site.answer = (_, response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(document))
    }
  }
  serve(known)
  const ask = (more: Record<string, string> = {}) =>
    `${url}/oauth/authorize?${new URLSearchParams({ client_id: id, redirect_uri: atPort, response_type: "code", ...challenge, ...more }).toString()}`
  const page = (more: Record<string, string> = {}) =>
    Effect.promise(async () => {
      const response = await fetch(ask(more), { redirect: "manual" })
      return { status: response.status, text: await response.text(), headers: response.headers }
    })
  const code = Effect.promise(async () => {
    const answer = await logIn(ask(), "admin", "right")
    return new URL(answer.headers.get("location") ?? "http://nowhere").searchParams.get("code") ?? ""
  })
  const token = (fields: Record<string, string>) =>
    Effect.promise(async (): Promise<Record<string, unknown>> => {
      const body = new URLSearchParams({ client_id: id, ...fields })
      const response = await fetch(`${url}/oauth/token`, { method: "POST", body })
      return { ...Object(await response.json()), status: response.status }
    })
  const exchange = (presented: string) =>
    token({
      grant_type: "authorization_code",
      code: presented,
      redirect_uri: atPort,
      code_verifier: pkce.verifier
    })
  return { code, doorhook, exchange, id, known, page, serve, site, token, url }
})

describe("a client that is its own metadata", () => {
  live("logs a user in at a loopback redirect of any port, and refreshes and uses its tokens", function* () {
    const { code, doorhook, exchange, id, page, site, token, url } = yield* setUp()
    const shown = yield* page()
    assert.strictEqual(shown.status, 200)
    for (const text of ["Tower Assistant", site.url.slice("https://".length), "127.0.0.1:49152"]) {
      assert.include(shown.text, text)
    }
    const tokens = yield* exchange(yield* code)
    assert.deepInclude<object>(tokens, { status: 200, scope: "public" })
    const requests = site.requests
    const refreshed = yield* token({ grant_type: "refresh_token", refresh_token: String(tokens["refresh_token"]) })
    assert.strictEqual(refreshed["status"], 200)
    const headers = { authorization: `Bearer ${String(refreshed["access_token"])}` }
    const used = yield* Effect.promise(() => fetch(`${url}/v4/buildings/1/integrations`, { headers }))
    assert.strictEqual(used.status, 200)
    // Using a token fetches nothing.
    assert.strictEqual(site.requests, requests)
    const grants = yield* Effect.promise(() => doorhook.grants.list("admin"))
    assert.deepStrictEqual(
      grants.map(({ client_id, client_name }) => [client_id, client_name]),
      [[id, site.url.slice("https://".length)]]
    )
  })

  live("that knows only the URL of the API gets from its 401 to its events", function* () {
    const server = yield* listening(createHttpServer((request, response) => doorhook.node(request, response)))
    const { doorhook, id } = yield* setUp({ publicUrl: server.url })
    yield* Effect.promise(async () => {
      const events = `${server.url}/v4/buildings/1/events`
      const challenged = (await fetch(events)).headers.get("www-authenticate") ?? ""
      const resourceUrl = /resource_metadata="([^"]+)"/.exec(challenged)?.[1] ?? assert.fail(challenged)
      const protectedResource = await jsonAt(resourceUrl)
      const [issuer] = [protectedResource["authorization_servers"]].flat()
      const as = await jsonAt(`${String(issuer)}/.well-known/oauth-authorization-server`)
      assert.deepInclude<object>(as, { issuer, client_id_metadata_document_supported: true })
      const asked = { client_id: id, redirect_uri: atPort, resource: String(protectedResource["resource"]) }
      const query = new URLSearchParams({ ...asked, response_type: "code", state: "xyz", ...challenge })
      const answer = await logIn(`${String(as["authorization_endpoint"])}?${query.toString()}`, "admin", "right")
      const back = new URL(answer.headers.get("location") ?? assert.fail(`status ${answer.status}`)).searchParams
      assert.deepStrictEqual([back.get("state"), back.get("iss")], ["xyz", String(issuer)])
      const code = back.get("code") ?? ""
      const fields = { ...asked, grant_type: "authorization_code", code, code_verifier: pkce.verifier }
      const body = new URLSearchParams(fields)
      const tokens = await jsonAt(String(as["token_endpoint"]), { method: "POST", body })
      await doorhook.publish(event)
      const list = await jsonAt(events, { headers: { authorization: `Bearer ${String(tokens["access_token"])}` } })
      assert.lengthOf([list["data"]].flat(), 1)
    })
  })

  live("is a public client, which must use PKCE and has no secret", function* () {
    const { page, token } = yield* setUp()
    const { headers } = yield* page({ code_challenge: "", code_challenge_method: "" })
    assert.include(headers.get("location") ?? "", "error=invalid_request")
    const answer = yield* token({ grant_type: "refresh_token", refresh_token: "x", client_secret: "s" })
    assert.strictEqual(answer["error"], "invalid_client")
    assert.strictEqual((yield* token({ grant_type: "client_credentials" }))["error"], "unauthorized_client")
  })

  live("is announced in the metadata, and accepted, only where the setting allows it", function* () {
    const announced = (url: string) =>
      Effect.promise(async () => {
        const document: unknown = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()
        return Reflect.get(Object(document), "client_id_metadata_document_supported")
      })
    const off = yield* start({ publicUrl })
    const { url } = yield* mount(off)
    assert.isFalse(yield* announced(url))
    for (const [allow, status] of [
      ["https://127.0.0.1", 200],
      ["https://127.0.0.1:443", 400],
      ["https://*.example.com", 400],
      ["https://*.0.0.1", 200]
    ] as const) {
      const { page, site, url: own } = yield* setUp({ clientIdMetadata: { allow: [allow] } })
      assert.strictEqual((yield* page()).status, status, allow)
      assert.strictEqual(site.requests, status === 200 ? 1 : 0)
      assert.isTrue(yield* announced(own))
    }
  })

  live("gives way to a client of the directory with the same id", function* () {
    const id = "https://127.0.0.1/client.json"
    const client = (asked: string) => (asked === id ? { id, name: "Ours", redirect_uris: [callback] } : null)
    const { page, site } = yield* setUp({ directory: { ...directory, client } })
    assert.include((yield* page({ client_id: id })).text, "Ours")
    assert.strictEqual(site.requests, 0)
  })
})

describe("a document", () => {
  live(
    "that can't be used is refused with a page that says why, and without a redirect",
    function* () {
      const flaws: ReadonlyArray<readonly [string, RequestListener | Readonly<Record<string, unknown>>, string]> = [
        ["of another client", { client_id: "https://127.0.0.1/other.json" }, "it names another client_id"],
        ["without a name", { client_name: " " }, "it must be JSON"],
        ["with a secret", { client_secret: "s" }, "it must be JSON"],
        ["with a way to authenticate", { token_endpoint_auth_method: "client_secret_post" }, "it must be JSON"],
        ["for another origin", { redirect_uris: ["https://evil.example/cb"] }, "of its own origin"],
        ["for an app", { redirect_uris: ["com.example.app:/cb"] }, "of its own origin"],
        ["that is huge", { padding: "x".repeat(5_121) }, "larger than 5120 bytes"],
        ["that is endless", (_, response) => void response.write("x".repeat(100_000)), "larger than 5120 bytes"],
        ["that is no JSON", (_, response) => void response.end("<html>"), "it must be JSON"],
        ["that is missing", (_, response) => void response.writeHead(404).end(), "status 404"],
        ["elsewhere", (_, response) => void response.writeHead(302, { location: "/moved.json" }).end(), "status 302"],
        ["that never comes", () => {}, "within 3 seconds"],
        ["that never ends", (_, response) => void response.write(" "), "within 3 seconds"],
        ["behind a broken connection", (request) => void request.socket.destroy(), "can't be fetched"]
      ]
      for (const [what, answer, why] of flaws) {
        const one = Effect.gen(function* () {
          const { known, page, serve, site } = yield* setUp()
          if (Predicate.isFunction(answer)) site.answer = answer
          else serve({ ...known, ...answer })
          const { headers, status, text } = yield* page()
          assert.deepStrictEqual([status, headers.get("location")], [400, null], what)
          assert.include(text.replaceAll("&#39;", "'"), why, what)
          assert.strictEqual(site.requests, 1, what)
        })
        yield* Effect.scoped(one)
      }
    },
    60_000
  )

  live(
    "is not fetched from an address that webhooks are refused to, nor for an id that is no plain https URL",
    function* () {
      const { page, site } = yield* setUp({ allowTargets: [] })
      const refused = yield* page()
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "its address is not public")
      const origin = site.url
      for (const client_id of [
        origin,
        `${origin}/a/../client.json`,
        `${origin}/client.json#x`,
        `https://user@${origin.slice(8)}/client.json`,
        `http://${origin.slice(8)}/client.json`,
        `HTTPS://${origin.slice(8)}/client.json`,
        `${origin}/${"x".repeat(300)}`
      ]) {
        const { status, text } = yield* page({ client_id })
        assert.strictEqual(status, 400, client_id)
        assert.include(text, "No application is registered under this client_id", client_id)
      }
      assert.strictEqual(site.requests, 0)
    }
  )

  live("does not open other redirect URIs", function* () {
    const { known, page, serve, site } = yield* setUp()
    serve({ ...known, redirect_uris: [callback, "https://evil.example/cb"] })
    for (const redirect_uri of [
      "https://evil.example/cb",
      `${site.url}/cb`,
      "http://127.0.0.1/other",
      "http://localhost/done"
    ]) {
      const { headers, status, text } = yield* page({ redirect_uri })
      assert.deepStrictEqual([status, headers.get("location")], [400, null], redirect_uri)
      assert.include(text, "not registered")
    }
  })

  live("that changed between the authorize step and the token request ends the exchange", function* () {
    for (const change of [{ redirect_uris: ["http://127.0.0.1/other"] }, { client_id: "https://evil.example/" }]) {
      const { code, exchange, known, serve } = yield* setUp()
      const presented = yield* code
      serve({ ...known, ...change })
      assert.deepInclude<object>(yield* exchange(presented), { status: 400, error: "invalid_grant" })
      serve(known)
      assert.strictEqual((yield* exchange(presented))["status"], 200)
    }
  })

  live("is cached as its server says, and not at all otherwise", function* () {
    for (const [headers, requests] of [
      [{}, 2],
      [{ "cache-control": "max-age=600" }, 1],
      [{ "cache-control": "max-age=600, no-cache" }, 2],
      [{ "cache-control": "no-store" }, 2],
      [{ "cache-control": "max-age=600", age: "600" }, 2],
      [{ date: "Mon, 02 Mar 2026 10:00:00 GMT", expires: "Mon, 02 Mar 2026 11:00:00 GMT" }, 1]
    ] as const) {
      const { known, page, serve, site } = yield* setUp()
      serve(known, headers)
      yield* page()
      assert.strictEqual((yield* page()).status, 200)
      assert.strictEqual(site.requests, requests, JSON.stringify(headers))
    }
  })

  live("is fetched at most ten times a minute for one address, and registered clients are not affected", function* () {
    const { page, site } = yield* setUp()
    for (let n = 1; n <= 10; n++) assert.strictEqual((yield* page()).status, 200)
    const refused = yield* page()
    assert.strictEqual(refused.status, 429)
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d?$/)
    assert.include(refused.text, "Too many unregistered applications")
    assert.strictEqual(site.requests, 10)
    const own = { client_id: "c1", redirect_uri: "https://client.example/cb" }
    assert.strictEqual((yield* page(own)).status, 200)
  })

  live("is fetched at most sixty times a minute for all addresses together", function* () {
    const { doorhook, id, site } = yield* setUp()
    const ask = (remoteAddress: string) =>
      Effect.promise(async () => {
        const query = new URLSearchParams({ client_id: id, redirect_uri: atPort, response_type: "code", ...challenge })
        const request = new Request(`${publicUrl}/oauth/authorize?${query.toString()}`)
        return (await doorhook.fetch(request, { remoteAddress })).status
      })
    for (let n = 1; n <= 60; n++) assert.strictEqual(yield* ask(`192.0.2.${n}`), 200)
    assert.strictEqual(yield* ask("192.0.2.61"), 429)
    assert.strictEqual(site.requests, 60)
  })
})

describe("a code", () => {
  live("of a client that is its own metadata is refused to every other client, also to a sibling", function* () {
    const { code, id, site, token } = yield* setUp()
    const presented = yield* code
    const fields = {
      grant_type: "authorization_code",
      code: presented,
      redirect_uri: atPort,
      code_verifier: pkce.verifier
    }
    for (const client_id of [id.replace("client.json", "other.json"), `${site.url}/`]) {
      assert.deepInclude<object>(yield* token({ ...fields, client_id }), { status: 400, error: "invalid_grant" })
    }
    assert.strictEqual((yield* token(fields))["status"], 200)
  })
})

describe("clientIdMetadata", () => {
  it.each([
    [{ allow: [] }, "clientIdMetadata: must have at least one origin"],
    [{ allow: ["http://app.example"] }, "must be an https origin"],
    [{ allow: ["https://app.example/path"] }, "must be an https origin"],
    [{ allow: ["https://*"] }, "must be an https origin"]
  ])("that is invalid is refused: %o", async (clientIdMetadata, message) => {
    const made = await createDoorhook({ database: "memory", directory, clientIdMetadata }).then(() => "", String)
    assert.include(made, message)
  })
})
