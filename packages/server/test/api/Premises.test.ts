import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, operatorKey, testServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

/** Publishes an event with this data, as text. */
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
  it.effect("are those that the directory says the user has", () =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("that are somebody else's, or nobody's, are not found", () =>
    Effect.gen(function* () {
      for (const path of ["/v4/buildings/2", "/v4/buildings/999", "/v4/buildings/x"]) {
        const reply = yield* get(path)
        assert.deepStrictEqual([reply.status, reply.at("/errors/0/code")], [404, "not_found"], path)
      }
      assert.strictEqual((yield* call("GET", "/v4/buildings")).status, 401)
      assert.strictEqual((yield* call("POST", "/v4/tenants", { as: "tenant" })).status, 405)
      const everybody = yield* get("/v4/tenants?scope=all", "tenant")
      assert.deepStrictEqual([everybody.status, everybody.at("/errors/0/source/parameter")], [400, "scope"])
      assert.strictEqual((yield* get("/v4/buildings?scope=self")).status, 400)
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("come in pages like integrations, in both styles, and links keep the scope", () =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(testServer()))
  )
})

describe("what happened", () => {
  it.effect("has the published data as its attributes, byte for byte, and says which event it was", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const data = '{"z":1, "id": 12345678901234567890,  "2":1.0e2, "1":"\\u00e9 é", "n":{ "b":[ ],"a":-0}}'
      const event = yield* publish(data)
      const reply = yield* get(logs)
      const resource = `{"type":"access_logs","id":"12345678901234567890","attributes":${data},"meta":{"event_id":"${event}","created_at":"1970-01-01T00:16:40.000Z"}}`
      assert.isTrue(reply.text.startsWith(`{"data":[${resource}],"links":{`), reply.text)
      assert.strictEqual(reply.at("/meta/page_info/total_item_count"), 1)
    }).pipe(Effect.provide(testServer()))
  )

  it.effect.each([
    ['{"id":7}', "7"],
    ['{"id":-7}', "-7"],
    ['{"id":"a \\"b\\""}', 'a "b"'],
    ['{"id":1,"id":2}', "2"],
    ['{"a":{"id":1}}', null],
    ['{"id":1.5}', null],
    ['{"id":1e3}', null],
    ['{"id":""}', null],
    ['{"id":null}', null],
    ['{"id":[1]}', null]
  ] as const)("has the id that the host gave it, if it is a text or a whole number: %s", ([data, own]) =>
    Effect.gen(function* () {
      const event = yield* publish(data, "call")
      assert.deepStrictEqual(ids(yield* get("/v4/buildings/1/calls")), [own ?? event])
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is listed by kind, the latest first, in pages", () =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is seen by those who get its webhooks: a tenant sees what involves it and nothing else", () =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("repeats the page's numbers at the top where clients look for them there", () =>
    Effect.gen(function* () {
      yield* publish("{}")
      for (const path of [logs, "/v4/buildings"]) {
        const reply = yield* get(path)
        assert.deepStrictEqual(reply.at("/page_info"), reply.at("/meta/page_info"))
        assert.isDefined(reply.at("/page_info"))
      }
    }).pipe(Effect.provide(testServer({ api: { topLevelPageInfo: true } })))
  )
})
