/**
 * Malicious requests: bodies that are too deep, too long, too slow, ambiguous or not text, and connections without clear
 * boundaries between requests.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import type { Socket } from "node:net"
import type { Listener } from "../../src/http/Listener.ts"
import { address, call, document, operatorKey, testServer } from "../TestServer.ts"
import { converse, send, statusesOf } from "./RawHttp.ts"
import type { RawRequest } from "./RawHttp.ts"
import { problemsOf } from "./Surface.ts"

const base = address

/** Runs a test against a server on the real clock. */
const live = (name: string, body: () => Effect.fn.Return<void, unknown, Listener>) =>
  it.live(name, () => Effect.gen(body).pipe(Effect.provide(testServer())))

/** Sends a request, checks the format of the answer, and returns the status. */
const statusOf = Effect.fnUntraced(function* (raw: RawRequest) {
  const reply = yield* Effect.flatMap(base, (url) => Effect.promise(() => send(url, raw)))
  assert.deepStrictEqual(problemsOf(raw, reply), [], `${reply.status} ${reply.text.slice(0, 300)}`)
  return reply.status
})

type Body = string | Uint8Array

const bearer = (token: string, type = "application/json") => ({
  authorization: `Bearer ${token}`,
  "content-type": type
})

const integrations = "/v4/buildings/1/integrations"
const create = (body: Body): RawRequest => ({ method: "POST", target: integrations, headers: bearer("admin"), body })
const publish = (body: Body): RawRequest => ({
  method: "POST",
  target: "/operator/events",
  headers: bearer(operatorKey),
  body
})
const token = (body: Body, type = "application/json"): RawRequest => ({
  method: "POST",
  target: "/oauth/token",
  headers: { "content-type": type },
  body
})

const eventWith = (data: string) =>
  `{"resource_type":"access_log","action":"create","building_id":1,"tenant_ids":[101],"data":${data}}`

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
const nestedObjects = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels)

describe("bodies", () => {
  live("of ten thousand levels are refused, or stored unchanged where any data is accepted", function* () {
    for (const deep of [nested(10_000), nestedObjects(10_000)]) {
      assert.strictEqual(yield* statusOf(create(deep)), 422)
      assert.strictEqual(yield* statusOf(create(`{"data":{"type":"integrations","attributes":${deep}}}`)), 422)
      assert.strictEqual(yield* statusOf(publish(deep)), 422)
      assert.strictEqual(yield* statusOf(token(deep)), 400)
      assert.strictEqual(yield* statusOf({ ...create(deep), method: "PATCH", target: `${integrations}/1` }), 404)
    }
    assert.strictEqual(yield* statusOf(create(JSON.stringify(document()))), 201)
    const data = nestedObjects(10_000)
    assert.strictEqual(yield* statusOf(publish(eventWith(data))), 202)
    const feed = yield* Effect.flatMap(base, (url) =>
      Effect.promise(() =>
        send(url, { method: "GET", target: `${integrations}/1/deliveries`, headers: bearer("admin") })
      )
    )
    assert.include(feed.text, data)
  })

  live("with a repeated member, or names like __proto__, change only what they should", function* () {
    const attributes = JSON.stringify(document().data.attributes)
    const polluting = [
      `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"data":{"type":"integrations","attributes":${attributes}}}`,
      `{"data":{"__proto__":{"polluted":1},"type":"integrations","attributes":${attributes}}}`,
      `{"data":{"type":"integrations","attributes":{"__proto__":{"status":"disabled"},${attributes.slice(1)}}}`
    ]
    for (const body of polluting) assert.strictEqual(yield* statusOf(create(body)), 201)
    // Members inherited from a prototype do not count as sent.
    const inherited = '{"__proto__":{"data":{"type":"integrations"}}}'
    assert.strictEqual(yield* statusOf(create(inherited)), 422)
    assert.strictEqual(yield* statusOf(token('{"__proto__":{"grant_type":"refresh_token"}}')), 400)
    assert.strictEqual(yield* statusOf(token('{"constructor":"x","toString":"y"}')), 400)
    assert.strictEqual(yield* statusOf(publish(eventWith('{"__proto__":{"id":1},"constructor":2}'))), 202)
    assert.notProperty({}, "polluted")
    const list = yield* call("GET", integrations, { as: "admin" })
    for (let at = 0; at < polluting.length; at++) {
      assert.strictEqual(list.at(`/data/${at}/attributes/status`), "enabled")
    }
    assert.strictEqual(yield* statusOf(publish(`{"data":{"id":1},${eventWith('{"id":2}').slice(1)}`)), 422)
  })

  live("with NUL, lone surrogates or other odd characters never cause an internal error", function* () {
    const odd = ["\\u0000", "\\ud800", "\\udfff\\ud800", "\\ufeff", "\\u202e", "\\uffff"]
    for (const text of odd) {
      const at = (member: string) => create(JSON.stringify(document({ [member]: "ODD" })).replace("ODD", text))
      for (const member of ["integrator", "configuration", "bindings"]) {
        assert.strictEqual(yield* statusOf(at(member)), 422)
      }
      const url = create(JSON.stringify(document()).replace("/hook", `/${text}`))
      assert.include([201, 422], yield* statusOf(url))
      const host = create(JSON.stringify(document()).replace("receiver", `re${text}ceiver`))
      assert.include([201, 422], yield* statusOf(host))
      assert.strictEqual(yield* statusOf(publish(eventWith(`{"${text}":"${text}"}`))), 202)
      assert.strictEqual(yield* statusOf(token(`{"grant_type":"${text}","client_id":"${text}"}`)), 401)
    }
  })

  live("that are not UTF-8 are refused", function* () {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xff, 0xfe, 0x7b, 0x00]
    ]) {
      const body = new Uint8Array(bytes)
      for (const raw of [create(body), publish(body), token(body), token(body, "application/x-www-form-urlencoded")]) {
        assert.strictEqual(yield* statusOf(raw), 400)
      }
    }
  })

  live("are accepted up to their limit and not a byte further, in any encoding", function* () {
    const padded = (length: number, body: string) => body.padEnd(length)
    const whole = JSON.stringify(document())
    assert.strictEqual(yield* statusOf(create(padded(65_536, whole))), 201)
    assert.strictEqual(yield* statusOf(create(padded(65_537, whole))), 413)
    assert.strictEqual(yield* statusOf(publish(padded(1_048_576, eventWith("{}")))), 202)
    assert.strictEqual(yield* statusOf(publish(padded(1_048_577, eventWith("{}")))), 413)
    assert.strictEqual(yield* statusOf(publish(padded(8_000_000, eventWith("{}")))), 413)
    assert.strictEqual(yield* statusOf(token(padded(65_537, "{}"))), 413)
    const url = yield* base
    const chunk = `8000\r\n${"x".repeat(32_768)}\r\n`
    const head = `POST ${integrations} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunked = yield* Effect.promise(() =>
      converse(url, [head, chunk, chunk, chunk, chunk], { until: (text) => text.includes("payload_too_large") })
    )
    assert.deepStrictEqual(statusesOf(chunked), [413])
  })

  live("full of mistakes do not get answers many times their size", function* () {
    const url = yield* base
    const many = Array.from({ length: 30_000 }, () => 1)
    const bindings = [{ resource_type: "call", actions: many.slice(0, 20) }]
    for (const attributes of [{ bindings: many }, { bindings: [{ resource_type: 1, actions: many }] }, { bindings }]) {
      const raw = create(JSON.stringify(document(attributes)))
      const reply = yield* Effect.promise(() => send(url, raw))
      assert.strictEqual(reply.status, 422)
      assert.isBelow(reply.text.length, 65_536)
    }
  })

  live("can't change headers by trailers", function* () {
    const url = yield* base
    const request = `GET ${integrations} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\nConnection: close\r\n\r\n0\r\nAuthorization: Bearer admin\r\n\r\n`
    assert.deepStrictEqual(statusesOf(yield* Effect.promise(() => converse(url, [request]))), [401])
  })
})

const close = "Host: a\r\nConnection: close\r\n"
const smuggled = `GET /health/live HTTP/1.1\r\n${close}\r\n`

/**
 * Bytes to send, and the allowed statuses of the only answer. An empty list means that there is no answer. In both
 * cases the server then closes the connection.
 */
const connections: ReadonlyArray<readonly [name: string, sent: string, statuses: ReadonlyArray<number>]> = [
  [
    "both Content-Length and Transfer-Encoding",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    [400]
  ],
  [
    "the same in the other order",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${smuggled}`,
    [400]
  ],
  [
    "two lengths",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello${smuggled}`,
    [400]
  ],
  ["a negative length", `POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n${smuggled}`, [400]],
  [
    "a length with a sign",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello${smuggled}`,
    [400]
  ],
  [
    "an unknown transfer coding",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    [400]
  ],
  [
    "a transfer coding after chunked",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    [400]
  ],
  [
    "a space before the colon",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    [400]
  ],
  ["a folded header", `GET /health/live HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n${close}\r\n`, [200, 400]],
  ["bare line feeds", "GET /health/live HTTP/1.1\nHost: a\n\n", [400]],
  ["no host", "GET /health/live HTTP/1.1\r\n\r\n", [400]],
  ["NUL in the target", `GET /\u0000 HTTP/1.1\r\n${close}\r\n`, [400]],
  ["another protocol", "\u0016\u0003\u0001\u0002\u0000\u0001", [400]],
  ["HTTP/2 without being asked", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]],
  ["a tunnel", "CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: a\r\n\r\n", []],
  ["64 KiB of one header", `GET /health/live HTTP/1.1\r\nX: ${"a".repeat(65_536)}\r\n${close}\r\n`, [431]],
  ["64 KiB of target", `GET /${"a".repeat(65_536)} HTTP/1.1\r\n${close}\r\n`, [431]],
  ["thousands of headers", `GET /health/live HTTP/1.1\r\n${"X: y\r\n".repeat(5_000)}${close}\r\n`, [431]],
  [
    "20 KiB of chunk extension",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0;${"a".repeat(20_000)}\r\n\r\n`,
    [413]
  ],
  [
    "a body that is announced and refused unread",
    `POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 6000000\r\n\r\n${smuggled}`,
    [413]
  ]
]

describe("connections", () => {
  it.live.each(connections)("with %s are answered once and closed", ([, sent, statuses]) =>
    Effect.gen(function* () {
      const url = yield* base
      const conversation = yield* Effect.promise(() => converse(url, [sent]))
      const seen = statusesOf(conversation)
      if (statuses.length === 0) assert.deepStrictEqual(seen, [])
      else assert.deepStrictEqual([seen.length, statuses.includes(seen[0] ?? 0)], [1, true], conversation.text)
      assert.isTrue(conversation.closed)
      assert.notMatch(conversation.text, /\n\s+at |node:/)
      assert.strictEqual((yield* call("GET", "/health/live")).status, 200)
    }).pipe(Effect.provide(testServer()))
  )

  live("carry consecutive requests, each with its own body", function* () {
    const url = yield* base
    const inside = `GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`
    const refused = `POST ${integrations} HTTP/1.1\r\nHost: a\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`
    const sent = `${refused}${refused}GET /v4/webhook_sources HTTP/1.1\r\n${close}\r\n`
    assert.deepStrictEqual(statusesOf(yield* Effect.promise(() => converse(url, [sent]))), [401, 401, 200])
  })

  live("held open by hundreds of unfinished heads and bodies do not delay others", function* () {
    const url = yield* base
    const { hostname, port } = new URL(url)
    const head = `POST ${integrations} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\n`
    const body = `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    const open = Effect.promise(async () => {
      const sockets = Array.from({ length: 400 }, () => connect({ host: hostname, port: Number(port) }))
      await Promise.all(sockets.map((socket) => once(socket, "connect")))
      for (const [index, socket] of sockets.entries()) socket.write(index % 2 === 0 ? head : body)
      return sockets
    })
    const close = (sockets: ReadonlyArray<Socket>) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
      })
    yield* Effect.acquireUseRelease(
      open,
      () =>
        Effect.gen(function* () {
          for (let count = 0; count < 50; count++) {
            const list: RawRequest = { method: "GET", target: integrations, headers: bearer("admin") }
            // 10 seconds are less than the time limit of the unfinished requests. After that limit, even a blocked
            // server would answer.
            const reply = yield* Effect.promise(() => send(url, list, 10_000))
            assert.strictEqual(reply.status, 200)
          }
        }),
      close
    )
  })

  live("with two Authorization headers are refused, even if one is right", function* () {
    const url = yield* base
    const two = (line: string, first: string, second: string) =>
      `${line} HTTP/1.1\r\nAuthorization: ${first}\r\nauthorization: ${second}\r\nContent-Length: 0\r\n${close}\r\n`
    for (const [line, first, second] of [
      [`GET ${integrations}`, "Bearer x", "Bearer admin"],
      [`GET ${integrations}`, "Bearer admin", "Bearer x"],
      [`GET ${integrations}`, "Bearer admin", "Bearer admin"],
      ["GET /operator/deliveries", `Bearer ${operatorKey}`, "Basic eDp5"],
      ["POST /oauth/token", "Basic eDp5", "Bearer x"]
    ] as const) {
      assert.deepStrictEqual(statusesOf(yield* Effect.promise(() => converse(url, [two(line, first, second)]))), [400])
    }
  })
})

describe("targets", () => {
  live("have only one spelling, so that no other bypasses a proxy's rule", function* () {
    const headers = bearer(operatorKey)
    assert.strictEqual(yield* statusOf({ method: "GET", target: "/operator/deliveries", headers }), 200)
    for (const target of [
      "/OPERATOR/deliveries",
      "/Operator/deliveries",
      "//operator/deliveries",
      "/operator//deliveries",
      "/./operator/deliveries",
      "/v4/../operator/deliveries",
      "/operator;x=1/deliveries",
      "/operator/deliveries;x",
      "/operator/deliveries;/x",
      "/operator/deliveries#x",
      "/%6fperator/deliveries",
      "/operator/%64eliveries",
      "/metrics;x",
      "/metrics/",
      "/metrics/?x",
      "/operator/deliveries/",
      "/METRICS",
      "//metrics",
      "/OAUTH/token"
    ]) {
      assert.strictEqual(yield* statusOf({ method: "GET", target, headers }), 404, target)
    }
  })

  live("in absolute form change nothing: neither the answer nor a link names their host", function* () {
    const url = yield* base
    yield* call("POST", integrations, { as: "admin", body: document() })
    for (const target of [integrations, "/oauth/authorize?client_id=x", "/.well-known/oauth-authorization-server"]) {
      const raw = {
        method: "GET",
        target: `http://evil.example${target}`,
        headers: { ...bearer("admin"), host: "evil.example", "x-forwarded-host": "evil.example" }
      }
      const reply = yield* Effect.promise(() => send(url, raw))
      assert.notInclude(reply.text + JSON.stringify(reply.headers), "evil.example")
    }
  })

  live("with encoded slashes and dots do not bypass an owner or a key", function* () {
    const own = yield* call("POST", integrations, { as: "admin", body: document() })
    const id = own.textAt("/data/id")
    for (const target of [
      `/v4/buildings/2%2F..%2F1/integrations/${id}`,
      `/v4/buildings/2/../1/integrations/${id}`,
      `/v4/buildings/2/integrations/%2e%2e%2f%2e%2e%2f1%2fintegrations%2f${id}`,
      `/v4/buildings/2/integrations/${id}`,
      `/v4/buildings/1%00/integrations/${id}`,
      `/v4/buildings/01/integrations/${id}`,
      `/v4/buildings/1.0/integrations/${id}`,
      `/v4/buildings/+1/integrations/${id}`,
      `/v4/tenants/1/integrations/${id}`
    ]) {
      const status = yield* statusOf({ method: "GET", target, headers: bearer("other") })
      assert.strictEqual(status, 404, target)
    }
    for (const target of ["/v4/..%2foperator/deliveries", "/v4/%2e%2e/operator/deliveries", "/operator%2Fdeliveries"]) {
      assert.strictEqual(yield* statusOf({ method: "GET", target, headers: bearer("admin") }), 404, target)
    }
  })
})
