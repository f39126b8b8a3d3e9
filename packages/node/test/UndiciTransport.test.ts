import { assert, describe, it } from "@effect/vitest"
import type { Transport } from "@doorhook/core"
import { Acknowledgement } from "@doorhook/core"
import { provideEach, TransportSuite } from "@doorhook/core/testing"
import { NameLookup, UndiciTransport } from "@doorhook/node"
import { Effect, Fiber, Layer } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { setImmediate } from "node:timers/promises"
import { createSecureContext, TLSSocket } from "node:tls"
import { Worker } from "node:worker_threads"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { answers, answersAndEnds, ok, onRequest, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { isSecure, secured } from "@doorhook/testkit/hostile/Tls"
import * as ScriptedReceiver from "@doorhook/testkit/ScriptedReceiver"
import { detailOf, outcomeOf, post } from "./Posting.ts"

const test = (
  name: string,
  body: Effect.Effect<void, never, Transport | Scope.Scope>,
  options: UndiciTransport.UndiciTransportOptions = {}
) => it.live(name, () => Effect.scoped(body.pipe(Effect.provide(UndiciTransport.layer(options)))))

const authority = makeAuthority()

/** Indexes of the flags that a test shares with a receiver in another thread. `never` stays 0. */
const [arrived, mayAnswer, answered, never] = [0, 1, 2, 3]

/**
 * Makes a lookup that runs one query at a time; queries end when `end` resolves. `waits` resolves when another query
 * has to wait.
 */
const oneAtOnce = (end: Promise<unknown>) => {
  const waits = Promise.withResolvers<void>()
  const shared = NameLookup.sharing(() => end.then(() => ["127.0.0.1"]), { total: 1, perClient: 1, slow: 1 })
  const lookup: NameLookup.NameLookup = (name, asker) =>
    shared(name, {
      ...asker,
      onWait: () => {
        asker.onWait?.()
        waits.resolve()
      }
    })
  return { lookup, waits: waits.promise }
}

/** Posts concurrently to two names, both for the receiver at this port. */
const postToTwoNames = (port: number, deadline: number) =>
  Effect.forEach(["one", "other"], (name) => post(`http://${name}.example:${port}/`, { deadline }), { concurrency: 2 })

/** Behaviours of a receiver in a thread. `closes` answers the first request and closes the connection at the second. */
type Conduct = "answers" | "says nothing" | "closes"

/**
 * Starts a receiver in a thread, which runs until the scope ends. The receiver sets `arrived`, waits for `mayAnswer`,
 * acts, and sets `answered`.
 */
const receiverInThread = (data: { readonly flags: Int32Array; readonly conduct: Conduct }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const thread = new Worker(
        `const { createServer } = require("node:http")
        const { parentPort, workerData: { flags, conduct } } = require("node:worker_threads")
        const set = (flag) => { Atomics.store(flags, flag, 1); Atomics.notify(flags, flag) }
        let requests = 0
        const server = createServer((request, response) => request.resume().on("end", () => {
          if (++requests === 1 && conduct === "closes") return response.end("ok")
          set(${arrived})
          Atomics.wait(flags, ${mayAnswer}, 0)
          if (conduct === "answers") return response.end("ok", () => set(${answered}))
          if (conduct === "closes") request.socket.destroy()
          set(${answered})
        }))
        server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port))`,
        { eval: true, workerData: data }
      )
      const [port]: ReadonlyArray<unknown> = await once(thread, "message")
      return { port, thread }
    }),
    ({ thread }) => Effect.promise(() => thread.terminate())
  ).pipe(Effect.map(({ port }) => Number(port)))

describe("UndiciTransport", () => {
  for (const { name, run } of provideEach(
    TransportSuite.cases,
    Layer.merge(UndiciTransport.layer(), ScriptedReceiver.layer)
  )) {
    it.live(name, () => run)
  }

  test(
    "reuses a connection as soon as its answer has ended",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      for (let i = 0; i < 50; i++) assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
      assert.strictEqual(receiver.accepted(), 1)
    })
  )

  {
    const addresses = ["127.0.0.1", "127.0.0.2"]
    test(
      "resolves a name again after the maximum age of its connection",
      Effect.gen(function* () {
        const one = yield* serve(answers(ok))
        const other = yield* serve(answers(ok), { host: "127.0.0.2", port: one.port })
        const url = `http://receiver.example:${one.port}/`
        for (let i = 0; i < 2; i++) assert.strictEqual(outcomeOf(yield* post(url)), 200)
        assert.deepStrictEqual([one.accepted(), other.accepted()], [1, 1])
      }),
      { maxAge: 0, lookup: () => Promise.resolve(addresses.splice(0, 1)) }
    )
  }

  test(
    "supports deadlines beyond the range of a timer",
    Effect.gen(function* () {
      const { url } = yield* serve((socket) => onRequest(socket, () => void setTimeout(() => socket.write(ok), 50)))
      assert.strictEqual(outcomeOf(yield* post(url, { deadline: 30 * 86_400_000 })), 200)
    })
  )

  test(
    "keeps the process alive while requests are open, with one timer for all",
    Effect.gen(function* () {
      const timers = () => process.getActiveResourcesInfo().filter((type) => type === "Timeout").length
      const before = timers()
      for (let i = 0; i < 2; i++) {
        const posting = yield* Effect.forEach(Array.from({ length: 20 }), () =>
          Effect.forkChild(post("http://receiver.example/"), { startImmediately: true })
        )
        assert.strictEqual(timers() - before, 1)
        yield* Fiber.interruptAll(posting)
        assert.strictEqual(timers() - before, 0)
      }
    }),
    { lookup: () => new Promise(() => undefined) }
  )

  test(
    "ignores an answer after the deadline, even before the timer has fired",
    Effect.gen(function* () {
      const deadlines = Array.from({ length: 20 }, (_, nth) => 500 + 37 * nth)
      const outcomes = yield* Effect.forEach(
        deadlines,
        Effect.fnUntraced(function* (deadline) {
          const { url } = yield* serve((socket) =>
            onRequest(socket, () => void setTimeout(() => socket.write(ok), deadline + 5))
          )
          return outcomeOf(yield* post(url, { deadline }))
        }),
        { concurrency: "unbounded" }
      )
      // A busy machine might block the process for longer than some of the deadlines.
      assert.isAbove(outcomes.filter((outcome) => outcome === "timeout").length, 10)
    })
  )

  test(
    "opens one connection for each concurrent request",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const results = yield* Effect.all(
        Array.from({ length: 20 }, () => post(receiver.url)),
        { concurrency: 20 }
      )
      assert.deepStrictEqual(new Set(results.map(outcomeOf)), new Set([200]))
      assert.strictEqual(receiver.accepted(), 20)
    })
  )

  test(
    "limits idle connections, and closes those that have been idle longest",
    Effect.gen(function* () {
      const receivers = yield* Effect.all(Array.from({ length: 5 }, () => serve(answers(ok))))
      for (const { url } of receivers) yield* post(url)
      yield* Effect.forEach(receivers.slice(0, 3), ({ allClosed }) => Effect.promise(allClosed))
      assert.deepStrictEqual(
        receivers.map(({ open }) => open()),
        [0, 0, 0, 1, 1]
      )
    }),
    { maxIdle: 2 }
  )

  test(
    "limits how long a connection is idle, whatever the receiver offers",
    Effect.gen(function* () {
      const receiver = yield* serve(
        answers("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nkeep-alive: timeout=600\r\ncontent-length: 2\r\n\r\nok")
      )
      yield* post(receiver.url)
      yield* Effect.promise(receiver.allClosed)
    }),
    { keepAlive: 50 }
  )

  test(
    "opens a new connection when the receiver closes each",
    Effect.gen(function* () {
      const receiver = yield* serve(answersAndEnds(ok))
      for (let i = 0; i < 20; i++) {
        assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
        yield* Effect.promise(receiver.allClosed)
      }
    })
  )

  test(
    "uses the first of several retry-after headers",
    Effect.gen(function* () {
      const { url } = yield* serve(
        answers("HTTP/1.1 503 Busy\r\nretry-after: 7\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n")
      )
      assert.deepInclude(yield* post(url), { status: 503, retry_after: "7" })
    })
  )

  test(
    "speaks HTTP/1.1 over TLS, on one connection",
    Effect.gen(function* () {
      const receiver = yield* serve(isSecure(authority), { scheme: "https" })
      for (let i = 0; i < 3; i++) assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
      assert.strictEqual(receiver.accepted(), 1)
    }),
    { authorities: [authority.cert] }
  )

  {
    const asked: Array<string | false | null> = []
    const certificate = authority.issue("receiver.example")
    test(
      "sends a server name without its trailing dot",
      Effect.gen(function* () {
        const { port } = yield* serve((socket) => {
          const secureContext = createSecureContext(certificate)
          const secure = new TLSSocket(socket, { isServer: true, secureContext })
          secure.on("error", () => socket.destroy())
          secure.on("secure", () => asked.push(secure.servername))
          answers(ok)(secure)
        })
        assert.strictEqual(outcomeOf(yield* post(`https://receiver.example.:${port}/`)), 200)
        assert.deepStrictEqual(asked, ["receiver.example"])
      }),
      { authorities: [authority.cert], lookup: () => Promise.resolve(["127.0.0.1"]) }
    )
  }

  {
    let requests = 0
    const closesWhenReused = secured(authority.issue("127.0.0.1"), (socket) => {
      let nth = 0
      onRequest(socket, () => {
        requests++
        if (++nth === 1) socket.write(ok)
        else socket.end()
      })
    })
    test(
      "also repeats a request over TLS, where handshake bytes don't count as an answer",
      Effect.gen(function* () {
        const receiver = yield* serve(closesWhenReused, { scheme: "https" })
        for (let i = 0; i < 3; i++) assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
        assert.deepStrictEqual([requests, receiver.accepted()], [5, 3])
      }),
      { authorities: [authority.cert] }
    )
  }

  {
    const end = Promise.withResolvers<void>()
    const { lookup, waits } = oneAtOnce(end.promise)
    let requests = 0
    test(
      "reports a sent but unanswered request as a timeout, even if its lookup had to wait",
      Effect.gen(function* () {
        const receiver = yield* serve((socket) => onRequest(socket, () => void requests++))
        void waits.then(end.resolve)
        const results = yield* postToTwoNames(receiver.port, 1_000)
        assert.strictEqual(requests, 2)
        assert.deepStrictEqual(results.map(detailOf), ["no answer within 1000 ms", "no answer within 1000 ms"])
      }),
      { lookup }
    )
  }

  {
    const { lookup } = oneAtOnce(new Promise(() => undefined))
    test(
      "does not blame the receiver if the lookup of its name had to wait until the deadline",
      Effect.gen(function* () {
        const results = yield* postToTwoNames(1, 100)
        assert.deepStrictEqual(results.map(outcomeOf), ["timeout", "busy"])
        assert.match(
          String(results.map(detailOf)[1]),
          /^other\.example could not be looked up in time: .* UV_THREADPOOL_SIZE/
        )
      }),
      { lookup }
    )
  }

  describe("after the event loop was blocked beyond the deadline", () => {
    const deadline = 1_000

    /**
     * Posts a request. Blocks the event loop from the request's arrival until the receiver has acted and the deadline
     * has expired.
     */
    const postAndBlock = Effect.fnUntraced(function* (conduct: Conduct) {
      const flags = new Int32Array(new SharedArrayBuffer(16))
      const set = (flag: number): void => {
        Atomics.store(flags, flag, 1)
        Atomics.notify(flags, flag)
      }
      const port = yield* receiverInThread({ flags, conduct })
      const url = `http://receiver.example:${port}/`
      if (conduct === "closes") assert.strictEqual(outcomeOf(yield* post(url)), 200)
      const posting = yield* Effect.forkChild(post(url, { deadline }))
      while (Atomics.load(flags, arrived) === 0) yield* Effect.promise(() => setImmediate())
      set(mayAnswer)
      Atomics.wait(flags, answered, 0)
      // After the first block, the loop reads the end of the connection, and reports it in a later turn.
      if (conduct === "closes") yield* Effect.promise(() => setImmediate())
      Atomics.wait(flags, never, 0, deadline + 200)
      return yield* Fiber.join(posting)
    })

    let lookUps = 0
    const lookup = () => {
      lookUps++
      return Promise.resolve(["127.0.0.1"])
    }

    test(
      "accepts an answer that had arrived in time",
      Effect.gen(function* () {
        const result = yield* postAndBlock("answers")
        assert.isAbove(result.elapsed, deadline)
        assert.deepInclude(result, { _tag: "Answered", excerpt: "ok", headers_elapsed: deadline })
        if (result._tag === "Answered")
          assert.strictEqual(Acknowledgement.judge(result, deadline, "200"), "acknowledged")
      }),
      { lookup }
    )

    test(
      "gives up on a receiver that has not answered",
      Effect.gen(function* () {
        assert.strictEqual(outcomeOf(yield* postAndBlock("says nothing")), "timeout")
      }),
      { lookup }
    )

    test(
      "opens no new connection if the kept one was closed",
      Effect.gen(function* () {
        const before = lookUps
        assert.strictEqual(outcomeOf(yield* postAndBlock("closes")), "connection_reset")
        assert.strictEqual(lookUps - before, 1)
      }),
      { lookup }
    )
  })

  test(
    "trusts only known authorities",
    Effect.gen(function* () {
      const { url } = yield* serve(isSecure(authority), { scheme: "https" })
      assert.strictEqual(outcomeOf(yield* post(url)), "tls")
    })
  )

  test(
    "reports an impossible port as one where nobody listens",
    Effect.gen(function* () {
      assert.strictEqual(outcomeOf(yield* post("http://127.0.0.1:0/")), "connection_refused")
    })
  )

  it.live("closes its connections when the scope closes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const receiver = yield* serve(answers(ok))
        yield* post(receiver.url).pipe(Effect.provide(UndiciTransport.layer()))
        yield* Effect.promise(receiver.allClosed)
      })
    )
  )
})
