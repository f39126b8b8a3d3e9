/**
 * The receiver kit: who is let in, what is kept, what is answered, and what is told to the operator.
 */
import { Crypto, Signature } from "@doorhook/core"
import { listen } from "@doorhook/testkit/Listening"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { once } from "node:events"
import { connect } from "node:net"
import {
  fetchHandler,
  InvalidRange,
  InvalidSecret,
  makeAddressFilter,
  makeReceiver,
  makeVerifier,
  memoryStore,
  nodeListener
} from "@doorhook/conformance/receiver"
import type { Delivery, Problem, ReceivedRequest, ReceiverOptions } from "@doorhook/conformance/receiver"

const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
const other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const now = 1_790_000_000_000

const body = '{"event":{"resource_type":"call","action":"create","data":{"id":9007199254740993}},"more":1}'

const request = (over: Partial<ReceivedRequest> = {}): ReceivedRequest => ({
  method: "POST",
  headers: { "webhook-id": "evt_1", "doorhook-attempt": "2" },
  body: Buffer.from(body),
  address: "203.0.113.7",
  ...over
})

/** A receiver with a store in memory, and what it recorded and complained of. */
const kit = (options: Partial<ReceiverOptions<undefined>> = {}) => {
  const recorded: Array<Delivery> = []
  const problems: Array<Problem> = []
  const receiver = makeReceiver({
    store: memoryStore(),
    record: (_, delivery) => void recorded.push(delivery),
    onProblem: (problem) => void problems.push(problem),
    now: () => now,
    ...options
  })
  return { receiver, recorded, problems }
}

const signedHeaders = (over: { secret?: string; at?: number; id?: string; text?: string } = {}) =>
  Effect.gen(function* () {
    const id = over.id ?? "evt_1"
    const timestamp = Math.floor((over.at ?? now) / 1_000)
    const signature = yield* Signature.sign([Redacted.make(over.secret ?? secret)], {
      id,
      timestamp,
      body: over.text ?? body
    })
    return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature }
  }).pipe(Effect.provide(Crypto.layerWebCrypto))

describe("signatures", () => {
  it("are judged as core judges them, whatever is wrong with them", async () => {
    const anything = fc.record({
      header: fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "none"),
      value: fc.oneof(fc.constantFrom("", "v1,", "v1", "1e9", "-1"), fc.string({ maxLength: 20 })),
      off: fc.constantFrom(0, 299, 300, 301, -299, -300, -301, 86_400),
      text: fc.string({ maxLength: 40 }),
      first: fc.constantFrom("", "v1,AAAA ", "v2,x ")
    })
    const verdicts = new Set<string | null>()
    await fc.assert(
      fc.asyncProperty(anything, async ({ first, header, off, text, value }) => {
        const signed = await Effect.runPromise(signedHeaders({ at: now + off * 1_000, text }))
        const headers: Record<string, string> = { ...signed, "webhook-signature": first + signed["webhook-signature"] }
        if (header !== "none") headers[header] = value
        const theirs = await Effect.runPromise(
          Signature.verify(Redacted.make(secret), headers, text, now).pipe(Effect.provide(Crypto.layerWebCrypto))
        )
        verdicts.add(theirs)
        assert.strictEqual(makeVerifier([secret]).verify(headers, Buffer.from(text), now), theirs)
      }),
      { numRuns: 300 }
    )
    assert.strictEqual(verdicts.size, 6, "each way to fail came up, and success")
  })

  it.effect("of either secret are good while one is rotated, and of none once both are gone", () =>
    Effect.gen(function* () {
      const headers = yield* signedHeaders({ secret: other })
      const judge = (...secrets: ReadonlyArray<string>) => makeVerifier(secrets).verify(headers, Buffer.from(body), now)
      assert.isNull(judge(secret, other))
      assert.isNull(judge(other))
      assert.strictEqual(judge(secret), "no_matching_signature")
    })
  )

  it("are checked on bytes, not on text", () => {
    const verifier = makeVerifier([secret])
    const bytes = Buffer.from([0xff, 0xfe])
    assert.strictEqual(
      verifier.verify(
        { "webhook-id": "a", "webhook-timestamp": String(now / 1_000), "webhook-signature": "v1,x" },
        bytes,
        now
      ),
      "no_matching_signature"
    )
  })

  it.each(["", "whsec_", "whsec_not base64", "whsec_abc"])("can't be checked with the secret «%s»", (wrong) => {
    assert.throws(() => makeVerifier([wrong]), InvalidSecret)
  })
})

describe("addresses", () => {
  it.each([
    ["203.0.113.0/24", "203.0.113.255", true],
    ["203.0.113.0/24", "203.0.114.0", false],
    ["203.0.113.7", "203.0.113.7", true],
    ["203.0.113.7", "::ffff:203.0.113.7", true],
    ["2001:db8::/32", "2001:db8:1::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["fe80::/10", "fe80::1%eth0", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["0.0.0.0/0", "nonsense", false]
  ])("in %s: %s is %s", (range, address, expected) => {
    assert.strictEqual(makeAddressFilter([range])(address), expected)
  })

  it.each(["203.0.113.0/33", "203.0.113/24", "host.example", "2001:db8::/129", "10.0.0.0/8/8", "10.0.0.0/"])(
    "can't be filtered by %s",
    (range) => {
      assert.throws(() => makeAddressFilter([range]), InvalidRange)
    }
  )
})

describe("a request", () => {
  const refusals: ReadonlyArray<
    readonly [string, number, Partial<ReceivedRequest>, Partial<ReceiverOptions<undefined>>]
  > = [
    ["from elsewhere", 403, {}, { addresses: ["198.51.100.0/24"] }],
    ["from nowhere", 403, { address: null }, { addresses: ["0.0.0.0/0"] }],
    ["that asks", 405, { method: "GET" }, {}],
    ["without a signature", 401, {}, { secrets: [secret] }],
    ["without an id", 400, { headers: {} }, {}],
    ["with an endless id", 400, { headers: { "webhook-id": "x".repeat(256) } }, {}],
    ["without JSON", 400, { body: Buffer.from("{") }, {}],
    ["without UTF-8", 400, { body: Buffer.from([0x22, 0xff, 0x22]) }, {}],
    ["without an event", 400, { body: Buffer.from("null") }, {}],
    ["without data", 400, { body: Buffer.from('{"event":{"resource_type":"call","action":"create"}}') }, {}]
  ]

  it.each(refusals)("%s is answered %i and leaves nothing behind", async (_, status, over, options) => {
    const { problems, receiver, recorded } = kit(options)
    assert.strictEqual((await receiver.answer(request(over))).status, status)
    assert.deepStrictEqual(recorded, [])
    assert.strictEqual(problems.length, status === 405 ? 0 : 1)
    assert.notInclude(JSON.stringify(problems), secret)
  })

  it("is kept once, whatever comes at the same time", async () => {
    const { receiver, recorded } = kit()
    const answers = await Promise.all(Array.from({ length: 20 }, () => receiver.answer(request())))
    assert.isTrue(answers.every(({ status }) => status === 200))
    assert.strictEqual(recorded.length, 1)
    assert.strictEqual(recorded[0]?.body, body, "numbers beyond 2^53 are exact in the body")
    assert.strictEqual(recorded[0]?.attempt, 2)
  })

  it("is refused for now when it could not be recorded, and accepted when it comes again", async () => {
    let broken = true
    const { problems, receiver } = kit({
      record: () => {
        if (broken) throw new Error("disk full")
      }
    })
    assert.strictEqual((await receiver.answer(request())).status, 503)
    assert.deepInclude(problems[0], { kind: "not_kept", severity: "alert", id: "evt_1" })
    broken = false
    assert.strictEqual((await receiver.answer(request())).status, 200)
  })

  it("is answered in time even when the store hangs", async () => {
    const hanging = { ...memoryStore(), keep: () => new Promise<boolean>(() => undefined) }
    const { problems, receiver } = kit({ store: hanging, answerWithinMs: 10 })
    assert.strictEqual((await receiver.answer(request())).status, 503)
    assert.deepInclude(problems[0], { kind: "slow", severity: "alert" })
  })
})

describe("work", () => {
  it("is done after the answer, again until it succeeds, and a person is told when it goes on failing", async () => {
    let clock = now
    let failures = 3
    const done = Promise.withResolvers<void>()
    const seen: Array<string> = []
    const { problems, receiver } = kit({
      now: () => (clock += 1_000),
      retryDelaysMs: [1, 1, 1, 1],
      alertAfter: 2,
      work: async ({ id }) => {
        seen.push(id)
        if (failures-- > 0) throw new Error("the panel is offline")
        done.resolve()
      }
    })
    assert.strictEqual((await receiver.answer(request())).status, 200)
    await done.promise
    await receiver.close()
    assert.strictEqual(seen.length, 4)
    assert.deepStrictEqual(
      problems.map(({ severity }) => severity),
      ["warning", "alert", "alert"]
    )
  })

  it("is given up aloud", async () => {
    const given = Promise.withResolvers<Problem>()
    const { receiver } = kit({
      retryDelaysMs: [],
      work: () => Promise.reject(new Error("no")),
      onProblem: (problem) => given.resolve(problem)
    })
    await receiver.answer(request())
    assert.deepInclude(await given.promise, { kind: "work_given_up", severity: "alert" })
    await receiver.close()
  })

  it("that an earlier process left is taken up at the start", async () => {
    const store = memoryStore()
    await store.keep(
      { id: "evt_0", attempt: 1, receivedAt: now, body, event: { resource_type: "call", action: "create", data: {} } },
      () => undefined,
      true
    )
    const done = Promise.withResolvers<string>()
    const { receiver } = kit({ store, work: ({ id }) => done.resolve(id) })
    receiver.start()
    assert.strictEqual(await done.promise, "evt_0")
    await receiver.close()
  })
})

describe("a receiver", () => {
  it("is served by node:http and by fetch alike", async () => {
    const { receiver, recorded } = kit({ addresses: ["127.0.0.0/8"] })
    const server = createServer(nodeListener(receiver, { maxBodyBytes: 1_000 })).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}/`
    const post = (text: string) => new Request(url, { method: "POST", headers: { "webhook-id": "evt_1" }, body: text })
    try {
      assert.strictEqual((await fetch(post(body))).status, 200)
      assert.strictEqual((await fetch(post("x".repeat(2_000)))).status, 413)
      const handler = fetchHandler(receiver, { addressOf: () => "127.0.0.1" })
      assert.strictEqual((await handler(post(body))).status, 200)
      assert.strictEqual((await fetchHandler(receiver)(post(body))).status, 403, "nobody knows where it came from")
      assert.strictEqual(recorded.length, 1)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it("answers 413 to a body that is too long while it is being sent, and reads no endless one", async () => {
    const { receiver } = kit()
    const { close, port } = await listen(createServer(nodeListener(receiver, { maxBodyBytes: 1_000 })))
    /** What comes back when so much is sent, however much was announced, and how the connection ends. */
    const answerTo = async (announced: number, sent: number): Promise<string> => {
      const socket = connect(port, "127.0.0.1")
      // Not by `once` of Node, which rejects with the error that is a part of what is seen.
      const ended = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
      let text = ""
      socket.on("data", (chunk) => (text += chunk.toString()))
      socket.on("error", (error) => (text += error.message))
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${announced}\r\n\r\n`)
      socket.write(Buffer.alloc(sent, "x"))
      await ended
      return text
    }
    try {
      const mebibyte = 1_048_576
      assert.match(await answerTo(4 * mebibyte, 4 * mebibyte), /^HTTP\/1\.1 413 [^]*the body is too long$/)
      assert.match(await answerTo(100 * mebibyte, 20 * mebibyte), /^(?:HTTP\/1\.1 413 |.*ECONNRESET|.*EPIPE)/)
    } finally {
      await close()
    }
  })
})
