/**
 * The events extension's list, polls and streams, over HTTP.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import type { Caller } from "./Subscriber.ts"
import { callerOf, resultOf, secretOf, start, tokensOf, wanted } from "./Subscriber.ts"

const source = { name: "access_log.create", arguments: { building: 1 } }

/** Polls once. Returns the ids in the data of the events, and the state after them. */
const poll = (call: Caller, more: object = {}) =>
  Effect.map(call("events/poll", { ...source, ...more }), (answer) => {
    const { cursor, events, hasMore, truncated } = resultOf(answer)
    assert.ok(Array.isArray(events))
    return { cursor, hasMore, truncated, ids: events.map(({ data }: { readonly data: { id: number } }) => data.id) }
  })

describe("events/list", () => {
  live("is announced by server/discover", function* () {
    const { call } = yield* start()
    const meta = (name: string) => `io.modelcontextprotocol/${name}`
    const _meta = {
      [meta("protocolVersion")]: "2026-07-28",
      [meta("clientInfo")]: { name: "tower-assistant", version: "1.0.0" },
      [meta("clientCapabilities")]: {}
    }
    const { capabilities } = resultOf(yield* call("server/discover", { _meta }))
    assert.deepStrictEqual(Object(capabilities).extensions, { "io.modelcontextprotocol/events": {} })
  })

  live("names each action of each type, with the schema of its data and the ways of delivery", function* () {
    const { call } = yield* start({ resourceTypes: { parcel: { actions: ["arrive", "collect"] } } })
    const { events, resultType } = resultOf(yield* call("events/list"))
    assert.ok(Array.isArray(events))
    assert.strictEqual(resultType, "complete")
    assert.sameMembers(
      events.map(({ name }) => name),
      ["call.create", "access_log.create", "parcel.arrive", "parcel.collect"]
    )
    for (const { delivery, inputSchema, payloadSchema } of events) {
      assert.deepStrictEqual(delivery, ["poll", "push", "webhook"])
      assert.strictEqual(inputSchema.type, "object")
      assert.strictEqual(payloadSchema.type, "object")
    }
    assert.strictEqual((yield* call("events/list", { cursor: "x" })).error?.code, -32_602)
  })

  live("promises no schema for data that the client gets in part", function* () {
    const { call } = yield* start({ maxDetail: (_, type) => (type === "call" ? "thin" : "full") })
    const { events } = resultOf(yield* call("events/list"))
    assert.ok(Array.isArray(events))
    const schemas = new Map(events.map(({ name, payloadSchema }) => [name, payloadSchema]))
    assert.deepStrictEqual(schemas.get("call.create"), { type: "object" })
    assert.property(schemas.get("access_log.create"), "properties")
  })
})

describe("events/poll", () => {
  live("begins now, and then returns each event once, in order, in batches", function* () {
    const { call, doorhook, publish } = yield* start()
    yield* publish()
    const begun = yield* poll(call)
    assert.deepStrictEqual([begun.ids, begun.truncated, begun.hasMore], [[], false, false])
    for (let n = 0; n < 5; n++) yield* publish()
    const other = { resource_type: "call", action: "create", building_id: 1, data: { id: 99 } } as const
    yield* Effect.promise(() => doorhook.publish(other))
    const ids: Array<number> = []
    let cursor = begun.cursor
    for (let hasMore = true; hasMore;) {
      const page = yield* poll(call, { cursor, maxEvents: 2 })
      ids.push(...page.ids)
      assert.isAtMost(page.ids.length, 2)
      cursor = page.cursor
      hasMore = page.hasMore === true
    }
    assert.deepStrictEqual(ids, [2, 3, 4, 5, 6])
    assert.deepStrictEqual((yield* poll(call, { cursor })).ids, [])
    assert.deepStrictEqual((yield* poll(call, { cursor: begun.cursor, name: "call.create" })).ids, [99])
  })

  live("returns events of one action, as subscriptions and streams do", function* () {
    const { call, doorhook, idle, news } = yield* start({
      resourceTypes: { parcel: { actions: ["arrive", "collect"] } }
    })
    const name = "parcel.collect"
    const { cursor } = yield* poll(call, { name })
    resultOf(yield* call("events/subscribe", wanted({ name })))
    news()
    for (const action of ["arrive", "collect"]) {
      const parcel = { resource_type: "parcel", action, building_id: 1, data: { id: action.length } }
      yield* Effect.promise(() => doorhook.publish(parcel))
    }
    yield* idle
    assert.deepStrictEqual((yield* poll(call, { name, cursor })).ids, [7])
    assert.deepStrictEqual(
      news().map(({ body }) => JSON.parse(body).name),
      [name]
    )
  })

  live("refuses foreign buildings, unknown events, and cursors of others", function* () {
    const { call, url } = yield* start()
    const stranger = callerOf(url, (yield* tokensOf(url, "ben")).access_token)
    const { cursor } = yield* poll(call)
    const codeOf = (by: Caller, more: object) =>
      Effect.map(by("events/poll", { ...source, ...more }), ({ error }) => error?.code)
    assert.strictEqual(yield* codeOf(stranger, {}), -32_024)
    assert.strictEqual(yield* codeOf(stranger, { cursor }), -32_024)
    assert.strictEqual(yield* codeOf(stranger, { cursor, arguments: { building: 2 } }), -32_602)
    assert.strictEqual(yield* codeOf(call, { name: "nothing.create" }), -32_023)
    assert.strictEqual(yield* codeOf(call, { cursor: `${String(cursor)}A` }), -32_602)
    assert.strictEqual(yield* codeOf(call, { maxEvents: 0 }), -32_602)
  })

  live("says that events were skipped: by age, by retention, or because the database was restored", function* () {
    const { advance, call, publish } = yield* start({ retention: "1h" })
    const { cursor } = yield* poll(call)
    yield* publish()
    yield* advance("10m")
    yield* publish()
    const recent = yield* poll(call, { cursor, maxAgeMs: 60_000 })
    assert.deepStrictEqual([recent.ids, recent.truncated], [[2], true])
    const enough = yield* poll(call, { cursor, maxAgeMs: 1_800_000 })
    assert.deepStrictEqual([enough.ids, enough.truncated], [[1, 2], false])
    const later = yield* poll(call, { cursor: enough.cursor, maxAgeMs: 1 })
    assert.deepStrictEqual([later.ids, later.truncated], [[], false])
    yield* advance("2h")
    yield* publish()
    const purged = yield* poll(call, { cursor })
    assert.deepStrictEqual([purged.ids, purged.truncated], [[3], true])
    assert.deepStrictEqual((yield* poll(call, { cursor: purged.cursor })).truncated, false)
    const beyond = Buffer.from("building 1.999999.0.0").toString("base64url")
    const restored = yield* poll(call, { cursor: beyond })
    assert.deepStrictEqual([restored.ids, restored.truncated], [[], true])
  })
})

describe("events/subscribe with a cursor", () => {
  live("reads at most 1,000 events of other actions before it says that some may be missed", function* () {
    const { call, doorhook } = yield* start({ resourceTypes: { parcel: { actions: ["arrive", "collect"] } } })
    const name = "parcel.collect"
    const { cursor } = yield* poll(call, { name })
    const arrive = (count: number) =>
      Effect.promise(() =>
        doorhook.publish(
          Array.from({ length: count }, () => ({
            resource_type: "parcel",
            action: "arrive",
            building_id: 1,
            data: { id: 1 }
          }))
        )
      )
    const isTruncated = Effect.map(call("events/subscribe", wanted({ name, cursor })), (answer) => {
      return resultOf(answer)["truncated"]
    })
    const end = call("events/unsubscribe", wanted({ name }))
    yield* arrive(999)
    assert.isFalse(yield* isTruncated)
    yield* end
    yield* arrive(2)
    assert.isTrue(yield* isTruncated)
    yield* end
    assert.isTrue((yield* poll(call, { name, cursor, maxAgeMs: 0 })).truncated)
  })

  live("says whether events before the subscription are missed, and polls return them", function* () {
    const { call, idle, news, publish } = yield* start()
    const { cursor } = yield* poll(call)
    const quiet = resultOf(yield* call("events/subscribe", wanted({ cursor })))
    assert.strictEqual(quiet["truncated"], false)
    resultOf(yield* call("events/unsubscribe", wanted()))
    yield* publish()
    const late = resultOf(yield* call("events/subscribe", wanted({ cursor })))
    assert.strictEqual(late["truncated"], true)
    news()
    yield* publish()
    yield* idle
    assert.deepStrictEqual(
      news().map(({ body }) => JSON.parse(body).data.id),
      [2]
    )
    assert.deepStrictEqual((yield* poll(call, { cursor })).ids, [1, 2])
    assert.deepStrictEqual((yield* poll(call, { cursor: late["cursor"] })).ids, [2])
  })

  live("returns one at a refresh behind which nothing is open", function* () {
    const { advance, call, doorhook, idle, publish } = yield* start()
    const begun = resultOf(yield* call("events/subscribe", wanted()))
    doorhook.reply(500)
    yield* publish()
    yield* idle
    const open = resultOf(yield* call("events/subscribe", wanted()))
    assert.deepStrictEqual((yield* poll(call, { cursor: open["cursor"] })).ids, [1])
    doorhook.reply(200)
    yield* advance("10m")
    const done = resultOf(yield* call("events/subscribe", wanted()))
    assert.notStrictEqual(done["cursor"], begun["cursor"])
    assert.deepStrictEqual((yield* poll(call, { cursor: done["cursor"] })).ids, [])
  })
})

describe("a call of any form", () => {
  live("is answered with a result or a known error", function* () {
    const { call } = yield* start({ requestsPerMinute: "unlimited" })
    const known = [-32_602, -32_603, -32_023, -32_024, -32_025, -32_026, -32_027]
    const anything = fc.jsonValue({ maxDepth: 2 })
    const params = fc.oneof(
      anything,
      fc.record(
        {
          name: fc.oneof(fc.constantFrom("access_log.create", "call.create", "toString"), fc.string()),
          arguments: fc.oneof(fc.constant({ building: 1 }), fc.record({ building: anything }), anything),
          cursor: fc.oneof(fc.constant(null), fc.base64String(), anything),
          maxAgeMs: fc.oneof(fc.maxSafeInteger(), anything),
          maxEvents: fc.oneof(fc.maxSafeInteger(), anything),
          ttlMs: fc.oneof(fc.maxSafeInteger(), anything),
          delivery: fc.oneof(
            fc.record({ url: fc.oneof(fc.webUrl(), anything), secret: fc.constantFrom(secretOf(1), "whsec_", 1) }),
            anything
          )
        },
        { requiredKeys: [] }
      )
    )
    const method = fc.constantFrom("list", "poll", "subscribe", "unsubscribe")
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(method, params, async (name, given) => {
          const { error, result } = await Effect.runPromise(call(`events/${name}`, Object(given)))
          if (error !== undefined) assert.include(known, error.code)
          if (error?.code === -32_603) assert.fail(error.message)
          assert.notStrictEqual(result === undefined, error === undefined)
        }),
        { numRuns: 500 }
      )
    )
  })
})
