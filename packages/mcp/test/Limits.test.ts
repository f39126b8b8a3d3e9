/**
 * Limits of what a grant may use, and that nothing stays.
 */
import { assert, describe, it } from "@effect/vitest"
import { createTestDoorhook } from "doorhook/testing"
import { GrantId } from "@doorhook/core"
import { Effect } from "effect"
import { live, mount } from "../../doorhook/test/harness/Embedded.ts"
import { mcp } from "../src/index.ts"
import { Sessions } from "../src/Sessions.ts"
import { directory, startEndpoint, tokenFor, Wire } from "./Assistant.ts"

const [mine, yours] = [GrantId.make("mine"), GrantId.make("yours")]

describe("sessions", () => {
  it("are limited per grant, where the oldest ends, and in all; and end when they are not used", () => {
    const sessions = new Sessions({ perGrant: 2, all: 3, idle: 1_000 })
    assert.deepStrictEqual([...sessions.add("a", mine, 0), ...sessions.add("b", mine, 1)], [])
    assert.isTrue(sessions.use("a", mine, 2))
    assert.deepStrictEqual(sessions.add("c", mine, 3), ["b"])
    assert.isFalse(sessions.use("b", mine, 4))
    assert.isFalse(sessions.use("c", yours, 4))
    assert.isFalse(sessions.isFull())
    sessions.add("d", yours, 500)
    assert.isTrue(sessions.isFull())
    assert.deepStrictEqual(sessions.takeIdle(1_003), ["a", "c"])
    assert.isTrue(sessions.use("d", yours, 1_499))
    sessions.delete("d")
    assert.isFalse(sessions.use("d", yours, 1_500))
    assert.isFalse(sessions.isFull())
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
