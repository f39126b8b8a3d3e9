/**
 * The execution of histories: what is sent, and what is recorded about the answers.
 */
import { Crypto, Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { hash } from "node:crypto"
import { createServer } from "node:http"
import { crc32 } from "node:zlib"
import { pausesFor } from "../src/execution/Deliveries.ts"
import { withInterventions } from "../src/execution/Execution.ts"
import { execute } from "../src/execution/Perform.ts"
import { accessLog, call, twins } from "../src/history/Events.ts"
import { again, cutNew, inBody, newEvent, raceAgain, raceNew } from "../src/history/History.ts"
import type { Operation } from "../src/history/Operations.ts"
import { carriers, retry, variations } from "../src/history/Variations.ts"
import type { Variation } from "../src/history/Variations.ts"
import { HookFailed, noHooks } from "../src/hooks/Hooks.ts"
import { defaultCriteria, classify, restsOnTime } from "../src/judgement/Criteria.ts"
import { acknowledge, answer, receiver, serialReceiver, socketReceiver } from "./support/receiver.ts"
import type { Received } from "./support/receiver.ts"
import { executed, secret, services, settingOf, criteria } from "./support/setting.ts"

const run = (url: string, ...ops: ReadonlyArray<Operation>) => executed(url, ops)

const verified = ({ body, headers }: Received) => {
  const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  return Effect.provide(Signature.verify(secret, flat, body, Date.now()), Crypto.layerWebCrypto)
}

describe("retries until an acknowledgement", () => {
  it.each([200, 2_000, 5_000, 20_000, 60_000])("outlast an earlier attempt at a deadline of %i ms", (deadline) => {
    const lasts = pausesFor({ ...defaultCriteria, deadline }).reduce((sum, pause) => sum + pause, 0)
    assert.isAbove(lasts, deadline + defaultCriteria.guard)
    assert.isAtLeast(lasts, 5_650)
  })
})

describe("a history", () => {
  it.live("records what was not done in full", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const ops: ReadonlyArray<Operation> = [
        { k: "idle", ms: 2_000 },
        { k: "filler", count: 5 },
        { k: "filler", count: 100_000 }
      ]
      const { trace } = yield* executed(target.url, ops, { pace: 0.01, fillerTime: 1_000 })
      const [waited, filled] = trace.shortfalls
      assert.deepStrictEqual(waited, { op: 0, what: "wait", done: 20, of: 2_000 })
      assert.deepInclude(filled, { op: 2, what: "events", of: 100_000 })
      assert.strictEqual((filled?.done ?? 0) + 5, trace.events.length)
    })
  )

  it.live("is given up after three missing answers", () =>
    Effect.gen(function* () {
      const target = yield* receiver(() => undefined)
      const ops = [newEvent(accessLog), ...Array.from({ length: 9 }, () => again(0, retry))]
      const { broke, trace } = yield* executed(target.url, ops, { criteria: { ...criteria, deadline: 30, guard: 10 } })
      assert.isNull(broke)
      assert.strictEqual(trace.attempts.length, 3)
      assert.deepStrictEqual(trace.shortfalls, [{ op: 3, what: "steps", done: 3, of: 10 }])
    })
  )

  it.live("sends events as doorhook does, and repeats them as its operations say", () =>
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
      assert.notStrictEqual(retried?.headers["webhook-timestamp"], first?.headers["webhook-timestamp"])
      assert.notStrictEqual(spaced?.body, first?.body)
      assert.deepStrictEqual(JSON.parse(spaced?.body ?? ""), JSON.parse(first?.body ?? ""))
      for (const one of target.received) assert.isNull(yield* verified(one))
      assert.deepInclude(trace, { otherEvents: 0, interventions: [], shortfalls: [] })
    })
  )

  /** For each variation, whether a received request shows it. */
  const shown: Readonly<Partial<Record<Variation, (one: Received, plain: Received) => boolean>>> = {
    next_attempt: ({ headers }) => headers["doorhook-attempt"] === "2",
    aged: ({ headers }) => Number(headers["webhook-timestamp"]) * 1_000 < Date.now() - 60_000,
    old_stamp: ({ headers }) => Math.abs(Date.now() - 240_000 - Number(headers["webhook-timestamp"]) * 1_000) < 5_000,
    early_stamp: ({ headers }) => Math.abs(Date.now() + 240_000 - Number(headers["webhook-timestamp"]) * 1_000) < 5_000,
    reordered: ({ body }, plain) => body !== plain.body,
    escaped: ({ body }) => body.includes(String.raw`"name":"\u0044`),
    close: ({ headers }) => headers["connection"] === "close",
    chunked: ({ headers }) => headers["transfer-encoding"] === "chunked",
    expect: ({ headers }) => headers["expect"] === "100-continue",
    content_type_charset: ({ headers }) => headers["content-type"] === "application/json; charset=utf-8",
    content_type_case: ({ headers }) => headers["content-type"] === "Application/JSON;charset=UTF-8",
    changed: ({ body }) => body.includes("Somebody Else"),
    signature_last: ({ headers }) => /^v1,\S+ v1,\S+$/.test(String(headers["webhook-signature"])),
    signature_among_unknown: ({ headers }) => /^v2,.* v1a,.* v1,.* v9,/.test(String(headers["webhook-signature"]))
  }
  it.live.each(Struct.keys(variations))("sends a genuine event with the variation %s", (variation) =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, newEvent(accessLog), again(0, [variation]))
      const [plain, varied] = target.received
      if (plain === undefined || varied === undefined) return assert.fail("two requests")
      assert.isNull(yield* verified(varied))
      assert.isTrue(shown[variation]?.(varied, plain) ?? true, JSON.stringify(varied))
      assert.strictEqual(varied.headers["webhook-id"], plain.headers["webhook-id"])
      const same = JSON.stringify(JSON.parse(varied.body)) === JSON.stringify(JSON.parse(plain.body))
      assert.strictEqual(same, variation !== "changed" && variation !== "reordered")
      assert.isTrue(trace.attempts.every(({ exchange }) => classify(exchange, criteria) === "acknowledged"))
    })
  )

  it.live("measures the time of an answer from the last byte of the request", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((_, response) => void setTimeout(() => response.end("ok"), 250))
      // A receiver that ignores expect: 100-continue and waits for the body.
      const deaf = yield* socketReceiver((socket) => {
        let got = ""
        socket.on("data", (chunk) => {
          got += String(chunk)
          if (got.endsWith("}}}")) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        })
      })
      const hurried = { ...criteria, deadline: 600 }
      for (const [how, target] of [
        ["slow", url],
        ["chunked", url],
        ["expect", url],
        ["expect", deaf]
      ] as const) {
        const { trace } = yield* executed(target, [newEvent(accessLog, [how])], { criteria: hurried })
        assert.strictEqual(classify(trace.attempts[0]?.exchange ?? assert.fail(), hurried), "acknowledged", how)
      }
    })
  )

  it.live("sends simultaneous copies over separate connections", () =>
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

  it.live("repeats a request over a new connection if the old one was closed, and records both", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response, socket) => {
        // The next request on this connection is reset.
        socket.once("data", () => socket.resetAndDestroy())
        response.end("ok")
      })
      const { trace } = yield* run(target.url, newEvent(accessLog), newEvent(accessLog))
      assert.deepStrictEqual(
        trace.attempts.map(({ exchange, first, kind, number, reused }) => [exchange._tag, kind, first, number, reused]),
        [
          ["Answered", "delivery", true, 1, false],
          ["Failed", "cut", true, 1, true],
          ["Answered", "delivery", true, 1, false]
        ]
      )
    })
  )

  it.live("ends when the receiver can't be reached, with the attempts so far", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => {
        response.setHeader("connection", "close").end("ok", () => target.die())
      })
      const { broke, trace } = yield* run(target.url, newEvent(accessLog), again(0, retry))
      assert.include(broke?.message, "in 3 tries")
      assert.strictEqual(trace.attempts.length, 1)
    })
  )

  it.live("waits for a receiver that the suite starts, or reports why it ended", () =>
    Effect.gen(function* () {
      const ended = new HookFailed({ message: "--spawn ended with code 1: no disk" })
      const late = yield* Effect.acquireRelease(
        Effect.sync(() => createServer((request, response) => request.resume().on("end", () => response.end("ok")))),
        (server) => Effect.sync(() => server.close())
      )
      for (const ready of ["late", "ended"] as const) {
        const target = yield* receiver((_, response) => {
          response.setHeader("connection", "close").end("ok", () => target.die())
        })
        const listen = Effect.callback<void>((resume) => {
          late.listen(Number(new URL(target.url).port), "127.0.0.1", () => resume(Effect.void))
        })
        const hooks = { ...noHooks, startsIt: true, ready: ready === "late" ? listen : Effect.fail(ended) }
        const { broke, trace } = yield* executed(target.url, [newEvent(accessLog), again(0, retry)], { hooks })
        assert.strictEqual(broke?.message, ready === "late" ? undefined : ended.message)
        assert.strictEqual(trace.attempts.length, ready === "late" ? 2 : 1)
      }
    })
  )

  it.live("ignores references to missing events, so that any part of a history is a history", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, again(0, retry), raceAgain(3, 2), newEvent(accessLog))
      assert.strictEqual(trace.attempts.length, 1)
    })
  )

  it.live("works with a receiver that serves one connection at a time", () =>
    Effect.gen(function* () {
      const { trace } = yield* run(
        yield* serialReceiver,
        newEvent(accessLog),
        again(0, ["close"]),
        newEvent(accessLog),
        { k: "method_again", ref: 0, method: "GET", with_body: false },
        newEvent(accessLog),
        { k: "forged", event: accessLog, kind: "random", by: "plain" },
        newEvent(accessLog)
      )
      assert.deepStrictEqual(
        trace.attempts.map(({ exchange }) => exchange._tag),
        trace.attempts.map(() => "Answered")
      )
    })
  )

  it.live("counts the events that other histories sent in the meantime", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const setting = settingOf(new URL(target.url))
      const context = { title: "one", allElseDone: Effect.void, fillerTime: 0 }
      const ops = [newEvent(accessLog), { k: "idle", ms: 600 } satisfies Operation]
      const [{ trace }] = yield* Effect.all(
        [
          execute({ v: 1, ops }, setting, context),
          execute({ v: 1, ops: [newEvent(accessLog), newEvent(accessLog)] }, setting, context)
        ],
        { concurrency: "unbounded" }
      ).pipe(Effect.provide(services))
      assert.strictEqual(trace.otherEvents, 2)
    })
  )
})

describe("twins", () => {
  it.live.each(Struct.keys(twins))("of kind %s have fitting ids", (kind) =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, { k: "twins", event: accessLog, kind })
      const { events } = trace
      assert.strictEqual(events.length, twins[kind].count)
      const identities = events.map(({ dataId, resourceType }) => `${resourceType} ${dataId}`)
      const ids = new Set(events.map(({ webhookId }) => webhookId))
      assert.strictEqual(ids.size, kind === "same_webhook_id" ? 1 : events.length)
      assert.strictEqual(new Set(identities).size, kind === "same_data_id" ? 1 : events.length)
      const [one = "", other = ""] = ids
      if (kind === "letter_case") assert.strictEqual(one.toLowerCase(), other.toLowerCase())
      if (kind === "prefix") assert.isTrue(other.startsWith(one))
      if (kind === "leading_zero") assert.strictEqual(Number(one), Number(other))
      if (kind === "punctuation") assert.strictEqual(one.replaceAll(/\W|_/g, ""), other.replaceAll(/\W|_/g, ""))
    })
  )

  it.live("have equal 32-bit hashes, with each of several hash functions", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, { k: "twins", event: accessLog, kind: "same_hash_32" })
      const ids = trace.events.map(({ webhookId }) => webhookId)
      const first32Bits = (algorithm: string) => (id: string) => hash(algorithm, id, "hex").slice(0, 8)
      const fnv1a = (id: string) =>
        Array.from(id).reduce((value, one) => Math.imul(value ^ one.charCodeAt(0), 0x01000193), 0x811c9dc5 | 0)
      const hashCode = (id: string) =>
        Array.from(id).reduce((value, one) => (Math.imul(31, value) + one.charCodeAt(0)) | 0, 0)
      for (const [index, digest] of [first32Bits("sha256"), first32Bits("md5"), fnv1a, crc32, hashCode].entries()) {
        const [one = "", other = ""] = ids.slice(2 * index)
        assert.strictEqual(digest(one), digest(other), `pair ${index + 1}`)
      }
    })
  )
})

describe("a forged request", () => {
  it.live.each(Struct.keys(carriers))("by the carrier %s fails verification, and its genuine repeat passes", (by) =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const ops: ReadonlyArray<Operation> = [{ k: "forged", event: accessLog, kind: "first_byte", by }, again(0, retry)]
      const { trace } = yield* run(target.url, ...ops)
      const forged = trace.attempts.find(({ kind }) => kind === "forged")
      const received = target.received.find(({ headers }) => headers["webhook-id"] === forged?.webhook_id)
      if (received === undefined) return assert.fail("no forged request arrived")
      assert.strictEqual(yield* verified(received), "no_matching_signature")
      assert.strictEqual(received.headers["transfer-encoding"] === "chunked", by === "chunked")
      assert.strictEqual(received.body.length > 65_536, by === "large")
      assert.strictEqual(forged?.reused, by === "kept")
      assert.isFalse(forged?.first)
      const last = target.received.at(-1)
      assert.strictEqual(last?.headers["webhook-id"], forged?.webhook_id)
      if (last !== undefined) assert.isNull(yield* verified(last))
      assert.isTrue(trace.attempts.at(-1)?.first)
    })
  )

  const leaks = (say: (good: string) => string, kind: "random" | "changed_body" = "random") =>
    Effect.gen(function* () {
      const target = yield* receiver((received, response) => {
        const { body, headers } = received
        const content = { id: String(headers["webhook-id"]), timestamp: Number(headers["webhook-timestamp"]), body }
        void Effect.runPromise(Effect.provide(Signature.sign([secret], content), Crypto.layerWebCrypto)).then((good) =>
          answer(response, 401, say(good))
        )
      })
      const { trace } = yield* run(target.url, { k: "forged", event: accessLog, kind, by: "plain" })
      return trace.attempts[0]?.leaked
    })
  const mac = (good: string): Buffer => Buffer.from(good.slice(3), "base64")
  it.live("records an answer that leaks the right signature or the secret", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* leaks((good) => `expected ${good}`), "signature")
      assert.strictEqual(yield* leaks((good) => `expected ${good}`, "changed_body"), "signature")
      assert.strictEqual(yield* leaks((good) => good.replaceAll("/", "\\/")), "signature")
      assert.strictEqual(yield* leaks((good) => mac(good).toString("hex")), "signature")
      assert.strictEqual(yield* leaks(() => "dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="), "secret")
      assert.isNull(yield* leaks(() => "no matching signature"))
      assert.isNull(yield* leaks(() => "x".repeat(200)))
    })
  )

  it.live("does not count a signature that was in the request as a leak", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ headers }, response) =>
        answer(response, 200, String(headers["webhook-signature"]))
      )
      const { trace } = yield* run(target.url, newEvent(accessLog))
      assert.isNull(trace.attempts[0]?.leaked)
    })
  )
})

describe("a sender that goes away", () => {
  it.live("leaves its request incomplete, which does not count as a delivery", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const storm: Operation = { k: "abort_storm", count: 12, percent: 50 }
      const { trace } = yield* run(target.url, cutNew(accessLog, inBody(50)), storm, again(0, retry))
      assert.deepStrictEqual(
        trace.attempts.map(({ kind, number, op }) => [op, kind, number]),
        [[0, "cut", 1], ...Array.from({ length: 12 }, () => [1, "cut", 1]), [2, "delivery", 2]]
      )
      assert.strictEqual(target.received.filter(({ body }) => body !== "").length, 1)
    })
  )

  it.live("does not block later events", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { trace } = yield* run(target.url, { k: "stalled", count: 4, percent: 50 }, newEvent(accessLog))
      assert.strictEqual(trace.events.length, 5)
      assert.deepInclude(trace.attempts[0], { event: 4, op: 1, limit: null })
    })
  )
})

describe("a load", () => {
  it.live("does not blame the receiver for the suite's lack of connections", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => void setTimeout(() => response.end("ok"), 1_000))
      const ops: ReadonlyArray<Operation> = [{ k: "load", factor: 1, ms: 2_000 }]
      const wide = { ...criteria, guard: 350 }
      const { trace } = yield* executed(target.url, ops, { peakRate: 400, typical: () => 1_000, criteria: wide })
      assert.strictEqual(trace.attempts.length, 800)
      const [shortfall] = trace.shortfalls
      assert.deepInclude(shortfall, { op: 0, what: "connections", of: 800 })
      const late = trace.attempts.filter(({ exchange }) => restsOnTime(classify(exchange, wide)))
      assert.isAtMost(800 - (shortfall?.done ?? 0), late.length, "without answers at the deadline")
    })
  )

  it.live("shows that a receiver falls behind, though it answers single requests fast enough", () =>
    Effect.gen(function* () {
      let last = Promise.resolve()
      const target = yield* receiver((_, response) => {
        last = last
          .then(() => new Promise((resolve) => void setTimeout(resolve, 3)))
          .then(() => void response.end("ok"))
      })
      const ops: ReadonlyArray<Operation> = [{ k: "load", factor: 1, ms: 300 }]
      const short = { ...criteria, deadline: 1_000 }
      const { trace } = yield* executed(target.url, ops, { peakRate: 2_000, typical: () => 3, criteria: short })
      assert.deepStrictEqual(trace.shortfalls, [])
      assert.isTrue(trace.attempts.some(({ exchange }) => classify(exchange, short) === "late"))
    })
  )
})

describe("volleys", () => {
  it.live("send the copies of each event behind other events, and stop when their time is up", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const volleys: Operation = { k: "volleys", event: call, copies: 3, rounds: 2 }
      const { trace } = yield* run(target.url, volleys)
      assert.deepStrictEqual(
        trace.events.map(({ bulk, resourceType }) => bulk || resourceType),
        [1, 2].flatMap(() => [true, true, true, true, "call"])
      )
      assert.strictEqual(trace.attempts.length, 14)
      assert.isTrue(trace.attempts.every(({ exchange, kind }) => exchange._tag === "Answered" && kind === "load"))
      for (const { bulk, webhookId } of trace.events) {
        const copies = target.received.filter(({ headers }) => headers["webhook-id"] === webhookId)
        assert.strictEqual(copies.length, bulk ? 1 : 3)
        assert.isTrue(copies.every(({ body }) => body === copies[0]?.body && JSON.parse(body) !== null))
      }
      assert.isTrue(
        trace.attempts.slice(7).every(({ reused }) => reused),
        "the second volley needs no new connections"
      )
      const hurried = yield* executed(target.url, [volleys], { fillerTime: 0 })
      assert.deepStrictEqual(hurried.trace.shortfalls, [{ op: 0, what: "events", done: 0, of: 2 }])
    })
  )
})

describe("volleys to a receiver that serves one connection at a time", () => {
  it.live("close each connection, so that all requests are answered", () =>
    Effect.gen(function* () {
      const volleys: Operation = { k: "volleys", event: call, copies: 3, rounds: 2 }
      const { trace } = yield* executed(yield* serialReceiver, [volleys], { fillerTime: 60_000 })
      assert.strictEqual(trace.attempts.length, 14)
      assert.isTrue(trace.attempts.every(({ exchange, reused }) => exchange._tag === "Answered" && !reused))
    })
  )
})

describe("an action on the receiver", () => {
  it.live("is recorded once for the run, and is part of every history that runs at that time", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const advanced: Array<number> = []
      const advance = (ms: number) => Effect.sync(() => void advanced.push(ms))
      const setting = settingOf(new URL(target.url), { hooks: { ...noHooks, advance } })
      const context = (title: string) => ({ title, allElseDone: Effect.void, fillerTime: 0 })
      const idle: Operation = { k: "idle", ms: 800 }
      const [waited, moved] = yield* Effect.all(
        [
          execute({ v: 1, ops: [idle] }, setting, context("one that waits")),
          execute(
            { v: 1, ops: [newEvent(accessLog), { k: "advance", ms: 60_000 }, again(0, retry)] },
            setting,
            context("one that moves")
          )
        ],
        { concurrency: "unbounded" }
      ).pipe(Effect.provide(services))
      assert.deepStrictEqual(advanced, [60_000])
      assert.strictEqual(setting.interventions.length, 1)
      assert.deepInclude(waited.trace.interventions[0], { op: null, what: "clock_moved", by: "one that moves" })
      assert.deepInclude(moved.trace.interventions[0], { op: 1, what: "clock_moved" })
      assert.deepStrictEqual(withInterventions(moved.trace, setting.interventions), moved.trace)
      const [first, second] = target.received.map(({ headers }) => Number(headers["webhook-timestamp"]))
      assert.isAtLeast((second ?? 0) - (first ?? 0), 60)
      const later = yield* execute({ v: 1, ops: [newEvent(accessLog)] }, setting, context("one that comes later")).pipe(
        Effect.provide(services)
      )
      assert.deepStrictEqual(later.trace.interventions, [])
    })
  )
})
