import { BuildingId, DeliveryStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { addresses } from "../security/Surface.ts"
import { call, Controls, document, operatorKey, onServer } from "../TestServer.ts"

const event = (fields: object = {}) => ({
  resource_type: "access_log",
  action: "create",
  building_id: 1,
  tenant_ids: [101],
  data: { id: 1 },
  ...fields
})

const publish = (body: unknown) => call("POST", "/operator/events", { as: operatorKey, body })

const operations = addresses.filter(({ path }) => path.startsWith("/operator/"))

const storedEvents = Effect.gen(function* () {
  const store = yield* DeliveryStore
  return (yield* store.summary(0)).events
})

describe("POST /operator/events", () => {
  onServer("accepts an event or a list, and returns the number of deliveries of each event", function* () {
    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    const one = yield* publish(event())
    assert.strictEqual(one.status, 202)
    assert.match(one.textAt("/events/0/id"), /^evt_[0-9A-Za-z]{16,}$/)
    assert.strictEqual(one.at("/events/0/deliveries"), 1)
    const many = yield* publish([event({ resource_type: "call" }), event(), event({ building_id: 9 })])
    assert.strictEqual(many.status, 202)
    assert.deepStrictEqual(
      [0, 1, 2, 3].map((n) => many.at(`/events/${n}/deliveries`)),
      [0, 1, 0, undefined]
    )
    assert.strictEqual(yield* storedEvents, 4)
    assert.deepStrictEqual((yield* publish([])).json, { events: [] })
  })

  onServer("accepts an event of an unknown building, with a hint", function* () {
    const reply = yield* publish([event({ building_id: 9 }), event(), event({ building_id: 9 })])
    assert.strictEqual(reply.status, 202)
    assert.strictEqual(yield* storedEvents, 3)
    assert.match(reply.textAt("/hints/0"), /^building_id 9 is not in the directory, /)
    assert.isUndefined(reply.at("/hints/1"))
    ;(yield* Controls).fault = "directory"
    const { json } = yield* publish(event({ building_id: 9 }))
    assert.hasAllKeys(json, ["events"])
  })

  onServer("accepts a member that is probably misspelled, with a hint", function* () {
    const { tenant_ids: _, ...others } = event()
    const { json } = yield* publish([{ ...others, tenant_id: 101 }, event()])
    const hint = "tenant_id is not a member of an event and was ignored; did you mean tenant_ids?"
    assert.deepInclude(json, { hints: [hint] })
  })

  onServer("keeps data as it was sent", function* () {
    const data = '{"id": 12345678901234567890, "2":1,  "1":2, "1":3, "n":1.0e2, "t":"\\u00e9"}'
    const text = `{"resource_type":"call","action":"create","building_id":1,"tenant_ids":[],"data":${data}}`
    const reply = yield* publish(text)
    assert.strictEqual(reply.status, 202)
    const scope = { type: "building", id: BuildingId.make(1) } as const
    const store = yield* DeliveryStore
    const { items } = yield* store.events({ scope, resource_type: "call", offset: 0, limit: 10, countUpTo: 10 })
    assert.deepStrictEqual(
      items.map((stored) => [stored.id, stored.data]),
      [[reply.textAt("/events/0/id"), data]]
    )
  })

  onServer("accepts bodies up to 1 MiB", function* () {
    const text = JSON.stringify(event())
    assert.strictEqual((yield* publish(text + " ".repeat(1024 * 1024 - text.length))).status, 202)
    const larger = yield* publish(text + " ".repeat(1024 * 1024))
    assert.strictEqual(larger.status, 413)
    assert.strictEqual(yield* storedEvents, 1)
  })

  onServer("names every problem and stores nothing", function* () {
    const reply = yield* publish([event(), event({ resource_type: "x", building_id: 0 }), { ...event(), data: 5 }, 7])
    assert.strictEqual(reply.status, 422)
    assert.strictEqual(reply.headers.get("content-type"), "application/json")
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4].map((n) => reply.at(`/errors/${n}/source/pointer`)),
      ["/1/resource_type", "/1/building_id", "/2/data", "/3", undefined]
    )
    assert.strictEqual(reply.at("/errors/0/status"), "422")
    assert.isNotEmpty(reply.textAt("/errors/0/detail"))
    const tooMany = yield* publish(Array.from({ length: 1_001 }, () => event()))
    assert.strictEqual(tooMany.status, 422)
    const large = yield* publish(event({ data: { text: "x".repeat(256 * 1024) } }))
    assert.strictEqual(large.at("/errors/0/source/pointer"), "/data")
    for (const body of ["", "{", "nonsense"]) {
      const bad = yield* publish(body)
      assert.strictEqual(bad.status, 400, body)
      assert.strictEqual(bad.at("/errors/0/code"), "bad_request")
    }
    for (const body of ["null", "5", '"x"']) assert.strictEqual((yield* publish(body)).status, 422, body)
    assert.strictEqual(yield* storedEvents, 0)
  })

  onServer("refuses a list as an id, however deeply nested", function* () {
    const depth = 30_000
    const deep = "[".repeat(depth) + "]".repeat(depth)
    const reply = yield* publish(JSON.stringify(event()).replace('"building_id":1', `"building_id":${deep}`))
    assert.strictEqual(reply.status, 422)
    assert.strictEqual(reply.at("/errors/0/source/pointer"), "/building_id")
  })

  onServer("answers 503 with Retry-After while too much waits to be stored", function* () {
    const controls = yield* Controls
    controls.fault = "busy"
    const refused = yield* publish(event())
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/code")], [503, "publisher_busy"])
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
    assert.include(refused.textAt("/errors/0/detail"), "waitingBytes")
    controls.fault = "none"
    assert.strictEqual((yield* publish(event())).status, 202)
    assert.strictEqual(yield* storedEvents, 1)
  })

  onServer("does not require a content type", function* () {
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      const headers = { "content-type": type }
      const reply = yield* call("POST", "/operator/events", { as: operatorKey, body: event(), headers })
      assert.strictEqual(reply.status, 202)
    }
  })
})

describe("publishing again under the same Idempotency-Key", () => {
  const publishAs = (key: string, body: unknown) =>
    call("POST", "/operator/events", { as: operatorKey, body, headers: { "idempotency-key": key } })

  onServer("repeats the answer and publishes nothing, for a day", function* () {
    const first = yield* publishAs("k", [event(), event()])
    assert.strictEqual(first.status, 202)
    yield* TestClock.adjust("23 hours")
    const again = yield* publishAs("k", [event(), event()])
    assert.strictEqual(again.status, 202)
    assert.strictEqual(again.text, first.text)
    assert.strictEqual(yield* storedEvents, 2)
    yield* TestClock.adjust("1 hour")
    assert.notStrictEqual((yield* publishAs("k", [event(), event()])).text, first.text)
    assert.strictEqual(yield* storedEvents, 4)
  })

  onServer("publishes once if the requests arrive together", function* () {
    const replies = yield* Effect.all(
      Array.from({ length: 5 }, () => publishAs("k", event())),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size, 1)
    assert.strictEqual(yield* storedEvents, 1)
  })

  onServer("is refused for another body, even for the single event of a list", function* () {
    yield* publishAs("k", JSON.stringify(event()))
    for (const body of [event({ data: { id: 2 } }), [event()], `${JSON.stringify(event())} `]) {
      const refused = yield* publishAs("k", body)
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(refused.at("/errors/0/code"), "idempotency_key_reused")
      assert.deepStrictEqual(refused.at("/errors/0/source"), { header: "Idempotency-Key" })
      assert.include(refused.textAt("/errors/0/detail"), "24 hours")
    }
    assert.strictEqual(yield* storedEvents, 1)
  })

  onServer("is stored for an empty list too", function* () {
    for (let n = 0; n < 2; n++) assert.deepStrictEqual((yield* publishAs("k", [])).json, { events: [] })
    assert.strictEqual((yield* publishAs("k", event())).status, 422)
    assert.strictEqual(yield* storedEvents, 0)
  })

  onServer("keeps no record of refused requests, and refuses malformed keys", function* () {
    assert.strictEqual((yield* publishAs("k", event({ building_id: 0 }))).status, 422)
    assert.strictEqual((yield* publishAs("k", event())).status, 202)
    for (const key of ["", "a b", "k".repeat(256), "caf\u00e9"]) {
      const refused = yield* publishAs(key, event())
      assert.strictEqual(refused.status, 400, key)
      assert.strictEqual(refused.at("/errors/0/code"), "invalid_idempotency_key")
    }
    assert.strictEqual((yield* publishAs("k".repeat(255), event())).status, 202)
  })
})

describe("the operator key", () => {
  onServer("is needed for every operation, and access tokens do not replace it", function* () {
    for (const { method, path } of operations.flatMap(({ methods, path }) =>
      methods.map((method) => ({ method, path: path.replace("{id}", path.includes("deliveries") ? "dlv_1" : "1") }))
    )) {
      for (const as of [undefined, "admin", operatorKey.slice(0, -1), `${operatorKey}x`]) {
        const reply = yield* call(method, path, { ...(as !== undefined && { as }) })
        assert.strictEqual(reply.status, 401, `${method} ${path} as ${as}`)
        assert.strictEqual(reply.headers.get("www-authenticate"), 'Bearer realm="doorhook operator"')
        assert.strictEqual(reply.at("/errors/0/code"), "unauthorized")
        const expected = as === undefined ? "Send the operator key" : "This is not the service's operator key"
        assert.include(reply.at("/errors/0/detail"), expected)
      }
      // The right key resets the count of wrong keys: ten in a row would lock the address.
      assert.strictEqual((yield* call("GET", "/operator/summary", { as: operatorKey })).status, 200)
      const wrongMethod = yield* call("PUT", path, { as: operatorKey })
      assert.strictEqual(wrongMethod.status, 405)
      assert.include(wrongMethod.headers.get("allow"), method)
    }
  })
})
