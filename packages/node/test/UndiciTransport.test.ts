import { assert, describe, it } from "@effect/vitest"
import { AddressPolicy, Transport } from "@doorhook/core"
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { Effect, Fiber, Option } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:net"
import type { AddressInfo, Server, Socket } from "node:net"
import { UndiciTransport } from "@doorhook/node"

const loopback = [Option.getOrThrow(AddressPolicy.parseNetwork("127.0.0.0/8"))]

/** A receiver at the level of the socket: `answer` is called once a request has fully arrived. */
const receiver = (answer: (socket: Socket, request: string) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const requests: Array<string> = []
      const server: Server = createServer((socket) => {
        sockets.add(socket)
        let text = ""
        socket.on("error", () => undefined)
        socket.on("close", () => sockets.delete(socket))
        socket.on("data", (chunk) => {
          text += chunk.toString("latin1")
          if (!text.endsWith("THE BODY")) return
          requests.push(text)
          answer(socket, text)
          text = ""
        })
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address: AddressInfo | string | null = server.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      return { server, sockets, requests, port, url: `http://127.0.0.1:${port}/hook?door=1` }
    }),
    ({ server, sockets }) =>
      Effect.promise(async () => {
        for (const socket of sockets) socket.destroy()
        server.close()
        await once(server, "close")
      })
  )

const post = Effect.fnUntraced(function* (url: string, overrides: Partial<TransportRequest> = {}) {
  const transport = yield* Transport
  return yield* transport.post({
    url,
    headers: { "content-type": "application/json", "webhook-id": "evt_1" },
    body: "THE BODY",
    deadline: 5_000,
    allow: loopback,
    ...overrides
  })
})

const outcomeOf = (result: TransportResult) => (result._tag === "Failed" ? result.outcome : result.status)

const test = (name: string, body: Effect.Effect<void, never, Transport | Scope.Scope>) =>
  it.live(name, () => body.pipe(Effect.provide(UndiciTransport.layer())))

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

describe("UndiciTransport", () => {
  test(
    "posts the body with exactly the given headers, and reports the answer",
    Effect.gen(function* () {
      const { url, requests } = yield* receiver((socket) => socket.write(ok))
      const result = yield* post(url)
      assert.deepInclude(result, { _tag: "Answered", status: 200, excerpt: "ok", retry_after: null })
      const [head = "", body] = (requests[0] ?? "").split("\r\n\r\n")
      assert.strictEqual(body, "THE BODY")
      const [line, ...headers] = head.toLowerCase().split("\r\n")
      assert.strictEqual(line, "post /hook?door=1 http/1.1")
      assert.deepStrictEqual(
        new Set(headers.map((header) => header.split(":")[0])),
        new Set(["connection", "content-length", "content-type", "host", "webhook-id"])
      )
    })
  )

  test(
    "reuses connections",
    Effect.gen(function* () {
      const { url, sockets } = yield* receiver((socket) => socket.write(ok))
      for (let i = 0; i < 50; i++) yield* post(url)
      // A second one may open, because the first answer is reported before its connection is free again.
      assert.isAtMost(sockets.size, 2)
    })
  )

  test(
    "does not follow a redirect",
    Effect.gen(function* () {
      const target = yield* receiver((socket) => socket.write(ok))
      const { url } = yield* receiver((socket) =>
        socket.write(`HTTP/1.1 307 Moved\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`)
      )
      assert.strictEqual(outcomeOf(yield* post(url)), 307)
      assert.strictEqual(target.requests.length, 0)
    })
  )

  test(
    "waits for the real answer behind early hints",
    Effect.gen(function* () {
      const { url } = yield* receiver((socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`))
      assert.strictEqual(outcomeOf(yield* post(url)), 200)
    })
  )

  test(
    "gives up at the deadline when no answer comes, and closes the connection",
    Effect.gen(function* () {
      const { url, sockets } = yield* receiver(() => undefined)
      const result = yield* post(url, { deadline: 100 })
      assert.strictEqual(outcomeOf(result), "timeout")
      assert.isAtLeast(result.elapsed, 95)
      const [socket] = sockets
      if (socket !== undefined && !socket.destroyed) yield* Effect.promise(() => once(socket, "close"))
    })
  )

  test(
    "takes the status of an answer whose body never ends, at the deadline at the latest",
    Effect.gen(function* () {
      const { url, sockets } = yield* receiver((socket) =>
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ndrip\r\n")
      )
      const result = yield* post(url, { deadline: 100 })
      assert.deepInclude(result, { _tag: "Answered", status: 200, excerpt: "drip" })
      assert.isBelow(result._tag === "Answered" ? result.headers_elapsed : Infinity, 100)
      const [socket] = sockets
      if (socket !== undefined && !socket.destroyed) yield* Effect.promise(() => once(socket, "close"))
    })
  )

  test(
    "stops reading a body that is larger than what is kept",
    Effect.gen(function* () {
      let written = 0
      const { url } = yield* receiver((socket) => {
        const chunk = Buffer.alloc(64 * 1024, "x")
        socket.write(`HTTP/1.1 500 Oops\r\ncontent-length: ${1024 * 1024 * 1024}\r\n\r\n`)
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) written += chunk.length
        }
        socket.on("drain", more)
        more()
      })
      const result = yield* post(url)
      assert.strictEqual(result._tag === "Answered" ? result.excerpt.length : 0, 16 * 1024)
      assert.isBelow(written, 64 * 1024 * 1024)
    })
  )

  test(
    "reports a connection that breaks, an answer that is none, and a port where nobody listens",
    Effect.gen(function* () {
      const resets = yield* receiver((socket) => socket.resetAndDestroy())
      assert.strictEqual(outcomeOf(yield* post(resets.url)), "connection_reset")
      const closes = yield* receiver((socket) => socket.end())
      assert.strictEqual(outcomeOf(yield* post(closes.url)), "connection_reset")
      const garbles = yield* receiver((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n"))
      assert.strictEqual(outcomeOf(yield* post(garbles.url)), "invalid_response")
      const free = yield* Effect.scoped(
        Effect.map(
          receiver(() => undefined),
          ({ url }) => url
        )
      )
      assert.strictEqual(outcomeOf(yield* post(free)), "connection_refused")
    })
  )

  test(
    "reports a name that does not exist, and TLS that fails",
    Effect.gen(function* () {
      assert.strictEqual(outcomeOf(yield* post("http://receiver.invalid/")), "dns")
      const plain = yield* receiver(() => undefined)
      plain.server.on("connection", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
      assert.strictEqual(outcomeOf(yield* post(`https://127.0.0.1:${plain.port}/`)), "tls")
    })
  )

  test(
    "connects to no refused address, however it is written",
    Effect.gen(function* () {
      const { port, requests, sockets } = yield* receiver((socket) => socket.write(ok))
      for (const host of ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"]) {
        const result = yield* post(`http://${host}:${port}/`, { allow: [] })
        assert.strictEqual(outcomeOf(result), "blocked_address", host)
      }
      assert.strictEqual(requests.length + sockets.size, 0)
    })
  )

  test(
    "does not reuse a connection that another allow-list opened",
    Effect.gen(function* () {
      const { url } = yield* receiver((socket) => socket.write(ok))
      assert.strictEqual(outcomeOf(yield* post(url)), 200)
      assert.strictEqual(outcomeOf(yield* post(url, { allow: [] })), "blocked_address")
    })
  )

  test(
    "closes the connection when it is interrupted",
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<Socket>()
      const { url } = yield* receiver((socket) => arrived.resolve(socket))
      const fiber = yield* Effect.forkChild(post(url))
      const socket = yield* Effect.promise(() => arrived.promise)
      yield* Fiber.interrupt(fiber)
      if (!socket.destroyed) yield* Effect.promise(() => once(socket, "close"))
    })
  )
})
