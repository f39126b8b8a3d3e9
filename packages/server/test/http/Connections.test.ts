/**
 * Tests connections of clients that disconnect, never finish, pipeline many requests, or send more than the server
 * reads.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Latch, Layer, Logger, References, Scope } from "effect"
import { portOf } from "@doorhook/testkit/ListeningServer"
import { nextTurn } from "@doorhook/testkit/Turn"
import { connect as connectHttp2, createServer } from "node:http2"
import { readText } from "../../src/http/Exchange.ts"
import { HttpSurface, jsonFace, makeHttpSurface } from "../../src/http/HttpSurface.ts"
import { Listener } from "../../src/http/Listener.ts"
import type { Handler, Method, Route } from "../../src/http/Route.ts"
import { address, listener } from "../TestServer.ts"
import { closed, openTo, until } from "./Connection.ts"

const route = (method: Method, path: `/${string}`, handle: Handler, more: Partial<Route> = {}): Route => ({
  method,
  path,
  face: jsonFace,
  handle,
  ...more
})

const ok = (body: string) => ({ status: 200, headers: { "content-type": "text/plain" }, body })

const echo = route("POST", "/echo", (x) => Effect.map(readText(x, 1_000), ok))
const echoFirst = route("POST", "/first", (_, __, body) => Exit.succeed(ok(new TextDecoder().decode(body))), {
  bodyFirst: 1_000
})
const unread = route("POST", "/unread", () => Exit.succeed(ok("unread")))

/** A server with a few routes. */
const serving = (...routes: ReadonlyArray<Route>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { handle } = yield* HttpSurface
      return (yield* Listener).serve((request, response) => handle(request, response))
    })
  ).pipe(
    Layer.provide(Layer.effect(HttpSurface, makeHttpSurface(routes, { api: jsonFace, oauth: jsonFace }))),
    Layer.provideMerge(listener),
    Layer.fresh
  )

/** A connection to the server of the context, and the bytes received on it. */
const open = Effect.flatMap(address, (url) => openTo(Number(new URL(url).port)))

const post = (path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

describe("a client", () => {
  it.live("that disconnects interrupts its handler", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const waiting = route("GET", "/wait", () =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      )
      yield* Effect.gen(function* () {
        const { socket } = yield* open
        socket.write(get("/wait"))
        yield* Deferred.await(begun)
        socket.destroy()
        yield* Deferred.await(ended)
      }).pipe(Effect.provide(serving(waiting)))
    })
  )

  it.live("that disconnects before the end of its body never reaches the handler", () =>
    Effect.gen(function* () {
      let calls = 0
      const counted = route(
        "POST",
        "/first",
        () => {
          calls++
          return Exit.succeed(ok(""))
        },
        { bodyFirst: 1_000 }
      )
      yield* Effect.gen(function* () {
        const { socket } = yield* open
        socket.write(post("/first", "half", 100), () => socket.destroy())
        yield* closed(socket)
        const other = yield* open
        other.socket.write(post("/first", "whole"))
        yield* until(() => other.text().includes("200 OK"))
        assert.strictEqual(calls, 1)
      }).pipe(Effect.provide(serving(counted)))
    })
  )

  it.live("that pipelines requests gets an answer to each, in order, with its own body", () =>
    Effect.gen(function* () {
      const { socket, text } = yield* open
      const bodies = Array.from({ length: 20 }, (_, at) => `body ${at}`)
      socket.write(bodies.map((body, at) => post(at % 2 === 0 ? "/echo" : "/first", body)).join(""))
      yield* until(() => text().includes("body 19"))
      assert.deepStrictEqual(
        [...text().matchAll(/\r\n\r\n(body \d+)/g)].map(([, body]) => body),
        bodies
      )
    }).pipe(Effect.provide(serving(echo, echoFirst)))
  )

  it.live("can send another request when its small body was not read", () =>
    Effect.gen(function* () {
      const { socket, text } = yield* open
      socket.write(post("/unread", get("/smuggled")))
      socket.write(post("/unread", "x".repeat(10_000)))
      socket.write(post("/echo", "after"))
      yield* until(() => text().endsWith("after"))
      assert.strictEqual(text().match(/HTTP\/1\.1 200/g)?.length, 3)
      assert.notMatch(text(), /HTTP\/1\.1 404/)
    }).pipe(Effect.provide(serving(echo, unread)))
  )

  it.live("that keeps sending a refused body gets the whole answer, and is disconnected", () =>
    Effect.gen(function* () {
      for (const framing of ["Content-Length: 100000000", "Transfer-Encoding: chunked"]) {
        for (const path of ["/echo", "/first", "/unread"]) {
          const { socket, text } = yield* open
          socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`)
          const part = framing.startsWith("T") ? `10000\r\n${"x".repeat(65_536)}\r\n` : "x".repeat(65_536)
          const send = (): void => {
            if (!socket.destroyed) socket.write(part, send)
          }
          send()
          yield* closed(socket)
          assert.match(text(), path === "/unread" ? /200 OK[^]*unread$/ : /413 [^]*payload_too_large[^]*\}$/, framing)
        }
      }
    }).pipe(Effect.provide(serving(echo, echoFirst, unread)))
  )

  it.live("that sends garbage after a request gets the answer to the request first", () =>
    Effect.gen(function* () {
      for (const path of ["/page", "/later"]) {
        const { socket, text } = yield* open
        socket.write(`${get(path)}no request\r\n\r\n`)
        yield* closed(socket)
        assert.match(text(), /^HTTP\/1\.1 200 OK\r\n[^]*helloHTTP\/1\.1 400 Bad Request\r\n/, path)
      }
    }).pipe(
      Effect.provide(
        serving(
          route("GET", "/page", () => Exit.succeed(ok("hello"))),
          route("GET", "/later", () => Effect.andThen(nextTurn, Effect.succeed(ok("hello"))))
        )
      )
    )
  )

  it.live("with an unknown Expect header is answered like others", () =>
    Effect.gen(function* () {
      const { socket, text } = yield* open
      socket.write("GET /page HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nConnection: close\r\n\r\n")
      yield* closed(socket)
      assert.match(text(), /^HTTP\/1\.1 200 OK\r\n[^]*x-request-id: req_[^]*\r\n\r\nhello$/)
    }).pipe(Effect.provide(serving(route("GET", "/page", () => Exit.succeed(ok("hello"))))))
  )

  it.live("that sends HEAD gets the length of the body, and no body", () =>
    Effect.gen(function* () {
      const { socket, text } = yield* open
      socket.write("HEAD /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      yield* closed(socket)
      assert.match(text(), /^HTTP\/1\.1 200 OK\r\n[^]*content-length: 5\r\n[^]*\r\n\r\n$/i)
    }).pipe(Effect.provide(serving(route("GET", "/page", () => Exit.succeed(ok("hello"))))))
  )
})

describe("a target", () => {
  it.live("without a leading slash is not found, whatever follows", () =>
    Effect.gen(function* () {
      for (const target of ["*page", "*/page", "*"]) {
        const { socket, text } = yield* open
        socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
        yield* closed(socket)
        assert.match(text(), /^HTTP\/1\.1 404 /, target)
      }
    }).pipe(Effect.provide(serving(route("GET", "/page", () => Exit.succeed(ok("hello"))))))
  )
})

describe("an HTTP/2 request", () => {
  it.live("with a body that is too large is answered without connection headers", () =>
    Effect.gen(function* () {
      const { handle } = yield* makeHttpSurface([echoFirst], { api: jsonFace, oauth: jsonFace })
      const warnings: Array<string> = []
      const listener = (warning: Error): void => void warnings.push(warning.message)
      process.on("warning", listener)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("warning", listener)))
      const server = createServer((request, response) => Reflect.apply(handle, null, [request, response]))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
      yield* Effect.addFinalizer(() => Effect.sync(() => session.destroy()))
      const status = yield* Effect.callback<unknown>((resume) => {
        const request = session.request({ ":method": "POST", ":path": "/first", "content-length": "100000" })
        request.on("response", (headers) => resume(Effect.succeed(headers[":status"])))
        request.on("error", () => undefined)
        request.write("x")
      })
      assert.strictEqual(status, 413)
      yield* nextTurn
      assert.deepStrictEqual(warnings, [])
    })
  )
})

describe("a surface", () => {
  it.live("that closes finishes its open requests and refuses later ones", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const waiting = route("GET", "/wait", () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const scope = yield* Scope.make()
      const { fetch } = yield* Scope.provide(makeHttpSurface([waiting], { api: jsonFace, oauth: jsonFace }), scope)
      const answers: Array<Response> = []
      const ask = () => void fetch(new Request("http://localhost/wait"), null).then((answer) => answers.push(answer))
      ask()
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      ask()
      for (let turn = 0; turn < 20; turn++) yield* nextTurn
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [503, 503]
      )
      for (const answer of answers) {
        assert.include(yield* Effect.promise(() => answer.text()), "The service has stopped.")
      }
    })
  )
})

describe("a server", () => {
  it.live("that closes finishes its open requests and accepts no more", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const latch = Latch.makeUnsafe(false)
      const slow = route("GET", "/slow", () =>
        Deferred.succeed(begun, undefined).pipe(Effect.andThen(latch.await), Effect.as(ok("done")))
      )
      const texts = yield* Effect.gen(function* () {
        const idle = yield* open
        const busy = yield* open
        busy.socket.write(get("/slow"))
        yield* Deferred.await(begun)
        yield* Effect.forkDetach(Effect.andThen(closed(idle.socket), latch.open))
        return { idle: idle.text, busy }
      }).pipe(Effect.provide(serving(slow)))
      yield* closed(texts.busy.socket)
      assert.match(texts.busy.text(), /200 OK[^]*done$/)
      assert.strictEqual(texts.idle(), "")
    })
  )

  it.live("reveals nothing about a handler's defect, and logs it with the request's id", () => {
    const lines: Array<readonly [unknown, string]> = []
    const logger = Logger.make(({ fiber, message }) => {
      lines.push([fiber.getRef(References.CurrentLogAnnotations)["request_id"], String(message)])
    })
    const thrown = route("GET", "/thrown", () => {
      throw new Error("hunter2")
    })
    const died = route("GET", "/died", () => Effect.andThen(Effect.yieldNow, Effect.die(new Error("hunter2"))))
    return Effect.gen(function* () {
      const base = yield* address
      for (const path of ["/thrown", "/died"]) {
        const reply = yield* Effect.promise(() =>
          fetch(base + path, { headers: { "x-request-id": `of${path.replace("/", "-")}` } })
        )
        const text = yield* Effect.promise(() => reply.text())
        assert.strictEqual(reply.status, 500)
        assert.notInclude(text, "hunter2")
      }
      yield* until(() => lines.length === 2)
      assert.deepStrictEqual(
        lines.map(([id]) => id),
        ["of-thrown", "of-died"]
      )
    }).pipe(Effect.provide(serving(thrown, died)), Effect.provide(Logger.layer([logger])))
  })
})
