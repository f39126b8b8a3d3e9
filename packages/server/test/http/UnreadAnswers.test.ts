/**
 * Tests clients that do not read their answers, or read them slowly, and clients that send many requests at once.
 */
import { StoreError } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { portOf } from "@doorhook/testkit/ListeningServer"
import { nextTurn } from "@doorhook/testkit/Turn"
import { once } from "node:events"
import { createServer } from "node:http"
import type { ServerResponse } from "node:http"
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2"
import type { Server } from "node:net"
import { createGzip } from "node:zlib"
import { fromWeb } from "../../src/http/Exchange.ts"
import { httpDefaults, HttpSettings } from "../../src/http/HttpSettings.ts"
import type { HttpSettingsShape } from "../../src/http/HttpSettings.ts"
import { HttpSurface, jsonFace, makeHttpSurface } from "../../src/http/HttpSurface.ts"
import { Listener } from "../../src/http/Listener.ts"
import type { Answer, Handler, Route } from "../../src/http/Route.ts"
import { address, listener } from "../TestServer.ts"
import { closed, openTo, until } from "./Connection.ts"

const get = (path: string, method = "GET") => `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

const route = (path: `/${string}`, handle: Handler): Route => ({ method: "GET", path, face: jsonFace, handle })

const ok = (body: Answer["body"]): Answer => ({ status: 200, headers: { "content-type": "text/plain" }, body })

const small = route("/small", () => Exit.succeed(ok("small")))

/** A list of `count` pieces of 100,000 bytes, and the number of pieces that were read. */
const pieces = (path: `/${string}`, count: number) => {
  const made = { read: 0 }
  const list = route(path, () => {
    let at = 0
    const next = Effect.sync(() => {
      if (at === count) return null
      made.read++
      return String(at++ % 10).repeat(100_000)
    })
    return Exit.succeed(ok({ next }))
  })
  return { made, list }
}

const faces = { api: jsonFace, oauth: jsonFace }

const surfaceOf = (settings: Partial<HttpSettingsShape>, routes: ReadonlyArray<Route>) =>
  Layer.effect(HttpSurface, makeHttpSurface(routes, faces)).pipe(
    Layer.provide(Layer.succeed(HttpSettings, { ...httpDefaults, ...settings }))
  )

/** A server with a few routes. */
const serving = (settings: Partial<HttpSettingsShape>, ...routes: ReadonlyArray<Route>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { handle } = yield* HttpSurface
      return (yield* Listener).serve((request, response) => handle(request, response))
    })
  ).pipe(Layer.provide(surfaceOf(settings, routes)), Layer.provideMerge(listener), Layer.fresh)

const open = (isPaused = false) => Effect.flatMap(address, (url) => openTo(Number(new URL(url).port), isPaused))

const ask = (path: string) =>
  Effect.flatMap(address, (url) =>
    Effect.promise(async () => {
      const answer = await fetch(`${url}${path}`)
      return { status: answer.status, headers: answer.headers, body: await answer.text() }
    })
  )

describe("a client that reads nothing", () => {
  it.live("is disconnected, and cannot have more than its budget of large answers open until then", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 1_000)
      yield* Effect.gen(function* () {
        yield* Effect.forEach([1, 2], () => Effect.map(open(true), ({ socket }) => socket.write(get("/list"))))
        yield* until(() => made.read > 40)
        const refused = yield* ask("/big")
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.headers.get("retry-after"), "5")
        assert.include(refused.body, "Read them first, or close their connections")
        assert.strictEqual((yield* ask("/small")).status, 200)
        // The pages are too long for the buffers of the system, so they are read no further.
        assert.isBelow(made.read, 500)
        while ((yield* ask("/big")).status !== 200) yield* nextTurn
      }).pipe(
        Effect.provide(serving({ unreadTimeout: 300, unreadBytesPerClient: 900_000 }, list, small, big(500_000))),
        Effect.scoped
      )
    })
  )

  it.live("of a stream is disconnected, too, and the stream ends", () =>
    Effect.gen(function* () {
      let ended = 0
      const next = Effect.succeed("x".repeat(100_000))
      const live = { close: () => void ended++, tooSlow: "too slow" }
      const endless = route("/endless", () => Exit.succeed(ok({ next, live })))
      yield* Effect.gen(function* () {
        const { socket } = yield* open(true)
        socket.write(get("/endless"))
        yield* until(() => ended > 0)
        assert.strictEqual((yield* ask("/small")).status, 200)
      }).pipe(Effect.provide(serving({ unreadTimeout: 300 }, endless, small)), Effect.scoped)
      assert.strictEqual(ended, 1)
    })
  )

  it.live("gets 503 like others if the process has no budget for large answers left", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 1_000)
      yield* Effect.gen(function* () {
        const { socket } = yield* open(true)
        socket.write(get("/list"))
        yield* until(() => made.read > 20)
        const refused = yield* ask("/big")
        assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "5"])
        assert.include(refused.body, '"unread_answers"')
        socket.destroy()
        while ((yield* ask("/big")).status !== 200) yield* nextTurn
      }).pipe(Effect.provide(serving({ unreadBytes: 500_000 }, list, big(400_000))), Effect.scoped)
    })
  )

  for (const [kind, method, answer] of [
    ["small", "GET", ok("x".repeat(60_000))],
    ["a head", "HEAD", { ...ok("x"), headers: { "x-filler": "x".repeat(60_000) } }]
  ] as const)
    it.live(`is disconnected if the answer is ${kind}, and the system's buffers are full`, () =>
      Effect.gen(function* () {
        let answered = 0
        const page = route("/page", () => {
          answered++
          return Exit.succeed(answer)
        })
        yield* Effect.gen(function* () {
          const { socket } = yield* open(true)
          socket.write(get("/page", method).repeat(1_000))
          // The client's socket does not report its end before a write fails.
          const timer = setInterval(() => socket.write(get("/page", method)), 50)
          yield* closed(socket)
          clearInterval(timer)
          assert.isBelow(answered, 500)
        }).pipe(Effect.provide(serving({ unreadTimeout: 300 }, page)), Effect.scoped)
      })
    )
})

/** A route with a large body. */
const big = (length: number) => route("/big", () => Exit.succeed(ok("x".repeat(length))))

describe("a client that reads slowly", () => {
  it.live("gets its whole answer, although the system's buffers take nothing for longer than the deadline", () =>
    Effect.gen(function* () {
      const { list } = pieces("/list", 80)
      yield* Effect.gen(function* () {
        const { socket } = yield* open(true)
        socket.write(get("/list").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
        let length = 0
        const timer = setInterval(() => (length += (socket.read(100_000) ?? socket.read())?.length ?? 0), 50)
        yield* Effect.promise(() => once(socket, "end"))
        clearInterval(timer)
        assert.isAtLeast(length, 8_000_000)
      }).pipe(Effect.provide(serving({ unreadTimeout: 600 }, list)), Effect.scoped)
    })
  )
})

describe("an answer in pieces", () => {
  it.live("has all its pieces, whole if requested by GET and no body for HEAD", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 30)
      yield* Effect.gen(function* () {
        const { socket, text } = yield* open()
        socket.write(get("/list", "HEAD") + get("/small"))
        yield* until(() => text().endsWith("small"))
        assert.match(text(), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
        assert.strictEqual(made.read, 0)
        const { body } = yield* ask("/list")
        assert.strictEqual(body, Array.from({ length: 30 }, (_, at) => String(at % 10).repeat(100_000)).join(""))
      }).pipe(Effect.provide(serving({ unreadBytesPerClient: 1 }, list, small)), Effect.scoped)
    })
  )

  it.live("that fails midway is cut off and logged, and occupies nothing", () =>
    Effect.gen(function* () {
      const messages: Array<unknown> = []
      const Log = Logger.layer([Logger.make(({ message }) => void messages.push(message))])
      let count = 0
      const next = Effect.suspend(() =>
        ++count % 2 === 1
          ? Effect.succeed("begun ".repeat(20_000))
          : Effect.fail(new StoreError({ operation: "DeliveryStore.eventsFrom", cause: new Error("gone") }))
      )
      const failing = route("/failing", () => Exit.succeed(ok({ next })))
      yield* Effect.gen(function* () {
        for (let time = 0; time < 3; time++) {
          const { socket, text } = yield* open()
          socket.write(get("/failing"))
          yield* closed(socket)
          assert.include(text(), "begun")
          assert.isFalse(text().endsWith("0\r\n\r\n"))
        }
        assert.include(JSON.stringify(messages), "gone")
      }).pipe(Effect.provide(serving({ unreadBytesPerClient: 1 }, failing)), Effect.provide(Log), Effect.scoped)
    })
  )

  it.live("does not delay the end of a service whose client reads nothing", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 1_000)
      const scope = yield* Scope.make()
      const server = yield* Layer.buildWithScope(serving({}, list), scope)
      const { socket } = yield* Effect.provide(open(true), server)
      socket.write(get("/list").repeat(100))
      yield* until(() => made.read > 20)
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(made.read, 1_000)
    })
  )

  it.live("ends when the surface closes", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 1_000)
      const scope = yield* Scope.make()
      const { handle } = yield* Scope.provide(makeHttpSurface([list], faces), scope)
      const server = yield* host((request, response) => handle(request, response))
      const { socket } = yield* openTo(portOf(server), true)
      socket.write(get("/list"))
      yield* until(() => made.read > 20)
      yield* Scope.close(scope, Exit.void)
      const before = made.read
      socket.resume()
      yield* closed(socket)
      assert.strictEqual(made.read, before)
    })
  )
})

/** Listens with a server until the scope closes. */
const listening = <A extends Server>(server: A) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await once(server.listen(0, "127.0.0.1"), "listening")
      return server
    }),
    () => Effect.sync(() => server.close())
  )

/** A server of a host. */
const host = (handle: Parameters<typeof createServer>[1]) =>
  Effect.tap(listening(createServer(handle)), (server) =>
    Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
  )

/** Compresses a response as middleware of hosts does, which passes on `drain` and ignores callbacks of writes. */
const compress = (response: ServerResponse): void => {
  const gzip = createGzip()
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  const once = response.once.bind(response)
  gzip.on("data", (bytes: Buffer) => void (write(bytes) || (gzip.pause(), once("drain", () => gzip.resume()))))
  gzip.on("end", () => end())
  Object.assign(response, {
    write: (bytes: Uint8Array) => gzip.write(bytes),
    end: () => gzip.end(),
    once: (name: string, listener: () => void) => (name === "drain" ? gzip : { once }).once(name, listener)
  })
}

describe("an answer of a host's server", () => {
  it.live("is whole if the host compresses it", () =>
    Effect.gen(function* () {
      const { list } = pieces("/list", 30)
      const { handle } = yield* Effect.provide(
        makeHttpSurface([list], faces),
        Layer.succeed(HttpSettings, { ...httpDefaults, unreadTimeout: 300 })
      )
      const server = yield* host((request, response) => {
        compress(response)
        handle(request, response)
      })
      const { socket, text } = yield* openTo(portOf(server))
      socket.setEncoding("latin1")
      socket.write(get("/list").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
      yield* closed(socket)
      assert.isTrue(text().endsWith("\r\n0\r\n\r\n"))
    })
  )

  it.live("occupies nothing if its stream of HTTP/2 was closed before it was written", () =>
    Effect.gen(function* () {
      const { list } = pieces("/list", 30)
      const { handle } = yield* Effect.provide(
        makeHttpSurface([list], faces),
        Layer.succeed(HttpSettings, { ...httpDefaults, unreadBytesPerClient: 1 })
      )
      let isFirst = true
      const server = yield* listening(
        createHttp2Server((request, response) => {
          // The compatibility API of HTTP/2 has the members that doorhook uses.
          Reflect.apply(handle, undefined, [request, response])
          if (isFirst) request.stream.close()
          isFirst = false
        })
      )
      const session = yield* Effect.acquireRelease(
        Effect.sync(() => connectHttp2(`http://127.0.0.1:${portOf(server)}`)),
        (open) => Effect.sync(() => open.destroy())
      )
      const statusOf = () =>
        Effect.callback<unknown>((resume) => {
          const stream = session.request({ ":path": "/list" })
          stream.once("response", (headers) => resume(Effect.succeed(headers[":status"])))
          stream.once("close", () => resume(Effect.succeed(null)))
          stream.resume()
        })
      assert.isNull(yield* statusOf())
      assert.strictEqual(yield* statusOf(), 200)
    })
  )

  it.live("to HEAD has no stream, which nobody would read", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 30)
      const { answer } = yield* makeHttpSurface([list, big(100_000)], faces)
      const bodyOf = (target: string) =>
        Effect.map(answer(fromWeb(new Request(`http://a${target}`, { method: "HEAD" }), null)), ({ body }) => body)
      assert.isNull(yield* bodyOf("/list"))
      assert.strictEqual(yield* bodyOf("/big"), "x".repeat(100_000))
      assert.strictEqual(made.read, 0)
    })
  )
})

describe("a web response", () => {
  it.live("takes a piece when its reader wants one, and nothing more after it was cancelled", () =>
    Effect.gen(function* () {
      const { list, made } = pieces("/list", 1_000)
      const settings = Layer.succeed(HttpSettings, {
        ...httpDefaults,
        unreadBytesPerClient: 900_000,
        unreadTimeout: 50
      })
      const { fetch } = yield* Effect.provide(makeHttpSurface([list], faces), settings)
      const answer = () => Effect.promise(() => fetch(new Request("http://a/list"), "127.0.0.1"))
      const [first, second] = [yield* answer(), yield* answer()]
      assert.strictEqual((yield* answer()).status, 429)
      assert.strictEqual(made.read, 0)
      const reader = first.body?.getReader()
      yield* Effect.promise(async () => reader?.read())
      assert.strictEqual(made.read, 1)
      yield* Effect.promise(async () => reader?.cancel())
      const third = yield* answer()
      assert.strictEqual(third.status, 200)
      // The other two are not read, so they fail and occupy nothing.
      while ((yield* answer()).status !== 200) yield* nextTurn
      assert.isTrue(
        yield* Effect.promise(() =>
          second.text().then(
            () => false,
            () => true
          )
        )
      )
    })
  )
})

describe("a client that pipelines requests", () => {
  /** A route that counts how many of its requests are at work at once. */
  const counting = () => {
    const seen = { begun: 0, atOnce: 0, most: 0 }
    const work = route("/work", () =>
      Effect.gen(function* () {
        seen.begun++
        seen.most = Math.max(seen.most, ++seen.atOnce)
        yield* nextTurn
        seen.atOnce--
        return ok("worked")
      })
    )
    return { seen, work }
  }

  it.live("has one of them at work, and the rest wait in its socket", () =>
    Effect.gen(function* () {
      const { seen, work } = counting()
      yield* Effect.gen(function* () {
        const { socket, text } = yield* open()
        socket.write(get("/work").repeat(2_000))
        yield* until(() => seen.begun > 0)
        yield* ask("/small")
        assert.isBelow(seen.begun, 1_000)
        yield* until(() => text().split("worked").length === 2_001)
        assert.strictEqual(seen.most, 1)
      }).pipe(Effect.provide(serving({}, work, small)), Effect.scoped)
    })
  )

  it.live("may send bodies and split its requests anywhere", () =>
    Effect.gen(function* () {
      const echo: Route = {
        method: "POST",
        path: "/echo",
        face: jsonFace,
        bodyFirst: 100,
        handle: (_, __, body) => Exit.succeed(ok(`<${Buffer.from(body).toString()}>`))
      }
      const bodies = Array.from({ length: 30 }, (_, at) => `${"\r\n\r\n".repeat(at % 5)}body ${at}`)
      const requests = bodies.map((body, at) =>
        at % 3 === 0
          ? `POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
          : `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      )
      yield* Effect.gen(function* () {
        for (const size of [1, 2, 3, 7, 50, 10_000]) {
          const { socket, text } = yield* open()
          socket.setNoDelay(true)
          const all = requests.join("")
          for (let at = 0; at < all.length; at += size) socket.write(all.slice(at, at + size))
          yield* until(() => text().includes("body 29>"))
          assert.deepStrictEqual(
            [...text().matchAll(/<([^>]*)>/g)].map(([, body]) => body),
            bodies,
            `in writes of ${size} bytes`
          )
        }
      }).pipe(Effect.provide(serving({}, echo)), Effect.scoped)
    })
  )

  it.live("has one of them at work on a host's server, too, and is disconnected if too many wait", () =>
    Effect.gen(function* () {
      const { seen, work } = counting()
      const { handle } = yield* makeHttpSurface([work], faces)
      const server = yield* host((request, response) => handle(request, response))
      const { socket, text } = yield* openTo(portOf(server))
      socket.write(get("/work").repeat(101))
      yield* until(() => text().split("worked").length === 102)
      assert.strictEqual(seen.most, 1)
      const other = yield* openTo(portOf(server))
      other.socket.write(get("/work").repeat(1_000))
      yield* closed(other.socket)
      assert.isBelow(seen.begun, 200)
    })
  )
})
