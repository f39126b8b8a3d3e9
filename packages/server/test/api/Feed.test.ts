import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, document, operatorKey, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const created = Effect.gen(function* () {
  yield* TestClock.setTime(1_000_000)
  const reply = yield* call("POST", path, { as: "admin", body: document() })
  return `${path}/${reply.textAt("/data/id")}`
})

/** Publishes an access log whose data is the JSON text `data`. */
const publish = Effect.fnUntraced(function* (data: string) {
  const body = `{"resource_type":"access_log","action":"create","building_id":1,"data":${data}}`
  return (yield* call("POST", "/operator/events", { as: operatorKey, body })).textAt("/events/0/id")
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
})
