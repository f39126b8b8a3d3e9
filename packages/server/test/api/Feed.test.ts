import { assert, describe } from "@effect/vitest"
import { DeliveryStore, FeedHub } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { Effect, Fiber } from "effect"
import { Base64Url } from "effect/encoding"
import { TestClock } from "effect/testing"
import { call, document, operatorKey, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

const { claim, settle, settlement } = StoreFixtures

const path = "/v4/buildings/1/integrations"

const created = Effect.gen(function* () {
  yield* TestClock.setTime(1_000_000)
  const reply = yield* call("POST", path, { as: "admin", body: document() })
  return `${path}/${reply.textAt("/data/id")}`
})

/** Publishes an event whose data is the JSON text `data`. */
const publish = Effect.fnUntraced(function* (data: string, type = "access_log", tenants: ReadonlyArray<number> = []) {
  const event = `"resource_type":"${type}","action":"create","building_id":1,"tenant_ids":${JSON.stringify(tenants)}`
  const body = `{${event},"data":${data}}`
  return (yield* call("POST", "/operator/events", { as: operatorKey, body })).textAt("/events/0/id")
})

/** Another turn of the event loop, in real time. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Waits until a request follows a feed. */
const untilReaderListens = Effect.gen(function* () {
  const hub = yield* FeedHub
  while (hub.listeners() === 0) yield* turn
})

/** Ends all deliveries, and purges the events from before a time. */
const purgeBefore = Effect.fnUntraced(function* (before: number) {
  const leased = yield* claim(before + 1)
  yield* settle(before + 1, ...leased.map((each) => settlement(each)))
  yield* DeliveryStore.use((store) => store.purge({ before, now: before + 1, after: 0, limit: 100 }))
})

const read = (one: string, query = "") => call("GET", `${one}/deliveries${query}`, { as: "admin" })

const eventsOf = (reply: Reply): ReadonlyArray<unknown> =>
  Object.keys(reply.at("/data") ?? {}).map((index) => reply.at(`/data/${index}/attributes/event_id`))

/** The `next` link without the address of the server. */
const nextOf = (reply: Reply): string => {
  const { pathname, search } = new URL(reply.textAt("/links/next"))
  return pathname + search
}

describe("GET .../integrations/{id}/deliveries", () => {
  onServer("lists deliveries, with each event as in the webhook's body", function* () {
    const one = yield* created
    const data = '{"id": 12345678901234567890, "2":1,  "1":2, "n":1.0e2, "t":"\\u00e9 é"}'
    const event = yield* publish(data)
    const reply = yield* read(one)
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.headers.get("content-type"), "application/vnd.api+json")
    const id = reply.textAt("/data/0/id")
    const cursor = reply.textAt("/meta/cursor")
    assert.match(id, /^dlv_\d+$/)
    assert.strictEqual(
      reply.text,
      `{"data":[{"type":"deliveries","id":"${id}","attributes":{"event_id":"${event}","state":"pending",` +
        `"created_at":"1970-01-01T00:16:40.000Z","event":{"resource_type":"access_log","action":"create","data":${data}}}}],` +
        `"meta":{"cursor":"${cursor}"},"links":{"next":null}}`
    )
  })

  onServer("continues from a cursor that never expires, even if there was nothing new", function* () {
    const one = yield* created
    const empty = yield* read(one)
    assert.deepStrictEqual([empty.at("/data"), empty.at("/links/next")], [[], null])
    const beginning = empty.textAt("/meta/cursor")
    assert.isNotEmpty(beginning)
    const ids = [yield* publish("{}"), yield* publish("{}")]
    const both = yield* read(one, `?after=${beginning}`)
    assert.deepStrictEqual(eventsOf(both), ids)
    const after = both.textAt("/meta/cursor")
    for (let n = 0; n < 2; n++) {
      const nothing = yield* read(one, `?after=${after}`)
      assert.deepStrictEqual([eventsOf(nothing), nothing.at("/meta/cursor")], [[], after])
    }
    yield* TestClock.adjust("365 days")
    const late = yield* publish("{}")
    assert.deepStrictEqual(eventsOf(yield* read(one, `?after=${after}`)), [late])
    assert.deepStrictEqual(eventsOf(yield* read(one, `?after=${beginning}`)), [...ids, late])
  })

  onServer("returns pages, each with a link to the next", function* () {
    const one = yield* created
    const ids: Array<string> = []
    for (let n = 0; n < 7; n++) ids.push(yield* publish("{}"))
    for (const size of ["per=3", "page[size]=3"]) {
      const pages = [yield* read(one, `?${size}`)]
      while (pages.at(-1)?.at("/links/next") !== null) {
        pages.push(yield* call("GET", nextOf(pages.at(-1) ?? assert.fail()), { as: "admin" }))
      }
      assert.deepStrictEqual(
        pages.map((page) => eventsOf(page)),
        [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]
      )
    }
    const exact = yield* read(one, "?per=7")
    assert.isNull(exact.at("/links/next"))
    assert.strictEqual(eventsOf(yield* read(one, "?per=100")).length, 7)
  })

  onServer("returns 50 items per page by default", function* () {
    const one = yield* created
    const event = { resource_type: "access_log", action: "create", building_id: 1, data: {} }
    yield* call("POST", "/operator/events", { as: operatorKey, body: Array.from({ length: 51 }, () => event) })
    const first = yield* read(one)
    assert.strictEqual(eventsOf(first).length, 50)
    assert.strictEqual(eventsOf(yield* call("GET", nextOf(first), { as: "admin" })).length, 1)
  })

  onServer(
    "includes events from the time when the integration was disabled, and none of other integrations",
    function* () {
      const one = yield* created
      const body = { data: { type: "integrations", attributes: { status: "disabled" } } }
      yield* call("PATCH", one, { as: "admin", body })
      const skipped = yield* publish("{}")
      const other = yield* created
      const later = yield* publish("{}")
      const reply = yield* read(one)
      assert.deepStrictEqual(eventsOf(reply), [skipped, later])
      assert.strictEqual(reply.at("/data/0/attributes/state"), "skipped")
      assert.deepStrictEqual(eventsOf(yield* read(other)), [later])
    }
  )

  onServer("refuses cursors of other integrations, and invalid sizes", function* () {
    const one = yield* created
    const other = yield* created
    yield* publish("{}")
    const foreign = (yield* read(other)).textAt("/meta/cursor")
    for (const after of ["", "x", "0", "1", "dlv_1", foreign, `${foreign}=`, "%00", "MS4tMQ", "MS4wMQ"]) {
      const refused = yield* read(one, `?after=${after}`)
      assert.strictEqual(refused.status, 400, after)
      assert.strictEqual(refused.at("/errors/0/source/parameter"), "after", after)
    }
    for (const query of ["per=0", "per=101", "page[size]=x", "page=2", "limit=3"]) {
      const refused = yield* read(one, `?${query}`)
      assert.strictEqual(refused.status, 400, query)
      assert.strictEqual(refused.at("/errors/0/source/parameter"), query.split("=")[0])
    }
    assert.strictEqual((yield* read(one, "?per=2&page[size]=2")).status, 400)
  })

  onServer("needs the right to the integration", function* () {
    const one = yield* created
    assert.strictEqual((yield* call("GET", `${one}/deliveries`)).status, 401)
    assert.strictEqual((yield* call("GET", `${one}/deliveries`, { as: "other" })).status, 404)
    assert.strictEqual((yield* call("GET", `${path}/999/deliveries`, { as: "admin" })).status, 404)
    assert.strictEqual((yield* call("POST", `${one}/deliveries`, { as: "admin" })).status, 405)
    const tenants = "/v4/tenants/101/integrations"
    const mine = yield* call("POST", tenants, { as: "tenant", body: document() })
    const feed = yield* call("GET", `${tenants}/${mine.textAt("/data/id")}/deliveries`, { as: "tenant" })
    assert.strictEqual(feed.status, 200)
  })

  onServer("waits for the first item, and not longer than it was asked to", function* () {
    const one = yield* created
    const cursor = (yield* read(one)).textAt("/meta/cursor")
    const waiting = yield* Effect.forkChild(read(one, `?after=${cursor}&wait=30`))
    yield* untilReaderListens
    yield* publish("{}", "call")
    const event = yield* publish("{}")
    assert.deepStrictEqual(eventsOf(yield* Fiber.join(waiting)).slice(-1), [event])
    assert.strictEqual(eventsOf(yield* read(one, "?wait=30")).length, 1)
    const late = (yield* read(one)).textAt("/meta/cursor")
    const inVain = yield* Effect.forkChild(read(one, `?after=${late}&wait=2`))
    yield* untilReaderListens
    for (; inVain.pollUnsafe() === undefined; yield* turn) yield* TestClock.adjust("1 second")
    const empty = yield* Fiber.join(inVain)
    assert.deepStrictEqual([eventsOf(empty), empty.at("/meta/cursor"), empty.at("/links/next")], [[], late, null])
  })

  onServer("begins with the first item from a time on, in the order of storing", function* () {
    const one = yield* created
    const ids: Array<string> = []
    // The clock is put back once, in the middle, where a search by halves looks first.
    for (let n = 0; n < 30; n++) {
      yield* TestClock.setTime(n === 15 ? 1_200_000 : 1_000_000 + n * 100_000)
      ids.push(yield* publish("{}"))
    }
    const from = (time: number) =>
      Effect.map(read(one, `?per=100&since=${new Date(time).toISOString()}`), (reply) => eventsOf(reply))
    for (const [time, first] of [
      [0, 0],
      [1_000_000, 0],
      [1_000_001, 1],
      [1_950_000, 10],
      [3_900_000, 29]
    ] as const)
      assert.deepStrictEqual(yield* from(time), ids.slice(first), String(time))
    const none = yield* read(one, "?since=2026-01-01")
    assert.deepStrictEqual([eventsOf(none), none.at("/meta/gap")], [[], undefined])
    const later = yield* publish("{}")
    assert.deepStrictEqual(eventsOf(yield* read(one, `?after=${none.textAt("/meta/cursor")}`)), [later])
  })

  onServer("reports once what retention has deleted behind the cursor, and goes on", function* () {
    const one = yield* created
    const beginning = (yield* read(one)).textAt("/meta/cursor")
    const [first, second] = [yield* publish("{}"), yield* publish("{}")]
    const before = yield* read(one, "?per=1")
    yield* TestClock.setTime(2_000_000)
    const third = yield* publish("{}")
    yield* purgeBefore(1_500_000)
    const page = yield* read(one, `?after=${before.textAt("/meta/cursor")}`)
    assert.deepStrictEqual(eventsOf(page), [third])
    const [from, to] = ["1970-01-01T00:16:40.000Z", "1970-01-01T00:16:40.000Z"]
    assert.deepStrictEqual(page.at("/meta/gap"), { from, to })
    const next = yield* read(one, `?after=${page.textAt("/meta/cursor")}`)
    assert.deepStrictEqual([eventsOf(next), next.at("/meta/gap")], [[], undefined])
    assert.deepStrictEqual((yield* read(one, `?after=${beginning}`)).at("/meta/gap"), { from, to })
    assert.isUndefined((yield* read(one)).at("/meta/gap"), "no cursor, no gap")
    assert.isUndefined((yield* read(one, `?after=${beginning}&resource_type=call`)).at("/meta/gap"), "another type")
    const since = yield* read(one, "?since=1970-01-01T00:01:00Z")
    assert.deepStrictEqual(since.at("/meta/gap"), { from: "1970-01-01T00:01:00.000Z", to })
    assert.isUndefined((yield* read(one, "?since=1970-01-01T00:20:00Z")).at("/meta/gap"))
    assert.notInclude([first, second], third)
  })

  onServer("reports a gap once, even if items before its end are still kept", function* () {
    const one = yield* created
    const beginning = (yield* read(one)).textAt("/meta/cursor")
    const kept = [yield* publish("{}"), yield* publish("{}")]
    const purged = yield* publish("{}")
    const leased = yield* claim(1_000_001)
    const ended = leased.filter(({ event }) => event.id === purged)
    yield* settle(1_000_001, ...ended.map((each) => settlement(each)))
    yield* DeliveryStore.use((store) => store.purge({ before: 1_500_000, now: 1_500_000, after: 0, limit: 100 }))
    let after = beginning
    const pages: Array<Reply> = []
    for (let n = 0; n < 3; n++) {
      const page = yield* read(one, `?per=1&after=${after}`)
      pages.push(page)
      after = page.textAt("/meta/cursor")
    }
    assert.deepStrictEqual(
      pages.map((page) => [eventsOf(page), page.at("/meta/gap") !== undefined]),
      [
        [[kept[0]], true],
        [[kept[1]], false],
        [[], false]
      ]
    )
  })

  onServer("refuses a cursor beyond the end, as after a restored backup", function* () {
    const one = yield* created
    const ofAnother = (position: number) => Base64Url.encode(`integration ${one.split("/").at(-1)}.${position}.0.0`)
    yield* publish("{}")
    assert.strictEqual((yield* read(one, `?after=${ofAnother(1)}`)).status, 200)
    const refused = yield* read(one, `?after=${ofAnother(1_000)}`)
    assert.strictEqual(refused.status, 400)
    assert.include(refused.textAt("/errors/0/detail"), "beyond the end")
  })

  onServer("refuses wrong parameters, and names them", function* () {
    const one = yield* created
    const cursor = (yield* read(one)).textAt("/meta/cursor")
    for (const [query, status, parameter] of [
      ["wait=31", 400, "wait"],
      ["wait=-1", 400, "wait"],
      ["wait=1.5", 400, "wait"],
      ["wait=", 400, "wait"],
      ["since=yesterday", 400, "since"],
      ["since=", 400, "since"],
      [`since=2026-01-01&after=${cursor}`, 400, "since"],
      ["resource_type=door_forced", 422, "resource_type"],
      ["resource_type=call&resource_type=", 422, "resource_type"],
      ["wait=1&wait=2", 400, "wait"]
    ] as const) {
      const refused = yield* read(one, `?${query}`)
      assert.strictEqual(refused.status, status, query)
      assert.strictEqual(refused.at("/errors/0/source/parameter"), parameter, query)
    }
    assert.strictEqual((yield* read(one, "?wait=0")).status, 200)
  })
})

describe("GET /v4/{buildings,tenants}/{id}/events", () => {
  const readScope = (path: string, query = "", as = "admin") => call("GET", `${path}/events${query}`, { as })
  const idsOf = (reply: Reply): ReadonlyArray<unknown> =>
    Object.keys(reply.at("/data") ?? {}).map((index) => reply.at(`/data/${index}/id`))

  onServer("lists all events that the owner may see, whether or not an integration gets them", function* () {
    yield* TestClock.setTime(1_000_000)
    const data = '{"id": 12345678901234567890, "2":1}'
    const first = yield* publish(data)
    const second = yield* publish("{}", "call", [101])
    const reply = yield* readScope("/v4/buildings/1")
    assert.strictEqual(
      reply.text,
      `{"data":[{"type":"events","id":"${first}","attributes":{"created_at":"1970-01-01T00:16:40.000Z",` +
        `"event":{"resource_type":"access_log","action":"create","data":${data}}}},` +
        `{"type":"events","id":"${second}","attributes":{"created_at":"1970-01-01T00:16:40.000Z",` +
        `"event":{"resource_type":"call","action":"create","data":{}}}}],` +
        `"meta":{"cursor":"${reply.textAt("/meta/cursor")}"},"links":{"next":null}}`
    )
    const mine = yield* readScope("/v4/tenants/101", "", "tenant")
    assert.deepStrictEqual(idsOf(mine), [second])
    assert.strictEqual((yield* readScope("/v4/buildings/1", "", "other")).status, 404)
    assert.strictEqual((yield* readScope("/v4/tenants/102", "", "tenant")).status, 404)
    assert.strictEqual((yield* call("GET", "/v4/buildings/1/events")).status, 401)
  })

  onServer("filters by type, in pages whose links keep the filter", function* () {
    const ids: Array<string> = []
    for (let n = 0; n < 12; n++) ids.push(yield* publish("{}", n % 3 === 0 ? "call" : "access_log"))
    const calls = ids.filter((_, n) => n % 3 === 0)
    const first = yield* readScope("/v4/buildings/1", "?resource_type=call&per=3")
    assert.deepStrictEqual(idsOf(first), calls.slice(0, 3))
    const next = yield* call("GET", nextOf(first), { as: "admin" })
    assert.deepStrictEqual([idsOf(next), next.at("/links/next")], [calls.slice(3), null])
    const both = yield* readScope("/v4/buildings/1", "?resource_type=call&resource_type=access_log")
    assert.deepStrictEqual(idsOf(both), ids)
    const after = next.textAt("/meta/cursor")
    yield* publish("{}")
    const late = yield* publish("{}", "call")
    assert.deepStrictEqual(idsOf(yield* readScope("/v4/buildings/1", `?resource_type=call&after=${after}`)), [late])
  })

  onServer("waits, begins from a time on, and refuses cursors of other feeds", function* () {
    yield* TestClock.setTime(1_000_000)
    yield* publish("{}")
    const cursor = (yield* readScope("/v4/buildings/1")).textAt("/meta/cursor")
    const waiting = yield* Effect.forkChild(readScope("/v4/buildings/1", `?wait=30&after=${cursor}`))
    yield* untilReaderListens
    yield* TestClock.adjust("10 seconds")
    const event = yield* publish("{}")
    assert.deepStrictEqual(idsOf(yield* Fiber.join(waiting)), [event])
    assert.deepStrictEqual(idsOf(yield* readScope("/v4/buildings/1", "?since=1970-01-01T00:16:41Z")), [event])
    const one = yield* created
    assert.strictEqual((yield* read(one, `?after=${cursor}`)).status, 400)
    const foreign = (yield* read(one)).textAt("/meta/cursor")
    for (const after of [foreign, "", "x", `${cursor}=`])
      assert.strictEqual((yield* readScope("/v4/buildings/1", `?after=${after}`)).status, 400, after)
    assert.strictEqual((yield* readScope("/v4/tenants/101", `?after=${cursor}`, "tenant")).status, 400)
  })
})
