/**
 * doorhook on servers of common frameworks: it handles its own requests and passes all others to the host.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer, request as send } from "node:http"
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { client, codeOf, directory, event, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { logIn } from "../harness/LoginForm.ts"
import { listening } from "@doorhook/testkit/ListeningServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { callApi, createIntegration, discover } from "../harness/ThirdParty.ts"
import type { Host } from "./Hosts.ts"
import * as Hosts from "./Hosts.ts"

type HostCase = readonly [
  name: string,
  start: (doorhook: Doorhook) => Effect.Effect<Host, never, Scope.Scope>,
  prefix?: string
]

/** Hosts that pass `node:http` requests to doorhook. doorhook can infer its URL from their connection. */
const nodeHosts: ReadonlyArray<HostCase> = [
  ["node:http", Hosts.plainHost],
  ["Express", Hosts.expressHost],
  ["Express, behind body parsers and routes", Hosts.expressBehindParsers],
  ["Express, under a path", Hosts.expressUnderPath, "/doors"],
  ["Fastify", Hosts.fastifyHost],
  ["Fastify, with a prefix", Hosts.fastifyUnderPath, "/doors"]
]

/** Hosts that pass `Request` objects of the Web standard to doorhook. */
const webHosts: ReadonlyArray<HostCase> = [
  ["Hono", Hosts.honoHost],
  ["route handlers, as in Next.js", Hosts.routeHandlers]
]

const json = (answer: Response) => Effect.promise((): Promise<unknown> => answer.json())

/** Goes through all steps of a third party: login, token, integration, event, webhook. */
const goThrough = Effect.fnUntraced(function* ({ own, url }: Host, key: string) {
  const receiver = yield* startReceiver()
  const token = yield* tokenFrom(url)
  const call = (method: string, path: string, body?: unknown, authorization = token) =>
    Effect.promise(() => callApi(url, authorization, method, path, body))
  yield* Effect.promise(() => createIntegration(url, token, receiver.url))
  assert.strictEqual((yield* call("POST", "/operator/events", event, key)).status, 202)
  yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
  assert.strictEqual(receiver.received[0]?.body, JSON.stringify({ event: bodyEvent }))

  // Other kinds of bodies, and methods that frameworks treat specially.
  const form = new FormData()
  for (const [name, value] of Object.entries(refresh)) form.set(name, value)
  for (const body of [form, new URLSearchParams(refresh)]) {
    const answer = yield* Effect.promise(() => fetch(`${url}/oauth/token`, { method: "POST", body }))
    assert.deepInclude(yield* json(answer), { error: "invalid_grant" })
  }
  assert.strictEqual((yield* call("GET", "/health/live?x=1")).status, 200)
  assert.strictEqual((yield* call("GET", "/v4/nothing")).status, 404)

  // The host's own routes.
  const order = { id: 7 }
  assert.strictEqual(yield* Effect.promise(async () => (await fetch(`${own}/orders`)).text()), "mine")
  assert.deepStrictEqual(yield* json(yield* Effect.promise(() => callApi(own, "", "POST", "/orders", order))), order)
})

const refresh = { grant_type: "refresh_token", refresh_token: "unknown", client_id: "c1" }
const bodyEvent = { resource_type: "access_log", action: "create", data: { id: 1 } }

describe("doorhook on", () => {
  for (const [name, startHost, prefix = ""] of [...nodeHosts, ...webHosts]) {
    live(name, function* () {
      const doorhook = yield* start({ publicUrl: `http://127.0.0.1${prefix}` })
      const host = yield* startHost(doorhook)
      yield* goThrough(host, doorhook.operatorKey)
    })
  }

  for (const [name, startHost] of nodeHosts) {
    live(`${name}: without publicUrl, links and the issuer of tokens use the host's address`, function* () {
      const doorhook = yield* start()
      const { own, url } = yield* startHost(doorhook)
      // doorhook infers its path from the first request. This request must not count, because it is not for
      // doorhook's path.
      yield* Effect.promise(() => fetch(`${own}/.well-known/oauth-authorization-server${url.slice(own.length)}`))
      const token = yield* tokenFrom(url)
      const list = yield* json(yield* Effect.promise(() => callApi(url, token, "GET", "/v4/buildings")))
      assert.nestedPropertyVal(list, "links.first", `${url}/v4/buildings?page=1&per=50`)
      for (const path of ["", "/"]) {
        const metadata = yield* Effect.promise(() => fetch(`${url}/.well-known/oauth-authorization-server${path}`))
        assert.nestedPropertyVal(yield* json(metadata), "issuer", url)
      }
      // Clients look for the metadata at the host's root, with the issuer's path appended (RFC 8414 section 3.1).
      const found = yield* Effect.promise(() => discover(url, client.client_id, client.client_secret))
      assert.strictEqual(found.serverMetadata().token_endpoint, `${url}/oauth/token`)
    })
  }

  live(
    "Express, under a path, is discovered only by its own issuer, and does not replace another issuer",
    function* () {
      const server = createServer()
      const { url: own } = yield* listening(server)
      const doorhook = yield* start({ publicUrl: `${own}/doors` })
      server.on("request", Hosts.expressDiscoverable(doorhook))
      const found = yield* Effect.promise(() => discover(`${own}/doors`, client.client_id, client.client_secret))
      assert.deepInclude(found.serverMetadata(), { issuer: `${own}/doors`, token_endpoint: `${own}/doors/oauth/token` })
      const metadata = (path: string, method = "GET") =>
        Effect.promise(() => fetch(`${own}/.well-known/oauth-authorization-server${path}`, { method }))
      assert.strictEqual(
        yield* Effect.flatMap(metadata("/others"), (answer) => Effect.promise(() => answer.text())),
        "another's"
      )
      assert.strictEqual((yield* metadata("/doors", "POST")).status, 405)
      const [isOwn, isNone] = ["/doors", "/others"].map((path) =>
        doorhook.handles({ url: `${own}/.well-known/oauth-authorization-server${path}` })
      )
      assert.deepStrictEqual([isOwn, isNone], [true, false])
      const other = new Request(`${own}/.well-known/oauth-authorization-server/others`)
      assert.strictEqual((yield* Effect.promise(() => doorhook.fetch(other))).status, 404)
    }
  )

  live("web requests never set its address, whatever their Host, and the log says once to configure it", function* () {
    const warnings: Array<string> = []
    const logger = { info: () => undefined, warn: (line: string) => warnings.push(line), error: () => undefined }
    const doorhook = yield* start({ logger })
    const issuer = (url: string) =>
      Effect.promise(() => doorhook.fetch(new Request(`${url}/.well-known/oauth-authorization-server`))).pipe(
        Effect.flatMap(json)
      )
    for (const url of ["http://localhost:666", "https://evil.example", "http://127.0.0.1:6666"]) {
      assert.nestedPropertyVal(yield* issuer(url), "issuer", "http://localhost:4000")
    }
    assert.lengthOf(warnings, 1)
    assert.match(warnings[0] ?? "", /publicUrl: not set, .* Set publicUrl to the address that browsers/)
    // Here the URL comes from the address of the `node:http` connection.
    const { url } = yield* mount(doorhook)
    yield* Effect.promise(() => fetch(`${url}/health/live`))
    assert.nestedPropertyVal(yield* issuer("http://localhost:666"), "issuer", url)
  })

  live("Express behind a parser that does not keep the body reports this to the host", function* () {
    const doorhook = yield* start()
    const { url } = yield* Hosts.expressAfter(doorhook, (request, _response, next) => {
      request.on("end", () => next()).resume()
    })
    const answer = yield* Effect.promise(() => callApi(url, doorhook.operatorKey, "POST", "/operator/events", event))
    const problem = yield* json(answer)
    assert.deepInclude(problem, { code: "body_consumed" })
    assert.match(JSON.stringify(problem), /Mount doorhook.node earlier/)
  })

  live("a web request whose body was already read is refused with instructions", function* () {
    const doorhook = yield* start()
    const request = new Request("http://localhost/oauth/token", { method: "POST", body: new URLSearchParams("a=b") })
    yield* Effect.promise(() => request.text())
    assert.strictEqual((yield* codeOf(doorhook.fetch(request))).code, "body_consumed")
  })

  live(
    "node:http that has read a body and not kept it responds with 500, and the log explains it with the same id",
    function* () {
      const lines: Array<string> = []
      const keep = (line: string) => lines.push(line)
      const doorhook = yield* start({ logger: { info: keep, warn: keep, error: keep } })
      const { url } = yield* Hosts.plainAfter(doorhook, async (request) => void (await text(request)))
      const answer = yield* Effect.promise(() => callApi(url, doorhook.operatorKey, "POST", "/operator/events", event))
      assert.strictEqual(answer.status, 500)
      const id = answer.headers.get("x-request-id")
      const problem = yield* json(answer)
      assert.nestedPropertyVal(problem, "errors[0].id", id)
      assert.notInclude(JSON.stringify(problem), "Mount")
      assert.match(lines.join("\n"), new RegExp(`Mount doorhook.node earlier.*request_id=${id}$`))
    }
  )

  live("malformed requests get the same response before and behind a body parser", function* () {
    const doorhook = yield* start()
    const parse = async (request: IncomingMessage) => void Object.assign(request, { body: await text(request) })
    const [behind, before] = [yield* Hosts.plainAfter(doorhook, parse), yield* mount(doorhook)]
    const statusOf = (url: string, target: string, method: string, host: string) =>
      Effect.promise(async () => {
        const headers = { authorization: `Bearer ${doorhook.operatorKey}`, "content-type": "application/json", host }
        const { port } = new URL(url)
        const request = send({ port, path: target, method, headers }).end(
          method === "POST" ? JSON.stringify(event) : ""
        )
        const [answer] = await once(request, "response")
        await text(answer)
        return answer.statusCode
      })
    for (const [target, method, host, expected] of [
      ["/operator/events", "POST", "no host", 202],
      ["/v4/../operator/events", "POST", "localhost", 404],
      ["//operator/events", "POST", "localhost", 404],
      ["/operator/events#x", "POST", "localhost", 404],
      ["http://elsewhere/operator/events", "POST", "localhost", 202],
      ["/operator/events", "TRACE", "localhost", 405]
    ] as const) {
      const both = [
        yield* statusOf(behind.url, target, method, host),
        yield* statusOf(before.url, target, method, host)
      ]
      assert.deepStrictEqual(both, [expected, expected], `${method} ${target}, ${host}`)
    }
  })

  live("two Authorization headers are refused before and behind a body parser", function* () {
    const doorhook = yield* start()
    const parse = async (request: IncomingMessage) => void Object.assign(request, { body: await text(request) })
    const body = JSON.stringify(event)
    const plain = ["host", "localhost", "content-type", "application/json", "content-length", String(body.length)]
    const right = ["authorization", `Bearer ${doorhook.operatorKey}`]
    const statusOf = (url: string, headers: ReadonlyArray<string>) =>
      Effect.promise(async () => {
        const sent = send(`${url}/operator/events`, { method: "POST", headers: [...plain, ...headers] }).end(body)
        const [answer] = await once(sent, "response")
        await text(answer)
        return answer.statusCode
      })
    for (const { url } of [yield* Hosts.plainAfter(doorhook, parse), yield* mount(doorhook)]) {
      assert.strictEqual(yield* statusOf(url, right), 202)
      assert.strictEqual(yield* statusOf(url, [...right, "authorization", "Bearer x"]), 400)
      assert.strictEqual(yield* statusOf(url, ["authorization", "Bearer x", ...right]), 400)
    }
  })

  live("a host that has already responded after a timeout is not disturbed by the later response", function* () {
    let late = (): void => undefined
    const answered = new Promise<void>((resolve) => (late = resolve))
    const authenticate = async () => {
      await answered
      return null
    }
    const doorhook = yield* start({ directory: { ...directory, authenticate } })
    const { url } = yield* Hosts.plainAfter(doorhook, async (request, response) => {
      if (request.method !== "POST") return
      Object.assign(request, { body: await text(request) })
      setImmediate(() => response.writeHead(503).end("too slow"))
    })
    const answer = yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right"))
    assert.strictEqual(answer.status, 503)
    late()
    yield* Effect.promise(() => doorhook.close())
  })

  live("Express responds with 503 when doorhook is closed, with or without the host's own error handler", function* () {
    const doorhook = yield* start()
    const { url } = yield* Hosts.expressUnderPath(doorhook)
    yield* Effect.promise(() => doorhook.close())
    assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/health/live`))).status, 503)
  })

  live("limits apply to requests through node and fetch together", function* () {
    const doorhook = yield* start({ requestsPerMinute: 2 })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const headers = { authorization: `Bearer ${token}` }
    const byFetch = Effect.promise(() => doorhook.fetch(new Request(`${url}/v4/buildings`, { headers })))
    const byNode = Effect.promise(() => fetch(`${url}/v4/buildings`, { headers }))
    const statuses = yield* Effect.all([byNode, byFetch, byNode, byFetch].map(Effect.map(({ status }) => status)))
    assert.deepStrictEqual(statuses, [200, 200, 429, 429])
  })

  live("one server can have several doorhooks, each with its own directory, database and key", function* () {
    const [one, other] = yield* Effect.all([
      start({ publicUrl: "http://127.0.0.1/one" }),
      start({ publicUrl: "http://127.0.0.1/two", directory: { ...directory, authenticate: () => null } })
    ])
    const { own } = yield* Hosts.expressWithTwo(one, other)
    const token = yield* tokenFrom(`${own}/one`)
    const listAt = (mount: string) =>
      Effect.promise(async () => (await callApi(`${own}/${mount}`, token, "GET", "/v4/buildings")).status)
    assert.strictEqual(yield* listAt("one"), 200)
    assert.strictEqual(yield* listAt("two"), 401)
    assert.notStrictEqual(one.operatorKey, other.operatorKey)
  })
})
