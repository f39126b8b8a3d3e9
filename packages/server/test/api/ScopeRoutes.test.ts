import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, operatorKey, testServer, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

/** Publishes an event whose data is the JSON text `data`. */
const publish = Effect.fnUntraced(function* (
  data: string,
  resource_type: "call" | "access_log" = "access_log",
  tenant_ids: ReadonlyArray<number> = []
) {
  const body = `{"resource_type":"${resource_type}","action":"create","building_id":1,"tenant_ids":${JSON.stringify(tenant_ids)},"data":${data}}`
  return (yield* call("POST", "/operator/events", { as: operatorKey, body })).textAt("/events/0/id")
})

const ids = (reply: Reply): ReadonlyArray<unknown> =>
  Object.keys(reply.at("/data") ?? {}).map((index) => reply.at(`/data/${index}/id`))

const logs = "/v4/buildings/1/access_logs"
const get = (path: string, as = "admin") => call("GET", path, { as })

/** A link without the address of the server. */
const linkOf = (reply: Reply, name: string): string => {
  const { pathname, search } = new URL(reply.textAt(`/links/${name}`))
  return pathname + search
}

describe("buildings and tenants", () => {
  onServer("are those that the directory lists for the user", function* () {
    const list = yield* get("/v4/buildings")
    assert.strictEqual(list.status, 200)
    assert.strictEqual(list.headers.get("content-type"), "application/vnd.api+json")
    const one = list.at("/data/0")
    const self = list.textAt("/data/0/links/self")
    assert.deepStrictEqual(one, {
      type: "buildings",
      id: "1",
      attributes: {
        name: "Building 1",
        time_zone: "Europe/Berlin",
        access_points: [{ id: 11, name: "Front door" }]
      },
      links: { self }
    })
    assert.deepStrictEqual((yield* get(new URL(self).pathname)).json, { data: one })
    assert.deepStrictEqual(ids(yield* get("/v4/buildings", "tenant")), [])
    assert.deepStrictEqual((yield* get("/v4/tenants?scope=self", "tenant")).at("/data"), [
      {
        type: "tenants",
        id: "101",
        attributes: { unit: { id: 7, label: "4B" } },
        relationships: { building: { data: { type: "buildings", id: "1" } } }
      }
    ])
    const unscoped = yield* get("/v4/tenants", "other")
    assert.deepStrictEqual([ids(unscoped), unscoped.at("/data/0/attributes/unit")], [["102"], null])
  })

  onServer("are not found if they belong to other users or do not exist", function* () {
    for (const path of ["/v4/buildings/2", "/v4/buildings/999", "/v4/buildings/x"]) {
      const reply = yield* get(path)
      assert.deepStrictEqual([reply.status, reply.at("/errors/0/code")], [404, "not_found"], path)
    }
    assert.strictEqual((yield* call("GET", "/v4/buildings")).status, 401)
    assert.strictEqual((yield* call("POST", "/v4/tenants", { as: "tenant" })).status, 405)
    const everybody = yield* get("/v4/tenants?scope=all", "tenant")
    assert.deepStrictEqual([everybody.status, everybody.at("/errors/0/source/parameter")], [400, "scope"])
    assert.strictEqual((yield* get("/v4/buildings?scope=self")).status, 400)
  })

  onServer("are paginated like integrations, in both styles, and links keep the scope", function* () {
    for (const [number, size] of [
      ["page", "per"],
      ["page[number]", "page[size]"]
    ]) {
      const second = yield* get(`/v4/buildings?${number}=2&${size}=3`, "owner")
      assert.deepStrictEqual(ids(second), ["23", "24", "25"])
      assert.deepStrictEqual(second.at("/meta/page_info/total_pages"), 3)
      assert.deepStrictEqual(ids(yield* get(linkOf(second, "next"), "owner")), ["26"])
      assert.deepStrictEqual(ids(yield* get(linkOf(second, "prev"), "owner")), ["20", "21", "22"])
    }
    const tenants = yield* get("/v4/tenants?scope=self&per=2", "owner")
    assert.strictEqual(linkOf(tenants, "next"), "/v4/tenants?scope=self&page=2&per=2")
    assert.deepStrictEqual(ids(yield* get(linkOf(tenants, "next"), "owner")), ["105"])
    assert.notProperty(tenants.json, "page_info")
  })
})

describe("events over HTTP", () => {
  onServer("have the published data as attributes, byte for byte, and the event's id", function* () {
    yield* TestClock.setTime(1_000_000)
    const data = '{"z":1, "id": 12345678901234567890,  "2":1.0e2, "1":"\\u00e9 é", "n":{ "b":[ ],"a":-0}}'
    const event = yield* publish(data)
    const reply = yield* get(logs)
    const resource = `{"type":"access_logs","id":"12345678901234567890","attributes":${data},"meta":{"event_id":"${event}","created_at":"1970-01-01T00:16:40.000Z"}}`
    assert.isTrue(reply.text.startsWith(`{"data":[${resource}],"links":{`), reply.text)
    assert.strictEqual(reply.at("/meta/page_info/total_item_count"), 1)
  })

  it.effect.each([
    ['{"id":7}', "7"],
    ['{"id":-7}', "-7"],
    ['{"id":"a \\"b\\""}', 'a "b"'],
    ['{"id":1,"id":2}', "2"],
    ['{"id":1,"\\u0069d":2}', "2"],
    ['{"id":1,"a":{"id":2}}', "1"],
    ['{"id":1,"a":"\\"id\\""}', "1"],
    ['{"a":{"id":1}}', null],
    ['{"id":1.5}', null],
    ['{"id":1e3}', null],
    ['{"id":""}', null],
    ['{"id":null}', null],
    ['{"id":[1]}', null]
  ] as const)("have the host's own id if it is a string or a whole number: %s", ([data, own]) =>
    Effect.gen(function* () {
      const event = yield* publish(data, "call")
      assert.deepStrictEqual(ids(yield* get("/v4/buildings/1/calls")), [own ?? event])
    }).pipe(Effect.provide(testServer()))
  )

  onServer("are listed between two times, and links keep both", function* () {
    for (let n = 1; n <= 6; n++) {
      yield* TestClock.setTime(n * 1_000)
      yield* publish(`{"id":${n}}`)
    }
    const times = (since: number, until: number) =>
      `since=1970-01-01T00:00:0${since}Z&until=1970-01-01T00:00:0${until}.000Z`
    const first = yield* get(`${logs}?${times(2, 5)}&per=2`)
    assert.deepStrictEqual(ids(first), ["4", "3"])
    assert.strictEqual(first.at("/meta/page_info/total_item_count"), 3)
    assert.notProperty(first.at("/meta/page_info"), "total_is_capped")
    assert.deepStrictEqual(ids(yield* get(linkOf(first, "next"))), ["2"])
    assert.deepStrictEqual(ids(yield* get(`${logs}?since=1970-01-01T00:00:05Z`)), ["6", "5"])
    assert.deepStrictEqual(ids(yield* get(`${logs}?until=1970-01-01T00:00:03Z`)), ["2", "1"])
    assert.deepStrictEqual(ids(yield* get(`${logs}?${times(5, 2)}`)), [])
    assert.deepStrictEqual(ids(yield* get(`${logs}?since=1970-01-02`)), [])
    // A `+` that is not percent-encoded arrives as a space.
    for (const plus of ["+", "%2B"]) {
      assert.deepStrictEqual(ids(yield* get(`${logs}?since=1970-01-01T01:00:06${plus}01:00`)), ["6"])
    }
  })

  onServer("are not listed for a malformed time", function* () {
    for (const time of ["", "yesterday", "1970-13-01", "1970-02-30", "1970-01-01T00:00:00", "1700000000"]) {
      for (const name of ["since", "until"]) {
        const reply = yield* get(`${logs}?${name}=${time}`)
        assert.deepStrictEqual([reply.status, reply.at("/errors/0/source/parameter")], [400, name], time)
      }
    }
    const all = yield* get(`${logs}?since=a&until=b&page=-1`)
    assert.lengthOf(Object.keys(all.at("/errors") ?? {}), 3)
    assert.strictEqual((yield* get("/v4/buildings?since=1970-01-01")).status, 400)
  })

  onServer("are counted up to 10,000, and no page starts after that", function* () {
    const event = (n: number) =>
      `{"resource_type":"access_log","action":"create","building_id":1,"tenant_ids":[],"data":{"id":${n}}}`
    const publishMany = (from: number, to: number) => {
      const body = `[${Array.from({ length: to - from + 1 }, (_, index) => event(from + index)).join(",")}]`
      return call("POST", "/operator/events", { as: operatorKey, body })
    }
    for (let n = 0; n < 10; n++) {
      yield* TestClock.setTime(n * 1_000)
      yield* publishMany(n * 1_000 + 1, n * 1_000 + 1_000)
    }
    const full = yield* get(`${logs}?per=100&page=100`)
    assert.strictEqual(full.at("/meta/page_info/total_item_count"), 10_000)
    assert.notProperty(full.at("/meta/page_info"), "total_is_capped")
    yield* publishMany(10_001, 10_030)
    for (const page of [1, 334]) {
      const reply = yield* get(`${logs}?per=30&page=${page}`)
      assert.deepInclude(reply.at("/meta/page_info"), {
        total_is_capped: true,
        total_item_count: 10_000,
        total_pages: 334,
        page_item_count: 30,
        next_page: page === 334 ? null : 2,
        last_page: 334
      })
      assert.deepStrictEqual(reply.at("/links/next") === null, page === 334)
    }
    for (const [number, size] of [
      ["page", "per"],
      ["page[number]", "page[size]"]
    ]) {
      for (const page of [335, 999_999_999]) {
        const reply = yield* get(`${logs}?${size}=30&${number}=${page}`)
        assert.deepStrictEqual(
          [reply.status, reply.at("/errors/0/code"), reply.at("/errors/0/source/parameter")],
          [422, "page_too_deep", number]
        )
        assert.include(reply.textAt("/errors/0/detail"), "`until`")
      }
    }
    const before = yield* get(`${logs}?until=1970-01-01T00:00:09Z&per=100&page=90`)
    assert.strictEqual(before.at("/meta/page_info/total_item_count"), 9_000)
    assert.strictEqual(ids(before).at(-1), "1")
  })

  onServer("are listed by type, newest first, in pages", function* () {
    for (let n = 1; n <= 5; n++) yield* publish(`{"id":${n}}`)
    yield* publish('{"id":"ring"}', "call")
    assert.deepStrictEqual(ids(yield* get("/v4/buildings/1/calls")), ["ring"])
    const first = yield* get(`${logs}?per=2`)
    assert.deepStrictEqual(ids(first), ["5", "4"])
    assert.strictEqual(first.at("/data/0/type"), "access_logs")
    const second = yield* get(linkOf(first, "next"))
    assert.deepStrictEqual(ids(second), ["3", "2"])
    assert.deepStrictEqual(ids(yield* get(linkOf(second, "last"))), ["1"])
    assert.deepStrictEqual(second.at("/meta/page_info"), {
      current_page: 2,
      total_pages: 3,
      total_item_count: 5,
      page_item_count: 2,
      page_size: 2,
      next_page: 3,
      prev_page: 1,
      first_page: 1,
      last_page: 3
    })
  })

  onServer("are visible to the owners that get their webhooks: a tenant sees only its own events", function* () {
    yield* publish('{"id":1}', "access_log", [101])
    yield* publish('{"id":2}', "access_log", [102])
    yield* publish('{"id":3}', "access_log", [102, 101])
    const mine = "/v4/tenants/101/access_logs"
    assert.deepStrictEqual(ids(yield* get(logs)), ["3", "2", "1"])
    assert.deepStrictEqual(ids(yield* get(mine, "tenant")), ["3", "1"])
    assert.deepStrictEqual(ids(yield* get("/v4/tenants/101/calls", "tenant")), [])
    for (const [path, as] of [
      [logs, "other"],
      [logs, "tenant"],
      [mine, "admin"],
      [mine, "other"],
      ["/v4/buildings/999/calls", "admin"],
      ["/v4/buildings/0/calls", "admin"]
    ] as const) {
      assert.strictEqual((yield* get(path, as)).status, 404, `${path} as ${as}`)
    }
    assert.strictEqual((yield* call("GET", logs)).status, 401)
    assert.strictEqual((yield* get(`${logs}?scope=self`)).status, 400)
    assert.strictEqual((yield* call("DELETE", logs, { as: "admin" })).status, 405)
  })
})
