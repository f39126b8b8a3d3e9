/**
 * The suite's HTTP client: what it records about an answer, how much of an abandoned request a receiver gets, and when
 * a connection is reused.
 */
import { listening } from "@doorhook/testkit/ListeningServer"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { serve } from "@doorhook/testkit/hostile/RawReceiver"
import { stopsInHandshake } from "@doorhook/testkit/hostile/Tls"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { createServer } from "node:https"
import type { Socket } from "node:net"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { leastElapsed } from "../src/evidence/Exchange.ts"
import type { HttpRequest } from "../src/evidence/Exchange.ts"
import { formOf } from "../src/history/Variations.ts"
import type { Variation } from "../src/history/Variations.ts"
import { makeBarrier, open, plainSending } from "../src/http/Wire.ts"
import { acknowledge, deadPort, receiver, socketReceiver } from "./support/receiver.ts"

const request: HttpRequest = { method: "POST", headers: { "x-name": "here" }, body: "{}" }
const plain = plainSending(2_000)

/** Sends one request over its own connection. */
const exchanged = (url: string, sending = plain, sent = request) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* open(new URL(url))
      return (yield* connection.send(sent, sending)).exchange
    })
  )

/** Sends one request to a server that answers with these bytes. */
const answeredWith = (bytes: string | ((socket: Socket) => void), limit = 2_000) =>
  Effect.gen(function* () {
    const url = yield* socketReceiver((socket) => {
      socket.on("data", () => (typeof bytes === "string" ? socket.write(bytes) : bytes(socket)))
    })
    return yield* exchanged(url, plainSending(limit))
  })

describe("an exchange", () => {
  it.live("is recorded completely", () =>
    Effect.gen(function* () {
      const exchange = yield* answeredWith(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 302 Found\r\nlocation: /x\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\nno"
      )
      assert.deepInclude(exchange, {
        _tag: "Answered",
        status: 302,
        location: "/x",
        retry_after: "7",
        ending: "complete",
        excerpt: "no",
        bytes: 2
      })
    })
  )

  const whole: ReadonlyArray<readonly [what: string, bytes: string]> = [
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok"],
    ["that ends with its connection", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok"],
    ["of a length, with its connection", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    ["in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"],
    ["without a body", "HTTP/1.1 204 No Content\r\n\r\n"]
  ]
  it.live.each(whole)("is complete %s", ([, bytes]) =>
    Effect.gen(function* () {
      const closes = bytes.includes("close") || bytes.includes("1.0")
      const answer = (socket: Socket): void => void (closes ? socket.end(bytes) : socket.write(bytes))
      assert.deepInclude(yield* answeredWith(answer), { ending: "complete", detail: null })
    })
  )

  const broken: ReadonlyArray<readonly [what: string, bytes: string]> = [
    ["longer than announced", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokay"],
    ["longer than announced, and closed", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nokay"],
    ["followed by another answer", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".repeat(2)],
    ["chunked wrongly", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"]
  ]
  it.live.each(broken)("is malformed if the answer is %s", ([, bytes]) =>
    Effect.gen(function* () {
      assert.deepInclude(yield* answeredWith(bytes), { status: 200, ending: "malformed" })
    })
  )

  it.live("is recorded as cut off, unfinished, reset or not HTTP", () =>
    Effect.gen(function* () {
      const head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"
      assert.deepInclude(yield* answeredWith((socket) => socket.end(head)), { ending: "cut_off", bytes: 2 })
      assert.deepInclude(yield* answeredWith(head, 100), { ending: "unfinished", status: 200, bytes: 2 })
      assert.deepInclude(yield* answeredWith((socket) => socket.resetAndDestroy()), { outcome: "connection_reset" })
      assert.deepInclude(yield* answeredWith((socket) => socket.end()), { outcome: "connection_reset" })
      assert.deepInclude(yield* answeredWith("hello\r\n\r\n"), { outcome: "invalid_response", connected: true })
      assert.deepInclude(yield* answeredWith(() => undefined, 100), { outcome: "timeout", connected: true })
      // Early hints are not an answer.
      assert.deepInclude(yield* answeredWith("HTTP/1.1 103 Early Hints\r\n\r\n", 100), { outcome: "timeout" })
    })
  )

  /** Blocks this process. */
  const block = (milliseconds: number): void => {
    const until = performance.now() + milliseconds
    while (performance.now() < until);
  }

  it.live("gets as much more time as the suite itself stalled, and records how long that was", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((_, response) => {
        block(2_400)
        setTimeout(() => response.end("ok"), 150)
      })
      const exchange = yield* exchanged(url, plainSending(2_000))
      assert.deepInclude(exchange, { _tag: "Answered", status: 200, ending: "complete" })
      assert.isAtLeast(exchange.stalled ?? 0, 2_300)
      assert.isBelow(leastElapsed(exchange), 2_000)
    })
  )

  it.live("times out without an answer, even if the suite stalled", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver(() => block(400))
      const exchange = yield* exchanged(url, plainSending(250))
      assert.deepInclude(exchange, { _tag: "Failed", outcome: "timeout" })
      assert.isAtLeast(leastElapsed(exchange), 250)
    })
  )

  it.live("closes its connection if it times out or is interrupted", () =>
    Effect.gen(function* () {
      let arrived = 0
      let closed = 0
      const url = yield* socketReceiver((socket) => {
        socket.on("data", () => arrived++)
        socket.on("close", () => closed++)
      })
      const until = (condition: () => boolean) =>
        Effect.sleep(5).pipe(Effect.repeat({ until: () => Effect.sync(condition) }))
      const connection = yield* open(new URL(url))
      yield* connection.send(request, plainSending(50))
      yield* until(() => closed === 1)
      const fiber = yield* Effect.forkChild(connection.send(request, plainSending(60_000)))
      yield* until(() => arrived >= 2)
      yield* Fiber.interrupt(fiber)
      yield* until(() => closed === 2)
    })
  )

  it.live("never begins if nothing listens", () =>
    Effect.gen(function* () {
      const exchange = yield* exchanged(`http://127.0.0.1:${yield* deadPort}/`)
      assert.deepInclude(exchange, { outcome: "connection_refused", connected: false })
    })
  )

  it.live("never begins if the certificate is not trusted", () =>
    Effect.gen(function* () {
      const { port } = yield* listening(createServer(makeAuthority().issue("127.0.0.1")))
      const exchange = yield* exchanged(`https://127.0.0.1:${port}/hook`)
      assert.deepInclude(exchange, { _tag: "Failed", outcome: "tls", connected: false })
    })
  )
})

describe("a connection", () => {
  it.live("carries one request after the other, whatever their form, until it is closed", () =>
    Effect.gen(function* () {
      const sockets = new Set<Socket>()
      const target = yield* receiver((_, response, socket) => {
        sockets.add(socket)
        response.end("ok")
      })
      const connection = yield* open(new URL(target.url))
      const send = (how: ReadonlyArray<Variation>) =>
        connection.send(request, { ...plain, ...formOf(how) }).pipe(Effect.map(({ reused }) => reused))
      assert.deepStrictEqual(
        [yield* send([]), yield* send([]), yield* send(["chunked"]), yield* send(["expect"])],
        [false, true, true, true]
      )
      yield* connection.renew
      assert.deepStrictEqual([yield* send([]), yield* send(["close"]), yield* send([])], [false, false, false])
      assert.strictEqual(sockets.size, 4)
    })
  )

  it.live("is not reused after its receiver has closed it or sent unexpected bytes", () =>
    Effect.gen(function* () {
      const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
      for (const then of [(socket: Socket) => socket.end(), (socket: Socket) => socket.write("x")]) {
        const url = yield* socketReceiver((socket) => {
          socket.on("data", () => socket.write(answer, () => void setTimeout(() => then(socket), 150)))
        })
        const connection = yield* open(new URL(url))
        yield* connection.send(request, plain)
        yield* Effect.sleep(500)
        const { exchange, reused } = yield* connection.send(request, plain)
        assert.deepInclude(exchange, { status: 200, ending: "complete" })
        assert.isFalse(reused)
      }
    })
  )

  it.live("sends header names as they are written", () =>
    Effect.gen(function* () {
      let got = ""
      const url = yield* socketReceiver((socket) => {
        socket.on("data", (chunk) => {
          got += String(chunk)
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        })
      })
      for (const [how, name] of [
        ["upper_headers", "X-NAME: here"],
        ["title_headers", "X-Name: here"],
        ["close", "connection: close"]
      ] as const) {
        got = ""
        yield* exchanged(url, { ...plain, ...formOf([how]) })
        assert.include(got, name)
      }
    })
  )
})

/** A certificate authority that this process trusts until the scope is closed. */
const trusted = Effect.acquireRelease(
  Effect.sync(() => {
    const before = getCACertificates("default")
    const authority = makeAuthority()
    setDefaultCACertificates([...before, authority.cert])
    return { authority, before }
  }),
  ({ before }) => Effect.sync(() => setDefaultCACertificates(before))
)

describe("a request that is broken off before its body", () => {
  const beforeTheBody = (limit: number) => ({ ...plainSending(limit), cut: { bytes: 0, stalls: false } })

  it.live("is not given up before its connection is established, but times out", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(stopsInHandshake, { scheme: "https" })
      assert.deepInclude(yield* exchanged(url, beforeTheBody(300)), { outcome: "timeout", connected: false })
    })
  )

  it.live("reaches a receiver behind TLS before it is given up", () =>
    Effect.gen(function* () {
      const { authority } = yield* trusted
      const name = yield* Deferred.make<unknown>()
      const { port } = yield* listening(
        createServer(authority.issue("127.0.0.1"), ({ headers }) => {
          Deferred.doneUnsafe(name, Effect.succeed(headers["x-name"]))
        })
      )
      const exchange = yield* exchanged(`https://127.0.0.1:${port}/hook`, beforeTheBody(10_000))
      assert.deepInclude(exchange, { _tag: "Failed", detail: "given up by the suite", connected: true })
      assert.strictEqual(yield* Deferred.await(name), "here")
    })
  )
})

describe("a barrier", () => {
  it.live("releases all in one turn of the event loop, in the order of their places, once all have arrived", () =>
    Effect.callback<void>((resume) => {
      const barrier = makeBarrier(3)
      const went: Array<number> = []
      let turned = false
      const goOn = (place: number) => (): void => {
        went.push(place)
        setImmediate(() => (turned = true))
        assert.isFalse(turned, "a turn of the event loop lay between")
        if (went.length < 3) return
        assert.deepStrictEqual(went, [0, 1, 2])
        // A participant that arrives late is released immediately.
        barrier.arrive(3, () => resume(Effect.void))
      }
      for (const place of [2, 0, 1]) barrier.arrive(place, goOn(place))
      assert.deepStrictEqual(went, [])
    })
  )

  it.live("does not wait forever for a missing arrival", () =>
    Effect.callback<void>((resume) => {
      makeBarrier(2).arrive(0, () => resume(Effect.void))
    })
  )

  it.live("holds the last bytes of requests", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const barrier = makeBarrier(2)
      const exchanges = yield* Effect.forEach(
        [0, 1],
        (place) => exchanged(target.url, { ...plain, held: { barrier, place } }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        exchanges.map((exchange) => exchange._tag === "Answered" && exchange.status),
        [200, 200]
      )
      assert.deepStrictEqual(
        target.received.map(({ body }) => body),
        ["{}", "{}"]
      )
    })
  )
})
