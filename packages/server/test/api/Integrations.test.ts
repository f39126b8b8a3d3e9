import { IntegrationId, IntegrationStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Redacted, Schema, Struct } from "effect"
import { TestClock } from "effect/testing"
import { call, Controls, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"
const readLabels = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Unknown))
const oneBinding = [{ resource_type: "access_log", actions: ["create"] }]
const bothBindings = [...oneBinding, { resource_type: "call", actions: ["create"] }]

describe("integrations over HTTP", () => {
  onServer("have a name and a description, which stay unless a document has them", function* () {
    const labels = { name: "\u{1f514}".repeat(80), description: `line\n${"x".repeat(495)}` }
    const created = yield* call("POST", path, { as: "admin", body: document(labels) })
    const one = `${path}/${created.textAt("/data/id")}`
    const labelsOf = (attributes: unknown) => Struct.pick(readLabels(attributes), ["name", "description"])
    assert.deepStrictEqual(labelsOf(created.at("/data/attributes")), labels)
    const steps: ReadonlyArray<readonly ["PUT" | "PATCH", object, object]> = [
      ["PUT", {}, labels],
      ["PATCH", { name: " Lobby " }, { ...labels, name: "Lobby" }],
      ["PUT", { description: "  " }, { name: "Lobby", description: null }],
      ["PATCH", { name: null }, { name: null, description: null }]
    ]
    for (const [method, attributes, expected] of steps) {
      const body = method === "PUT" ? document(attributes) : { data: { type: "integrations", attributes } }
      const changed = yield* call(method, one, { as: "admin", body })
      assert.strictEqual(changed.status, 200, changed.text)
      assert.deepStrictEqual(labelsOf(changed.at("/data/attributes")), expected)
      assert.deepStrictEqual((yield* call("GET", path, { as: "admin" })).at("/data/0"), changed.at("/data"))
    }
  })

  for (const [as, path, relationship] of [
    ["admin", "/v4/buildings/1/integrations", { building: { data: { type: "buildings", id: "1" } } }],
    ["tenant", "/v4/tenants/101/integrations", { tenant: { data: { type: "tenants", id: "101" } } }]
  ] as const) {
    onServer(`can be created, read, changed and deleted at ${path}`, function* () {
      yield* TestClock.setTime(1_000_000)
      const created = yield* call("POST", path, { as, body: document() })
      assert.strictEqual(created.status, 201)
      const self = created.headers.get("location")
      assert.strictEqual(created.at("/data/links/self"), self)
      assert.isTrue(self?.endsWith(`${path}/${created.textAt("/data/id")}`))
      assert.match(created.textAt("/meta/signing_secret"), /^whsec_[A-Za-z0-9+/]{32}$/)
      assert.deepStrictEqual(created.at("/data"), {
        type: "integrations",
        id: created.at("/data/id"),
        attributes: {
          ...document().data.attributes,
          name: null,
          description: null,
          detail: "full",
          status: "enabled",
          disabled_reason: null,
          created_at: "1970-01-01T00:16:40.000Z",
          updated_at: "1970-01-01T00:16:40.000Z"
        },
        relationships: { ...relationship, client: { data: { type: "clients", id: "client" } } },
        links: { self }
      })

      const one = `${path}/${created.textAt("/data/id")}`
      const got = yield* call("GET", one, { as })
      assert.strictEqual(got.status, 200)
      assert.deepStrictEqual(got.json, { data: created.at("/data") })

      yield* TestClock.adjust(1_000)
      const bindings = [{ resource_type: "call", actions: ["create"] }]
      const put = yield* call("PUT", one, { as, body: document({ bindings }) })
      assert.strictEqual(put.status, 200)
      assert.deepStrictEqual(put.at("/data/attributes/bindings"), bindings)
      assert.strictEqual(put.at("/data/id"), created.at("/data/id"))
      assert.strictEqual(put.at("/data/attributes/created_at"), created.at("/data/attributes/created_at"))
      assert.strictEqual(put.at("/data/attributes/updated_at"), "1970-01-01T00:16:41.000Z")
      assert.isUndefined(put.at("/meta"))

      const again = yield* call("PUT", one, { as, body: document({ bindings }) })
      assert.deepStrictEqual(again.json, put.json)

      const removed = yield* call("DELETE", one, { as })
      assert.strictEqual(removed.status, 204)
      assert.strictEqual(removed.text, "")
      assert.strictEqual((yield* call("GET", one, { as })).status, 404)
      assert.strictEqual((yield* call("DELETE", one, { as })).status, 404)
    })
  }

  onServer("show the signing secret once and never again", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    const later = [
      yield* call("GET", one, { as: "admin" }),
      yield* call("GET", path, { as: "admin" }),
      yield* call("PUT", one, { as: "admin", body: document({ bindings: bothBindings }) }),
      yield* call("PATCH", one, { as: "admin", body: document({ bindings: oneBinding }) })
    ]
    for (const reply of later) {
      assert.strictEqual(reply.status, 200)
      assert.notInclude(reply.text, "whsec_")
      assert.notInclude(reply.text, "secret")
    }
  })

  onServer("keep their secret when they change", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    yield* call("PUT", one, { as: "admin", body: document({ bindings: bothBindings }) })
    yield* call("PATCH", one, { as: "admin", body: document({ bindings: oneBinding }) })
    const stored = yield* (yield* IntegrationStore).find(IntegrationId.make(Number(created.textAt("/data/id"))))
    assert.strictEqual(
      stored === null ? null : Redacted.value(stored.signing_secret),
      created.at("/meta/signing_secret")
    )
  })

  onServer("change only in the members of a PATCH", function* () {
    const patch = (attributes: object) =>
      call("PATCH", one, { as: "admin", body: { data: { type: "integrations", attributes } } })
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`

    const url = yield* patch({ configuration: { url: "https://elsewhere.example/" } })
    assert.deepStrictEqual(url.at("/data/attributes/configuration"), {
      url: "https://elsewhere.example/",
      method: "post"
    })
    assert.deepStrictEqual(url.at("/data/attributes/bindings"), created.at("/data/attributes/bindings"))

    const off = yield* patch({ status: "disabled" })
    assert.strictEqual(off.at("/data/attributes/status"), "disabled")
    assert.strictEqual(off.at("/data/attributes/disabled_reason"), "manual")
    assert.deepStrictEqual(off.at("/data/attributes/configuration"), url.at("/data/attributes/configuration"))

    const on = yield* patch({ status: "enabled" })
    assert.strictEqual(on.at("/data/attributes/status"), "enabled")
    assert.isNull(on.at("/data/attributes/disabled_reason"))

    const nothing = yield* patch({})
    assert.deepStrictEqual(nothing.json, on.json)
  })

  onServer("are enabled by a PUT", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    yield* call("PATCH", one, { as: "admin", body: document({ status: "disabled" }) })
    const put = yield* call("PUT", one, { as: "admin", body: document() })
    assert.strictEqual(put.at("/data/attributes/status"), "enabled")
    assert.isNull(put.at("/data/attributes/disabled_reason"))
  })

  onServer("do not change if the answer of a GET is sent back by PUT", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    yield* call("PATCH", one, { as: "admin", body: document({ status: "disabled" }) })
    const before = yield* call("GET", one, { as: "admin" })
    assert.deepStrictEqual((yield* call("PUT", one, { as: "admin", body: before.text })).json, before.json)
    const on = yield* call("PUT", one, { as: "admin", body: document({ status: "enabled" }) })
    assert.strictEqual(on.at("/data/attributes/status"), "enabled")
    const off = yield* call("PUT", one, { as: "admin", body: document({ status: "disabled" }) })
    assert.strictEqual(off.at("/data/attributes/disabled_reason"), "manual")
  })

  onServer("are enabled by any PUT after doorhook disabled them, even by the unchanged answer of a GET", function* () {
    const store = yield* IntegrationStore
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    for (const disabled_reason of ["gone", "failing"] as const) {
      const stored = yield* store.find(IntegrationId.make(Number(created.textAt("/data/id"))))
      if (stored === null) return assert.fail("not stored")
      const { version } = stored
      yield* store.update({ ...stored, status: "disabled", disabled_reason, version: version + 1 }, version)
      const before = yield* call("GET", one, { as: "admin" })
      assert.strictEqual(before.at("/data/attributes/disabled_reason"), disabled_reason)
      const put = yield* call("PUT", one, { as: "admin", body: before.text })
      assert.strictEqual(put.at("/data/attributes/status"), "enabled")
    }
  })

  onServer("can be created disabled, and accept no unknown status", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document({ status: "disabled" }) })
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.at("/data/attributes/status"), "disabled")
    assert.strictEqual(created.at("/data/attributes/disabled_reason"), "manual")
    const one = `${path}/${created.textAt("/data/id")}`
    for (const status of ["paused", null, true]) {
      for (const [method, target] of [
        ["POST", path],
        ["PUT", one]
      ] as const) {
        const refused = yield* call(method, target, { as: "admin", body: document({ status }) })
        assert.strictEqual(refused.status, 422)
        assert.strictEqual(refused.at("/errors/0/source/pointer"), "/data/attributes/status")
      }
    }
  })

  onServer("are accessible to everyone with the right, and to nobody else", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const id = created.textAt("/data/id")
    assert.strictEqual((yield* call("GET", `${path}/${id}`, { as: "colleague" })).status, 200)
    const strangers = [
      ["other", `/v4/buildings/1/integrations/${id}`],
      ["tenant", `/v4/buildings/1/integrations/${id}`],
      // The user may manage the building or tenant in the path, but the integration belongs to building 1.
      ["other", `/v4/buildings/2/integrations/${id}`],
      ["tenant", `/v4/tenants/101/integrations/${id}`]
    ] as const
    for (const [as, one] of strangers) {
      for (const [method, body] of [["GET"], ["PUT", document()], ["PATCH", document()], ["DELETE"]] as const) {
        const reply = yield* call(method, one, { as, body })
        assert.strictEqual(reply.status, 404, `${as} ${method} ${one}`)
        assert.strictEqual(reply.at("/errors/0/code"), "not_found")
      }
    }
    assert.strictEqual((yield* call("GET", `${path}/${id}`, { as: "admin" })).status, 200)
  })

  onServer("make the dispatcher drop its cached state only if they change", function* () {
    const { forgotten } = yield* Controls
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    const id = IntegrationId.make(Number(created.textAt("/data/id")))
    assert.deepStrictEqual(forgotten, [])
    yield* call("PUT", one, { as: "admin", body: document() })
    assert.deepStrictEqual(forgotten, [])
    yield* call("PUT", one, { as: "admin", body: document({ bindings: bothBindings }) })
    assert.deepStrictEqual(forgotten, [id])
    yield* call("PATCH", one, { as: "admin", body: document({ status: "disabled" }) })
    assert.deepStrictEqual(forgotten, [id, id])
    yield* call("DELETE", one, { as: "admin" })
    assert.deepStrictEqual(forgotten, [id, id, id])
  })

  onServer("change only if their version matches If-Match", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    const first = created.headers.get("etag") ?? ""
    assert.match(first, /^"\d+"$/)
    assert.strictEqual((yield* call("GET", one, { as: "admin" })).headers.get("etag"), first)

    const body = document({ bindings: bothBindings })
    const put = yield* call("PUT", one, { as: "admin", body, headers: { "if-match": `"nope", ${first}` } })
    assert.strictEqual(put.status, 200)
    const second = put.headers.get("etag") ?? ""
    assert.notStrictEqual(second, first)

    for (const stale of [first, `W/${second}`, "garbage", '""']) {
      for (const [method, content] of [["PUT", document()], ["PATCH", document()], ["DELETE"]] as const) {
        const reply = yield* call(method, one, { as: "admin", body: content, headers: { "if-match": stale } })
        assert.strictEqual(reply.status, 412, `${method} ${stale}`)
        assert.deepStrictEqual(reply.at("/errors/0/source"), { header: "If-Match" })
      }
    }
    assert.deepStrictEqual((yield* call("GET", one, { as: "admin" })).json, put.json)
    assert.strictEqual((yield* call("PUT", one, { as: "admin", body, headers: { "if-match": "*" } })).status, 200)
    assert.strictEqual((yield* call("DELETE", one, { as: "admin", headers: { "if-match": second } })).status, 204)
  })

  onServer("accept the variants that existing clients send", function* () {
    const body = {
      jsonapi: { version: "1.1" },
      data: {
        id: null,
        type: "integrations",
        meta: {},
        attributes: {
          integrator: "webhook",
          description: "ours",
          configuration: { url: "http://receiver.example:8080/h?x=1", method: "POST", headers: {} },
          bindings: [
            { resource_type: "call", actions: ["create"], resource_id: null },
            { resource_type: "access_log", actions: ["create", "create"] },
            { resource_type: "call", actions: ["create"] }
          ]
        }
      }
    }
    const created = yield* call("POST", path, { as: "admin", body })
    assert.strictEqual(created.status, 201)
    assert.deepStrictEqual(created.at("/data/attributes/configuration"), {
      url: "http://receiver.example:8080/h?x=1",
      method: "post"
    })
    assert.deepStrictEqual(created.at("/data/attributes/bindings"), [
      { resource_type: "call", actions: ["create"] },
      { resource_type: "access_log", actions: ["create"] }
    ])
  })
})
