/**
 * How much of an event's data clients get: the `detail` of integrations, the host's limit, lists, feeds and single events.
 */
import type { Detail } from "@doorhook/core"
import { MaxDetail } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { call, document, onServer, operatorKey, testServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

const building = "/v4/buildings/1"
const integrations = `${building}/integrations`

const log = '{"id":7, "name":"Ann", "n\\u0061me":"Bea","image_url":null,"unit":{"name":"4B"}}'
const redactedLog = '{"id":7, "name":null, "n\\u0061me":null,"image_url":null,"unit":{"name":"4B"}}'

const publish = (data: string, resource_type = "access_log") =>
  Effect.map(
    call("POST", "/operator/events", {
      as: operatorKey,
      body: `{"resource_type":"${resource_type}","action":"create","building_id":1,"tenant_ids":[101],"data":${data}}`
    }),
    (reply) => reply.textAt("/events/0/id")
  )

const create = (attributes: object = {}, as = "admin") => call("POST", integrations, { as, body: document(attributes) })

const pathOf = (created: Reply): string => `${integrations}/${created.textAt("/data/id")}`

/** Access logs are redacted for everybody; the client `rival` gets only ids and links, except of calls. */
const limited = (client: string | null, type: string): Detail => {
  if (client === "rival") return type === "call" ? "redacted" : "thin"
  return type === "access_log" ? "redacted" : "full"
}

const onLimited = (name: string, body: Parameters<typeof onServer>[1]) =>
  it.effect(name, () =>
    Effect.gen(body).pipe(Effect.provide(testServer().pipe(Layer.provide(Layer.succeed(MaxDetail, limited)))))
  )

describe("the detail of an integration", () => {
  onServer("is full unless it is given, and each way of changing it works", function* () {
    const created = yield* create()
    assert.strictEqual(created.at("/data/attributes/detail"), "full")
    const path = pathOf(created)
    const patched = yield* call("PATCH", path, {
      as: "admin",
      body: { data: { type: "integrations", attributes: { detail: "thin" } } }
    })
    assert.deepStrictEqual([patched.status, patched.at("/data/attributes/detail")], [200, "thin"])
    // A client that doesn't know the member does not undo it.
    const put = yield* call("PUT", path, { as: "admin", body: document() })
    assert.strictEqual(put.at("/data/attributes/detail"), "thin")
    const replaced = yield* call("PUT", path, { as: "admin", body: document({ detail: "redacted" }) })
    assert.strictEqual(replaced.at("/data/attributes/detail"), "redacted")
    const id = created.textAt("/data/id")
    const set = yield* call("PATCH", `/operator/integrations/${id}`, { as: operatorKey, body: { detail: "thin" } })
    assert.deepStrictEqual([set.status, set.at("/detail")], [200, "thin"])
    const hosted = yield* call("POST", "/operator/integrations", {
      as: operatorKey,
      body: {
        user: "admin",
        building: 1,
        url: "https://receiver.example/",
        bindings: [{ resource_type: "call", actions: ["create"] }],
        detail: "redacted"
      }
    })
    assert.deepStrictEqual([hosted.status, hosted.at("/detail")], [201, "redacted"])
  })

  onServer("is refused if it is none", function* () {
    for (const detail of ["some", null, 1, ["full"]]) {
      const refused = yield* create({ detail })
      assert.strictEqual(refused.status, 422)
      assert.deepInclude(refused.at("/errors/0"), {
        code: "inclusion",
        source: { pointer: "/data/attributes/detail" },
        detail: "Must be `full` or `redacted` or `thin`."
      })
    }
  })

  onServer("decides what the feed shows, exactly as it is sent", function* () {
    const redacted = pathOf(yield* create({ detail: "redacted" }))
    const thin = pathOf(yield* create({ detail: "thin" }))
    const event = yield* publish(log)
    const bodies = [
      `"event":{"resource_type":"access_log","action":"create","data":${redactedLog}}}`,
      `"event":{"resource_type":"access_log","action":"create","data":{"id":7}},"links":{"self":"`
    ]
    for (const [at, path] of [redacted, thin].entries()) {
      const feed = yield* call("GET", `${path}/deliveries`, { as: "admin" })
      assert.include(feed.text, bodies[at] ?? "?")
    }
    const feed = yield* call("GET", `${thin}/deliveries`, { as: "admin" })
    const link = new URL(feed.textAt("/data/0/attributes/links/self"))
    assert.strictEqual(link.pathname, `${building}/events/${event}`)
    const opened = yield* call("GET", link.pathname, { as: "admin" })
    assert.strictEqual(opened.status, 200)
    assert.strictEqual(
      opened.text,
      `{"data":{"type":"events","id":"${event}","attributes":{"created_at":"1970-01-01T00:00:00.000Z","event":{"resource_type":"access_log","action":"create","data":${log}}}}}`
    )
  })
})

describe("a single event", () => {
  onServer("is found by those whom it concerns, and by nobody else", function* () {
    const event = yield* publish(log)
    for (const [as, path, status] of [
      ["admin", `${building}/events/${event}`, 200],
      ["tenant", `/v4/tenants/101/events/${event}`, 200],
      ["other", `/v4/tenants/102/events/${event}`, 404],
      ["other", `${building}/events/${event}`, 404],
      ["other", `/v4/buildings/2/events/${event}`, 404],
      ["admin", `${building}/events/evt_0m00000000123456789abcdefghj`, 404],
      ["admin", `${building}/events/7`, 404]
    ] as const) {
      const reply = yield* call("GET", path, { as })
      assert.strictEqual(reply.status, status, `${as} ${path}`)
      if (status === 404) assert.strictEqual(reply.at("/errors/0/code"), "not_found")
    }
    assert.strictEqual((yield* call("GET", `${building}/events/${event}`)).status, 401)
  })

  onServer("that is a test is found where it was sent", function* () {
    const created = yield* create({ detail: "thin" })
    const id = created.textAt("/data/id")
    const sent = yield* call("POST", `/operator/integrations/${id}/test_event`, { as: operatorKey })
    const event = sent.textAt("/event_id")
    assert.strictEqual((yield* call("GET", `${building}/events/${event}`, { as: "admin" })).status, 200)
    assert.strictEqual((yield* call("GET", `/v4/buildings/2/events/${event}`, { as: "other" })).status, 404)
  })
})

describe("the host's limit", () => {
  onLimited("is the detail of an integration that asks for none, and more is refused", function* () {
    const both = [
      { resource_type: "call", actions: ["create"] },
      { resource_type: "access_log", actions: ["create"] }
    ]
    const calls = { bindings: both.slice(0, 1) }
    for (const [attributes, as, detail] of [
      [{}, "admin", "redacted"],
      [calls, "admin", "full"],
      [{ bindings: both }, "admin", "redacted"],
      [{}, "admin~rival", "thin"],
      [calls, "admin~rival", "redacted"],
      [{ detail: "thin" }, "admin", "thin"]
    ] as const) {
      const created = yield* create(attributes, as)
      assert.deepStrictEqual([created.status, created.at("/data/attributes/detail")], [201, detail])
    }
    for (const [attributes, as, most] of [
      [{ detail: "full" }, "admin", "redacted"],
      [{ detail: "full", bindings: both }, "admin", "redacted"],
      [{ detail: "redacted" }, "admin~rival", "thin"]
    ] as const) {
      const refused = yield* create(attributes, as)
      assert.strictEqual(refused.status, 422)
      assert.deepInclude(refused.at("/errors/0"), {
        code: "inclusion",
        source: { pointer: "/data/attributes/detail" },
        detail: `The host lets this client get no more than \`${most}\` of these events.`
      })
    }
    const hosted = { user: "admin", client: "client", building: 1, url: "https://receiver.example/", bindings: both }
    const refused = yield* call("POST", "/operator/integrations", {
      as: operatorKey,
      body: { ...hosted, client: null, detail: "full" }
    })
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/source/pointer")], [422, "/detail"])
    const imported = yield* call("POST", "/operator/integration_imports", {
      as: operatorKey,
      body: { integrations: [{ ...hosted, client: null, detail: "full" }], check_only: true }
    })
    assert.strictEqual(imported.at("/problems/0/pointer"), "/detail")
  })

  onLimited("holds for changes, of other clients too", function* () {
    const created = yield* create({ bindings: [{ resource_type: "call", actions: ["create"] }] })
    const path = pathOf(created)
    const patch = (attributes: object, as = "admin") =>
      call("PATCH", path, { as, body: { data: { type: "integrations", attributes } } })
    const logs = { bindings: [{ resource_type: "access_log", actions: ["create"] }] }
    assert.strictEqual((yield* patch({ ...logs, detail: "full" })).status, 422)
    assert.strictEqual((yield* patch({ detail: "full" })).at("/data/attributes/detail"), "full")
    // Another client must not lead to its own receiver what it may not get.
    const moved = yield* patch({ configuration: { url: "https://rival.example/" } }, "admin~rival")
    assert.deepStrictEqual([moved.status, moved.at("/data/attributes/detail")], [200, "redacted"])
    assert.strictEqual((yield* patch({ detail: "full" }, "admin~rival")).status, 422)
    assert.strictEqual((yield* patch(logs, "admin~rival")).at("/data/attributes/detail"), "thin")
    const id = created.textAt("/data/id")
    const set = yield* call("PATCH", `/operator/integrations/${id}`, { as: operatorKey, body: { detail: "full" } })
    assert.deepStrictEqual([set.status, set.at("/errors/0/source/pointer")], [422, "/detail"])
  })

  onLimited("holds for lists, single events and feeds, by the client that reads", function* () {
    const path = pathOf(yield* create())
    const event = yield* publish(log)
    const list = yield* call("GET", `${building}/access_logs`, { as: "admin" })
    assert.include(list.text, `"id":"7","attributes":${redactedLog},"meta"`)
    const thinList = yield* call("GET", `${building}/access_logs`, { as: "admin~rival" })
    assert.include(thinList.text, '"id":"7","attributes":{"id":7},"meta"')
    assert.strictEqual(new URL(thinList.textAt("/data/0/links/self")).pathname, `${building}/events/${event}`)
    const single = yield* call("GET", `${building}/events/${event}`, { as: "admin" })
    assert.include(single.text, `"data":${redactedLog}}`)
    const thin = yield* call("GET", `${building}/events/${event}`, { as: "admin~rival" })
    assert.deepStrictEqual(thin.at("/data/attributes/event/data"), { id: 7 })
    const feed = yield* call("GET", `${path}/deliveries`, { as: "admin~rival" })
    assert.deepStrictEqual(feed.at("/data/0/attributes/event/data"), { id: 7 })
    for (const [as, data] of [
      ["admin", redactedLog],
      ["admin~rival", '{"id":7}']
    ] as const) {
      const ofScope = yield* call("GET", `${building}/events`, { as })
      assert.include(ofScope.text, `"data":${data}}`)
      assert.notInclude(ofScope.text, "Ann")
    }
    // Without an id of its own, the data has that of the event.
    const other = yield* publish('{"name":"Ann"}')
    const without = yield* call("GET", `${building}/events/${other}`, { as: "admin~rival" })
    assert.deepStrictEqual(without.at("/data/attributes/event/data"), { id: other })
    assert.notInclude([list, thinList, single, thin, feed, without].map(({ text }) => text).join(), "Ann")
  })
})
