/**
 * Handling a request: which requests are accepted, what is stored, the response, reported problems, and replaceable
 * parts.
 */
import { createReceiver, InvalidOption, isExpired, memoryStore, Refusal } from "@doorhook/receiver"
import type { ReceivedRequest, ReceiverOptions } from "@doorhook/receiver"
import { assert, describe, it } from "@effect/vitest"
import { eventBody, makeKit, now, requestOf, secret, signedHeaders } from "./support.ts"

describe("a request", () => {
  const refusals: ReadonlyArray<
    readonly [
      string,
      number,
      string | null,
      Partial<ReceivedRequest> & { readonly text?: string | Uint8Array },
      Partial<ReceiverOptions<undefined>>
    ]
  > = [
    ["from an address outside the ranges", 403, "refused_address", {}, { addresses: ["198.51.100.0/24"] }],
    ["from an unknown address", 403, "refused_address", { address: null }, { addresses: ["0.0.0.0/0"] }],
    ["with another method", 405, null, { method: "GET" }, {}],
    ["without a signature", 401, "refused_signature", {}, { secrets: [secret] }],
    ["without an id", 400, "invalid_request", { headers: {} }, {}],
    ["with an overlong id", 400, "invalid_request", { headers: { "webhook-id": "x".repeat(256) } }, {}],
    ["that is too long", 413, "invalid_request", {}, { maxBodyBytes: 10 }],
    ["that is incomplete", 400, "broken_off", { body: () => Promise.reject(new Error("aborted")) }, {}],
    ["without JSON", 400, "invalid_request", { text: "{" }, {}],
    ["without UTF-8", 400, "invalid_request", { text: Uint8Array.of(0x22, 0xff, 0x22) }, {}],
    ["without an event", 400, "invalid_request", { text: "null" }, {}],
    ["without data", 400, "invalid_request", { text: '{"event":{"resource_type":"call","action":"create"}}' }, {}]
  ]

  it.each(refusals)(
    "%s is answered with %i, reported as %s, and not stored",
    async (_, status, kind, over, options) => {
      const { problems, receiver, recorded } = makeKit(options)
      assert.strictEqual((await receiver.handle(requestOf(over))).status, status)
      assert.deepStrictEqual(recorded, [])
      assert.deepStrictEqual(
        problems.map((problem) => [problem.kind, problem.severity]),
        kind === null ? [] : [[kind, "warning"]]
      )
      assert.notInclude(JSON.stringify(problems), secret)
    }
  )

  it("that is genuine is stored, and read exactly as it was sent", async () => {
    const { problems, receiver, recorded } = makeKit({ secrets: [secret] })
    const headers = {
      ...signedHeaders(eventBody),
      "doorhook-attempt": "2",
      "doorhook-expires-at": String(now / 1_000 + 45),
      "doorhook-replay": "1"
    }
    assert.strictEqual((await receiver.handle(requestOf({ headers }))).status, 200)
    assert.deepStrictEqual(problems, [])
    const [{ body, event, ...read } = assert.fail("nothing was kept")] = recorded
    assert.deepStrictEqual(
      { ...read, type: event.resource_type },
      { id: "evt_1", attempt: 2, expiresAt: now + 45_000, isReplay: true, receivedAt: now, type: "call" }
    )
    assert.strictEqual(body, eventBody, "integers beyond 2^53 are exact in the body")
  })

  it("expires at the time in its header, and never without a valid one", async () => {
    const { receiver, recorded } = makeKit()
    for (const [index, text] of ["soon", "-1", "1e9", "", undefined].entries()) {
      const id = { "webhook-id": `evt_${index}` }
      const headers = text === undefined ? id : { ...id, "doorhook-expires-at": text }
      assert.strictEqual((await receiver.handle(requestOf({ headers }))).status, 200)
    }
    assert.deepStrictEqual(
      recorded.map(({ expiresAt, isReplay }) => [expiresAt, isReplay]),
      recorded.map(() => [null, false])
    )
    for (const [expiresAt, expected] of [
      [null, false],
      [now + 1, false],
      [now, true]
    ] as const)
      assert.strictEqual(isExpired({ expiresAt }, now), expected)
  })

  it("is stored once, even with concurrent duplicates", async () => {
    const { receiver, recorded } = makeKit()
    const answers = await Promise.all(Array.from({ length: 20 }, () => receiver.handle(requestOf())))
    assert.isTrue(answers.every(({ status }) => status === 200))
    assert.strictEqual(recorded.length, 1)
  })

  it("is answered with 503 if it could not be recorded, and accepted when it is retried", async () => {
    let isBroken = true
    const { problems, receiver } = makeKit({
      record: () => {
        if (isBroken) throw new Error("disk full")
      }
    })
    assert.strictEqual((await receiver.handle(requestOf())).status, 503)
    assert.deepInclude(problems[0], { kind: "not_kept", severity: "alert", id: "evt_1" })
    isBroken = false
    assert.strictEqual((await receiver.handle(requestOf())).status, 200)
  })

  it("is answered with the refusal that `record` throws, and not stored", async () => {
    const { problems, receiver } = makeKit({
      record: () => {
        throw new Refusal(410, "moved out")
      }
    })
    assert.deepInclude(await receiver.handle(requestOf()), { status: 410, body: "moved out" })
    assert.strictEqual((await receiver.handle(requestOf())).status, 410)
    assert.deepStrictEqual(problems, [])
  })

  it("is answered in time even if the store hangs", async () => {
    const store = { ...memoryStore(), keep: () => new Promise<boolean>(() => undefined) }
    const { problems, receiver } = makeKit({ store, answerWithinMs: 10 })
    assert.strictEqual((await receiver.handle(requestOf())).status, 503)
    assert.deepInclude(problems[0], { kind: "too_slow", severity: "alert" })
  })

  it("is admitted by the address that a proxy names", async () => {
    const { receiver } = makeKit({
      addresses: ["198.51.100.0/24"],
      addressOf: ({ headers }) => headers["x-real-ip"] ?? null
    })
    const from = async (ip: string): Promise<number> =>
      (await receiver.handle(requestOf({ headers: { "webhook-id": "evt_1", "x-real-ip": ip } }))).status
    assert.strictEqual(await from("198.51.100.9"), 200)
    assert.strictEqual(await from("203.0.113.7"), 403)
  })
})

describe("createReceiver", () => {
  it.each([[[]], [[""]]])("refuses to work without a secret by accident: %j", (secrets) => {
    assert.throws(() => createReceiver({ secrets, store: memoryStore() }), InvalidOption, /^secrets: /)
  })

  it.each([
    { toleranceSeconds: Number.NaN },
    { toleranceSeconds: -1 },
    { maxBodyBytes: Number.NaN },
    { answerWithinMs: 0 },
    { answerWithinMs: 2 ** 31 },
    { alertAfter: 0 },
    { concurrency: 0 },
    { concurrency: 1.5 },
    { retryDelaysMs: [1_000, Number.NaN] }
  ])("refuses %j", (options) => {
    const [name = ""] = Object.keys(options)
    const make = () => createReceiver({ secrets: [secret], store: memoryStore(), ...options })
    assert.throws(make, InvalidOption, new RegExp(`^${name}: must be a whole number from \\d+ to \\d+, not `))
  })

  it("waits for custom parts that return promises", async () => {
    const refuse = async () => {
      await Promise.resolve()
      throw new Refusal(402, "not here")
    }
    for (const part of ["admit", "verify", "parse", "identify"]) {
      const { receiver, recorded } = makeKit({ parts: () => ({ [part]: refuse }) })
      assert.strictEqual((await receiver.handle(requestOf())).status, 402, part)
      assert.deepStrictEqual(recorded, [], part)
    }
  })

  it("lets custom parts replace and call the standard parts", async () => {
    const steps: Array<string> = []
    const { receiver, recorded } = makeKit({
      secrets: [secret],
      parts: (standard) => ({
        admit: (request) => {
          steps.push("admit")
          standard.admit(request)
        },
        readBody: async (request) => {
          steps.push("readBody")
          return standard.readBody(request)
        },
        verify: () => void steps.push("verify"),
        parse: (request, body) => {
          steps.push("parse")
          return { ...standard.parse(request, body), body: "changed" }
        },
        identify: ({ id }, { url }) => {
          steps.push("identify")
          return `${url} ${id}`
        },
        keep: (key, delivery, request) => {
          steps.push(`keep ${key}`)
          return standard.keep(key, delivery, request)
        },
        acknowledge: (isNew) => ({ status: isNew ? 200 : 208, headers: {}, body: "" })
      })
    })
    const statusAt = async (url: string): Promise<number> => (await receiver.handle(requestOf({ url }))).status
    assert.strictEqual(await statusAt("/a"), 200)
    assert.deepStrictEqual(steps, ["admit", "readBody", "verify", "parse", "identify", "keep /a evt_1"])
    assert.strictEqual(await statusAt("/a"), 208)
    assert.strictEqual(await statusAt("/b"), 200, "known by another key")
    assert.deepStrictEqual(
      recorded.map(({ body }) => body),
      ["changed", "changed"]
    )
  })

  it("closes after deliveries being stored, and stores no more", async () => {
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const order: Array<string> = []
    const { receiver } = makeKit({
      record: async () => {
        begun.resolve()
        await finish.promise
        order.push("recorded")
      }
    })
    const first = receiver.handle(requestOf())
    await begun.promise
    const closed = receiver.close().then(() => order.push("closed"))
    assert.strictEqual((await receiver.handle(requestOf({ headers: { "webhook-id": "evt_2" } }))).status, 503)
    finish.resolve()
    assert.strictEqual((await first).status, 200)
    await closed
    assert.deepStrictEqual(order, ["recorded", "closed"])
  })
})
