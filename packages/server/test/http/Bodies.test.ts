import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import type { Exit } from "effect"
import { TestClock } from "effect/testing"
import { nextTurn } from "@doorhook/testkit/Turn"
import { connect } from "node:net"
import { gzipSync } from "node:zlib"
import { makeBodyReader } from "../../src/http/BodyReader.ts"
import type { BodyError } from "../../src/http/Failures.ts"
import { httpDefaults } from "../../src/http/HttpSettings.ts"
import { address, call, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const total = Effect.map(call("GET", path, { as: "admin" }), (reply) => reply.at("/meta/page_info/total_item_count"))

const head = (...headers: ReadonlyArray<string>): string =>
  [
    `POST ${path} HTTP/1.1`,
    "host: localhost",
    "authorization: Bearer admin",
    "content-type: application/json",
    ...headers,
    "",
    ""
  ].join("\r\n")

/** Opens a connection, writes to it, and reads until the server closes it or the answer matches `enough`. */
const raw = Effect.fnUntraced(function* (
  writes: ReadonlyArray<string | Uint8Array>,
  enough: RegExp = /\r\n\r\n[\s\S]*\}$/
) {
  const { port } = new URL(yield* address)
  return yield* Effect.callback<string>((resume) => {
    let answer = ""
    const socket = connect(Number(port), "127.0.0.1", () => {
      for (const bytes of writes) socket.write(bytes)
    })
    socket.on("data", (chunk) => {
      answer += chunk.toString()
      if (enough.test(answer)) socket.destroy()
    })
    // No failure: a server that stops reading may reset the connection after its answer.
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(answer)))
    return Effect.sync(() => socket.destroy())
  })
})

describe("bodies", () => {
  onServer("are accepted up to the limit, chunked or not", function* () {
    const text = JSON.stringify(document())
    const padded = text + " ".repeat(65_536 - text.length)
    assert.strictEqual((yield* call("POST", path, { as: "admin", body: padded })).status, 201)
    const chunks = [text.slice(0, 10), text.slice(10)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    const chunked = yield* raw([head("transfer-encoding: chunked"), ...chunks, "0\r\n\r\n"])
    assert.match(chunked, /^HTTP\/1\.1 201 /)
    assert.strictEqual(yield* total, 2)
  })

  onServer("that are not JSON or not UTF-8 are bad requests", function* () {
    for (const body of ["", "{", "{]}", "undefined", `${JSON.stringify(document())}x`]) {
      const reply = yield* call("POST", path, { as: "admin", body })
      assert.strictEqual(reply.status, 400, body)
      assert.strictEqual(reply.at("/errors/0/code"), "bad_request", body)
    }
    const latin1 = Buffer.from(JSON.stringify(document({ note: "Ã©".slice(0, 1) })), "latin1")
    const reply = yield* raw([head(`content-length: ${latin1.length}`), latin1])
    assert.match(reply, /^HTTP\/1\.1 400 /)
    assert.include(reply, "UTF-8")
    assert.strictEqual(yield* total, 0)
  })

  onServer("that are compressed are refused, in the form of each part of the surface", function* () {
    const base = yield* address
    const post = (to: string, coding: string, body: string | Uint8Array<ArrayBuffer>, type = "application/json") =>
      Effect.promise(async () => {
        const headers = { authorization: "Bearer admin", "content-type": type, "content-encoding": coding }
        const response = await fetch(`${base}${to}`, { method: "POST", headers, body })
        const answer: unknown = await response.json()
        return { status: response.status, accepts: response.headers.get("accept-encoding"), answer }
      })
    const whole = JSON.stringify(document())
    for (const coding of ["gzip", "br", "identity, gzip", "x-unknown"]) {
      const { accepts, answer, status } = yield* post(path, coding, new Uint8Array(gzipSync(whole)))
      assert.deepEqual({ accepts, status }, { accepts: "identity", status: 415 })
      assert.match(JSON.stringify(answer), /"code":"unsupported_content_encoding".*"header":"Content-Encoding"/)
    }
    for (const to of ["/oauth/token", "/oauth/revoke"]) {
      const { accepts, answer, status } = yield* post(to, "gzip", "a=b", "application/x-www-form-urlencoded")
      assert.deepEqual({ accepts, status }, { accepts: "identity", status: 415 })
      assert.deepEqual(answer, {
        error: "invalid_request",
        error_description: "The body has a Content-Encoding, which is not supported here. Send it uncompressed."
      })
    }
    assert.strictEqual(yield* total, 0)
    for (const coding of ["identity", "Identity"]) assert.strictEqual((yield* post(path, coding, whole)).status, 201)
  })

  onServer("that take too long are refused", function* () {
    const answering = yield* Effect.forkChild(raw([head("content-length: 100"), '{"data":']))
    // The deadline starts only when the server has read the head, so one step of the test clock may not be enough.
    while (answering.pollUnsafe() === undefined) {
      yield* TestClock.adjust(httpDefaults.bodyTimeout)
      yield* nextTurn
    }
    const answer = yield* Fiber.join(answering)
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.include(answer, '"code":"request_timeout"')
    assert.strictEqual(yield* total, 0)
  })

  it.effect("have the same deadline when the wall clock is set back", () =>
    Effect.gen(function* () {
      let wall = 7_200_000
      const clock = new Proxy(yield* Clock.Clock, {
        get: (given, name): unknown => (name === "currentTimeMillisUnsafe" ? () => wall : Reflect.get(given, name))
      })
      const sweeps: Array<Effect.Effect<void>> = []
      const { read } = makeBodyReader(20_000, clock, (sweep) => void sweeps.push(sweep))
      const outcomes: Array<Exit.Exit<Uint8Array, BodyError>> = []
      const endless = { declared: null, coding: undefined, start: () => () => undefined }
      read(endless, 100, (body) => void outcomes.push(body))
      yield* Effect.forEach(sweeps, (sweep) => Effect.forkChild(sweep))
      wall = 3_600_000
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(outcomes, 0)
      yield* TestClock.adjust("11 seconds")
      assert.lengthOf(outcomes, 1)
    })
  )

  onServer("that are cut off change nothing, and the service continues", function* () {
    const { port } = new URL(yield* address)
    yield* Effect.callback<void>((resume) => {
      const socket = connect(Number(port), "127.0.0.1", () => {
        socket.write(head("content-length: 1000") + JSON.stringify(document()), () => socket.destroy())
      })
      socket.on("close", () => resume(Effect.void))
    })
    assert.strictEqual(yield* total, 0)
  })
})
