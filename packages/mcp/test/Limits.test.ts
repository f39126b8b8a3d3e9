/**
 * Limits of what a grant may use, and that nothing stays.
 */
import { assert, describe, it } from "@effect/vitest"
import { createTestDoorhook } from "doorhook/testing"
import { GrantId, UserId } from "@doorhook/core"
import { Effect } from "effect"
import { live, mount } from "../../doorhook/test/harness/Embedded.ts"
import { mcp } from "../src/index.ts"
import { Sessions } from "../src/Sessions.ts"
import { directory, startEndpoint, tokenFor, Wire } from "./Assistant.ts"

const ownerOf = (user: string, grant: string) => ({ user_id: UserId.make(user), grant_id: GrantId.make(grant) })

describe("sessions", () => {
  it("are limited per grant and in all, fairly between users, and end when they are not used", () => {
    const sessions = new Sessions({ perGrant: 2, all: 4, idle: 1_000 })
    const [ada, other, ben] = [ownerOf("ada", "a1"), ownerOf("ada", "a2"), ownerOf("ben", "b1")]
    assert.deepStrictEqual([...sessions.add("a", ada, 0), ...sessions.add("b", ada, 1)], [])
    assert.isTrue(sessions.use("a", ada, 2))
    assert.deepStrictEqual(sessions.add("c", ada, 3), ["b"])
    assert.isFalse(sessions.use("b", ada, 4))
    assert.isFalse(sessions.use("c", other, 4))
    // A user with many grants gives way to others.
    assert.deepStrictEqual([...sessions.add("d", ben, 5), ...sessions.add("e", other, 6)], [])
    assert.isTrue(sessions.use("a", ada, 7) && sessions.use("c", ada, 8))
    assert.deepStrictEqual(sessions.add("f", ben, 500), ["e"])
    assert.isTrue(sessions.use("d", ben, 501))
    assert.deepStrictEqual(sessions.takeIdle(1_008), ["a", "c"])
    sessions.delete("d")
    assert.isFalse(sessions.use("d", ben, 1_008))
    assert.isTrue(sessions.use("f", ben, 1_008))
  })

  live("of one grant beyond the tenth end the first, and idle ones end", function* () {
    const doorhook = yield* Effect.acquireRelease(
      Effect.promise(() => createTestDoorhook({ directory, mcp: mcp() })),
      (made) => Effect.promise(() => made.close())
    )
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFor(url, "ada")
    const wires = Array.from({ length: 11 }, () => new Wire(url, token))
    for (const wire of wires) yield* Effect.promise(() => wire.initialize())
    const statusOf = (wire: Wire | undefined) =>
      Effect.promise(async () => (await (wire ?? assert.fail()).call("list_places")).status)
    assert.strictEqual(yield* statusOf(wires[0]), 404)
    assert.strictEqual(yield* statusOf(wires[1]), 200)
    yield* Effect.promise(() => doorhook.advance("20m"))
    assert.strictEqual(yield* statusOf(wires[1]), 200)
    yield* Effect.promise(() => doorhook.advance("29m"))
    assert.strictEqual(yield* statusOf(wires[1]), 200)
    assert.strictEqual(yield* statusOf(wires[2]), 404)
    // Its client begins another one.
    const again = new Wire(url, token)
    assert.strictEqual((yield* Effect.promise(() => again.initialize())).status, 200)
  })
})

describe("a session", () => {
  live("begins only by a small request outside of sessions, whose client can end it", function* () {
    const { url } = yield* startEndpoint()
    const wire = new Wire(url, yield* tokenFor(url, "ada"))
    const begin = (more: object = {}, client: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      Effect.promise(() => {
        const clientInfo = { name: "wire", version: "1", ...client }
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
        return wire.send({ id: 0, method: "initialize", params, ...more }, headers)
      })
    const idOf = ({ headers }: { readonly headers: Headers }) => headers.get("mcp-session-id")
    const large = yield* begin({}, { name: "x".repeat(16 * 1024) })
    assert.deepStrictEqual([large.status, idOf(large)], [413, null])
    assert.isNotNull(idOf(yield* begin({}, { name: "x".repeat(15 * 1024) })))
    const first = yield* begin()
    for (const headers of [{}, { "mcp-protocol-version": "2025-11-25" }, { "mcp-protocol-version": "2025-06-18" }]) {
      wire.session = idOf(first)
      const within = yield* begin({}, {}, headers)
      assert.deepStrictEqual([within.status, idOf(within)], [400, null])
    }
    // Also a message without an id, which has no answer.
    wire.session = null
    wire.session = idOf(yield* begin({ id: undefined }))
    assert.isNotNull(wire.session)
    assert.strictEqual((yield* Effect.promise(() => wire.call("list_places"))).status, 200)
  })
})

describe("a grant", () => {
  live("has at most ten calls at work, and a refused one says when to try again", function* () {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: allBegun, resolve: begun } = Promise.withResolvers<void>()
    let working = 0
    const run = async () => {
      if (++working === 10) begun()
      await released
      return {}
    }
    const { url } = yield* startEndpoint({}, { tools: { wait: { description: "Waits.", run } } })
    const [ada, ben] = [new Wire(url, yield* tokenFor(url, "ada")), new Wire(url, yield* tokenFor(url, "ben"))]
    const waiting = Array.from({ length: 10 }, () => ada.callAlone("wait", {}))
    yield* Effect.promise(() => allBegun)
    const refused = yield* Effect.promise(() => ada.callAlone("list_places", {}))
    assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "1"])
    assert.strictEqual((yield* Effect.promise(() => ben.callAlone("list_places", {}))).status, 200)
    release()
    for (const { status } of yield* Effect.promise(() => Promise.all(waiting))) assert.strictEqual(status, 200)
    assert.strictEqual((yield* Effect.promise(() => ada.callAlone("list_places", {}))).status, 200)
  })

  live("may send at most 256 KiB at once", function* () {
    const { url } = yield* startEndpoint()
    const wire = new Wire(url, yield* tokenFor(url, "ada"))
    const answer = yield* Effect.promise(() => wire.request(JSON.stringify("x".repeat(256 * 1024))))
    assert.strictEqual(answer.status, 413)
  })

  live("may send as many requests as the API allows in a minute", function* () {
    const { url } = yield* startEndpoint({ requestsPerMinute: 2 })
    const wire = new Wire(url, yield* tokenFor(url, "ada"))
    const statuses: Array<number> = []
    for (let at = 0; at < 3; at++)
      statuses.push((yield* Effect.promise(() => wire.callAlone("list_places", {}))).status)
    assert.deepStrictEqual(statuses, [200, 200, 429])
  })
})
