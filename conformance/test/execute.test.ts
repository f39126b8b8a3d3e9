/**
 * Executing histories: what goes over the wire, what is seen of what comes back.
 */
import { Crypto, Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { hash } from "node:crypto"
import type { Socket } from "node:net"
import { crc32 } from "node:zlib"
import { read } from "../src/checks/Reading.ts"
import { defaultTerms } from "../src/checks/Terms.ts"
import { everyLoadedAttempt } from "../src/checks/UnderLoad.ts"
import { makeBarrier } from "../src/executor/Barrier.ts"
import { pausesFor } from "../src/executor/Deliveries.ts"
import type { HttpRequest } from "../src/observed/HttpRequest.ts"
import { open } from "../src/executor/Connection.ts"
import { execute } from "../src/executor/Execute.ts"
import { Minting } from "../src/executor/Minting.ts"
import type { Setting } from "../src/executor/Setting.ts"
import { shortfallsOf } from "../src/executor/Shortfalls.ts"
import { accessLog, call } from "../src/history/Events.ts"
import type { Operation } from "../src/history/History.ts"
import { again, newEvent, raceAgain, raceNew, retry } from "../src/history/History.ts"
import { acknowledge, receiver, socketReceiver } from "./support/receiver.ts"
import { settingOf } from "./support/setting.ts"

const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))
const secret = Redacted.make("whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI=")

const request: HttpRequest = { method: "POST", headers: {}, body: "{}", encoding: "utf8" }

const terms = { ...defaultTerms, deadline: 2_000 }

/** Executes operations against a receiver, with nothing besides but what is said. */
const executed = (url: string, ops: ReadonlyArray<Operation>, others: Partial<Omit<Setting, "url">> = {}) =>
  execute({ v: 1, ops }, settingOf(new URL(url), { secret, terms, fillerTime: 1_000, ...others })).pipe(
    Effect.provide(services)
  )

const run = (url: string, ...ops: ReadonlyArray<Operation>) => executed(url, ops)

/** One request, answered with these bytes. */
const exchangeWith = (bytes: string | ((socket: Socket) => void), limit = 2_000) =>
  Effect.gen(function* () {
    const url = yield* socketReceiver((socket) => {
      socket.on("data", () => (typeof bytes === "string" ? socket.write(bytes) : bytes(socket)))
    })
    const connection = yield* open(new URL(url))
    return (yield* connection.post(request, limit)).exchange
  })

describe("retries until an acknowledgement", () => {
  it.each([200, 2_000, 5_000, 20_000, 60_000])("outlast an attempt before them, at a deadline of %i ms", (deadline) => {
    const lasts = pausesFor({ ...defaultTerms, deadline }).reduce((sum, pause) => sum + pause, 0)
    assert.isAbove(lasts, deadline + defaultTerms.guard)
    assert.isAtLeast(lasts, 5_650)
  })
})

describe("a history", () => {
  it.live("says what of it was not done in full", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const ops: ReadonlyArray<Operation> = [
        { k: "idle", ms: 2_000 },
        { k: "filler", count: 5 },
        { k: "filler", count: 100_000 }
      ]
      const { trace } = yield* executed(target.url, ops, { pace: 0.01, fillerTime: 200 })
      const [waited, filled] = trace.shortfalls
      assert.deepStrictEqual(waited, { op: 0, what: "wait", done: 20, of: 2_000 })
      assert.deepInclude(filled, { op: 2, what: "events", of: 100_000 })
      assert.strictEqual((filled?.done ?? 0) + 5, trace.events.length)
      const [line] = shortfallsOf([{ title: "many", trace }])
      assert.match(line ?? "", /^many: 0.02 s of 2 s waited, \d+ of 100000 events$/)
    })
  )

  it.live("is given up after three answers that did not come", () =>
    Effect.gen(function* () {
      const target = yield* receiver(() => undefined)
      const ops = [newEvent(accessLog), ...Array.from({ length: 9 }, () => again(0, retry))]
      const { broke, trace } = yield* executed(target.url, ops, { terms: { ...terms, deadline: 30, guard: 10 } })
      assert.isNull(broke)
      assert.strictEqual(trace.attempts.length, 3)
      assert.deepStrictEqual(trace.shortfalls, [{ op: 3, what: "steps", done: 3, of: 10 }])
    })
  )

  it.live("has twins that a short hash takes for one", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, { k: "twins", event: accessLog, kind: "same_hash_32" })
      const ids = trace.events.map(({ webhookId }) => webhookId)
      assert.strictEqual(new Set(ids).size, 10)
      const first32Bits = (algorithm: string) => (id: string) => hash(algorithm, id, "hex").slice(0, 8)
      const fnv1a = (id: string) =>
        Array.from(id).reduce((value, one) => Math.imul(value ^ one.charCodeAt(0), 0x01000193), 0x811c9dc5 | 0)
      const hashCode = (id: string) =>
        Array.from(id).reduce((value, one) => (Math.imul(31, value) + one.charCodeAt(0)) | 0, 0)
      const hashes = [first32Bits("sha256"), first32Bits("md5"), fnv1a, crc32, hashCode]
      for (const [index, digest] of hashes.entries()) {
        const [one = "", other = ""] = ids.slice(2 * index)
        assert.strictEqual(digest(one), digest(other), `pair ${index + 1}`)
      }
    })
  )

  it.live("sends each event as doorhook does, repeated as it says", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { broke, trace } = yield* run(
        target.url,
        newEvent(accessLog),
        newEvent(call),
        again(0, []),
        again(2, retry),
        again(1, ["new_connection"]),
        again(0, ["reencoded"])
      )
      assert.isNull(broke)
      assert.deepStrictEqual(
        trace.attempts.map(({ event, first, number, op, reused }) => [op, event, number, first, reused]),
        [
          [0, 0, 1, true, false],
          [1, 1, 1, true, true],
          [2, 0, 1, false, true],
          [3, 0, 2, false, true],
          [4, 1, 1, false, false],
          [5, 0, 2, false, true]
        ]
      )
      const [first, , same, retried, , spaced] = target.received
      assert.strictEqual(same?.body, first?.body)
      assert.deepStrictEqual(same?.headers, first?.headers)
      assert.strictEqual(retried?.body, first?.body)
      assert.strictEqual(retried?.headers["doorhook-attempt"], "2")
      assert.notStrictEqual(spaced?.body, first?.body)
      assert.deepStrictEqual(JSON.parse(spaced?.body ?? ""), JSON.parse(first?.body ?? ""))
      for (const { body, headers } of target.received) {
        const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
        const now = Number(flat["webhook-timestamp"]) * 1_000
        const problem = yield* Effect.provide(Signature.verify(secret, flat, body, now), Crypto.layerWebCrypto)
        assert.isNull(problem)
      }
    })
  )

  it.live("does not charge a receiver with what the suite takes its time over: it counts from the last byte", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((_, response) => void setTimeout(() => response.end("ok"), 250))
      // One that knows nothing of expect: 100-continue, and reads a body when there is one.
      const deaf = yield* socketReceiver((socket) => {
        let got = ""
        socket.on("data", (chunk) => {
          got += String(chunk)
          if (got.endsWith("}}}")) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        })
      })
      const hurried = { ...terms, deadline: 600 }
      for (const [how, target] of [
        ["slow", url],
        ["chunked", url],
        ["expect", url],
        ["expect", deaf]
      ] as const) {
        const { trace } = yield* executed(target, [newEvent(accessLog, [how])], { terms: hurried })
        assert.strictEqual(read(trace.attempts[0]?.exchange ?? assert.fail(), hurried), "acknowledged", how)
      }
    })
  )

  it.live("sends copies at once over connections of their own", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const target = yield* receiver((_, response) => {
        held.push(() => response.end())
        if (held.length % 3 === 0) held.splice(0).forEach((release) => release())
      })
      const { trace } = yield* run(target.url, raceNew(accessLog, 3), raceAgain(0, 3))
      assert.sameDeepMembers(
        trace.attempts.map(({ first, number, raced }) => [number, first, raced]),
        [
          [1, true, true],
          [2, true, true],
          [3, true, true],
          [4, false, true],
          [5, false, true],
          [6, false, true]
        ]
      )
      assert.strictEqual(new Set(target.received.map(({ headers }) => headers["webhook-id"])).size, 1)
    })
  )

  it.live("sends again over a new connection what a closed one did not take", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response, socket) => {
        // The next request on this connection is reset.
        socket.once("data", () => socket.resetAndDestroy())
        response.end("ok")
      })
      const { trace } = yield* run(target.url, newEvent(accessLog), newEvent(accessLog))
      assert.deepStrictEqual(
        trace.attempts.map(({ exchange, reused }) => [exchange._tag, reused]),
        [
          ["Answered", false],
          ["Answered", false]
        ]
      )
    })
  )

  it.live("ends where the receiver can't be reached any more, with what was done", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => {
        response.setHeader("connection", "close").end("ok", () => target.die())
      })
      const { broke, trace } = yield* run(target.url, newEvent(accessLog), again(0, retry))
      assert.include(broke?.message, "3 times in a row")
      assert.strictEqual(trace.attempts.length, 1)
    })
  )

  it.live("any part of one is one: a reference to nothing does nothing", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, again(0, retry), raceAgain(3, 2), newEvent(accessLog))
      assert.strictEqual(trace.attempts.length, 1)
    })
  )
})

describe("a barrier", () => {
  it.live("lets all go on in one turn, in the order of their places, once all are there", () =>
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
        // Whoever is late goes on at once.
        barrier.arrive(3, () => resume(Effect.void))
      }
      for (const place of [2, 0, 1]) barrier.arrive(place, goOn(place))
      assert.deepStrictEqual(went, [])
    })
  )

  it.live("does not wait for ever for one that does not come", () =>
    Effect.callback<void>((resume) => {
      makeBarrier(2).arrive(0, () => resume(Effect.void))
    })
  )
})

describe("a load", () => {
  it.live("charges no receiver with the suite's own want of connections", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => void setTimeout(() => response.end("ok"), 1_000))
      const ops: ReadonlyArray<Operation> = [{ k: "load", factor: 1, ms: 2_000 }]
      const wide = { ...terms, guard: 350 }
      const { trace } = yield* executed(target.url, ops, { peakRate: 400, typical: () => 1_000, terms: wide })
      assert.strictEqual(trace.attempts.length, 800)
      const [shortfall] = trace.shortfalls
      assert.deepInclude(shortfall, { op: 0, what: "connections", of: 800 })
      const late = trace.attempts.filter(({ exchange }) => read(exchange, wide) === "late")
      assert.isAtMost(800 - (shortfall?.done ?? 0), late.length, "none that came at the deadline")
      const finding = everyLoadedAttempt(trace, wide)
      assert.strictEqual(finding.verdict, "INCONCLUSIVE")
      assert.match(finding.verdict === "INCONCLUSIVE" ? finding.observed : "", /^\d+ of 800 answers came in time, but/)
      const [line] = shortfallsOf([{ title: "load", trace }])
      assert.match(line ?? "", /^load: \d+ of 800 events late for want of a free connection of the suite's own$/)
    })
  )

  it.live("fails a receiver that falls behind a rate it would keep up with, were it as quick as alone", () =>
    Effect.gen(function* () {
      let last = Promise.resolve()
      const target = yield* receiver((_, response) => {
        last = last
          .then(() => new Promise((resolve) => void setTimeout(resolve, 3)))
          .then(() => void response.end("ok"))
      })
      const ops: ReadonlyArray<Operation> = [{ k: "load", factor: 1, ms: 300 }]
      const short = { ...terms, deadline: 1_000 }
      const { trace } = yield* executed(target.url, ops, { peakRate: 2_000, typical: () => 3, terms: short })
      assert.deepStrictEqual(trace.shortfalls, [])
      assert.deepInclude(everyLoadedAttempt(trace, short), { verdict: "FAIL", timing: true })
    })
  )
})

describe("volleys", () => {
  it.live("send each event in its copies behind other events, and keep to their time", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, { k: "volleys", event: call, copies: 3, rounds: 2 })
      assert.deepStrictEqual(
        trace.events.map(({ bulk, resourceType }) => [bulk, resourceType]),
        [1, 2].flatMap(() => [...Array.from({ length: 4 }, () => [true, "access_log"]), [false, "call"]])
      )
      assert.strictEqual(trace.attempts.length, 14)
      assert.isTrue(trace.attempts.every(({ exchange, kind }) => exchange._tag === "Answered" && kind === "load"))
      for (const { bulk, webhookId } of trace.events) {
        const copies = target.received.filter(({ headers }) => headers["webhook-id"] === webhookId)
        assert.strictEqual(copies.length, bulk ? 1 : 3)
        assert.isTrue(copies.every(({ body }) => body === copies[0]?.body && JSON.parse(body) !== null))
      }
      const volleys: Operation = { k: "volleys", event: call, copies: 3, rounds: 2 }
      const hurried = yield* executed(target.url, [volleys], { fillerTime: 0 })
      assert.deepStrictEqual(hurried.trace.shortfalls, [{ op: 0, what: "events", done: 0, of: 2 }])
    })
  )
})

describe("an exchange", () => {
  it.live("is seen whole", () =>
    Effect.gen(function* () {
      const exchange = yield* exchangeWith(
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

  const broken: ReadonlyArray<readonly [what: string, bytes: string]> = [
    ["longer than announced", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokay"],
    ["followed by another answer", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".repeat(2)],
    ["chunked wrongly", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"]
  ]
  it.live.each(broken)("is seen to be %s", ([, bytes]) =>
    Effect.gen(function* () {
      assert.deepInclude(yield* exchangeWith(bytes), { status: 200, ending: "malformed" })
    })
  )

  it.live("is seen to be cut off, unfinished, reset or not HTTP", () =>
    Effect.gen(function* () {
      const head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"
      assert.deepInclude(yield* exchangeWith((socket) => socket.end(head)), { ending: "cut_off", bytes: 2 })
      assert.deepInclude(yield* exchangeWith(head, 100), { ending: "unfinished", status: 200, bytes: 2 })
      assert.deepInclude(yield* exchangeWith((socket) => socket.resetAndDestroy()), { outcome: "connection_reset" })
      assert.deepInclude(yield* exchangeWith("hello\r\n\r\n"), { outcome: "invalid_response", connected: true })
      assert.deepInclude(yield* exchangeWith(() => undefined, 100), { outcome: "timeout", connected: true })
      // What only announces an answer is none.
      assert.deepInclude(yield* exchangeWith("HTTP/1.1 103 Early Hints\r\n\r\n", 100), { outcome: "timeout" })
    })
  )

  it.live("that runs out of time, or is interrupted, closes its connection", () =>
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
      yield* connection.post(request, 50)
      yield* until(() => closed === 1)
      const fiber = yield* Effect.forkChild(connection.post(request, 60_000))
      yield* until(() => arrived === 2)
      yield* Fiber.interrupt(fiber)
      yield* until(() => closed === 2)
    })
  )

  it.live("with nobody there never began", () =>
    Effect.gen(function* () {
      const connection = yield* open(new URL("http://127.0.0.1:1/"))
      const { exchange } = yield* connection.post(request, 2_000)
      assert.deepInclude(exchange, { outcome: "connection_refused", connected: false })
    })
  )
})
