import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { call, Controls, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const create = (key: string, body: unknown = document(), as = "admin", to = path) =>
  call("POST", to, { as, body, headers: { "idempotency-key": key } })

const count = Effect.map(call("GET", path, { as: "admin" }), (reply) => reply.at("/meta/page_info/total_item_count"))

describe("creating again under the same Idempotency-Key", () => {
  onServer("returns the same integration without its secret, for a day", function* () {
    const first = yield* create("k")
    assert.match(first.textAt("/meta/signing_secret"), /^whsec_/)
    yield* TestClock.adjust("23 hours")
    const again = yield* create("k")
    assert.strictEqual(again.status, 201)
    assert.deepStrictEqual(again.json, { data: first.at("/data") })
    for (const name of ["location", "etag"]) assert.strictEqual(again.headers.get(name), first.headers.get(name))
    assert.strictEqual(yield* count, 1)
    yield* TestClock.adjust("1 hour")
    assert.notStrictEqual((yield* create("k")).at("/data/id"), first.at("/data/id"))
    assert.strictEqual(yield* count, 2)
  })

  onServer("returns the current state of the integration", function* () {
    const first = yield* create("k")
    const one = `${path}/${first.textAt("/data/id")}`
    const body = { data: { type: "integrations", attributes: { status: "disabled" } } }
    yield* call("PATCH", one, { as: "admin", body })
    assert.strictEqual((yield* create("k")).at("/data/attributes/status"), "disabled")
    yield* call("DELETE", one, { as: "admin" })
    assert.strictEqual((yield* create("k")).status, 404)
    assert.strictEqual(yield* count, 0)
  })

  onServer("is refused for another body", function* () {
    yield* create("k")
    const refused = yield* create("k", document({ configuration: { url: "https://other.example/", method: "post" } }))
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(refused.at("/errors/0/code"), "idempotency_key_reused")
    assert.deepStrictEqual(refused.at("/errors/0/source"), { header: "Idempotency-Key" })
    assert.strictEqual(yield* count, 1)
  })

  onServer("is refused with 409 while the first request is in progress", function* () {
    const controls = yield* Controls
    const release = yield* Deferred.make<void>()
    controls.lookup = Effect.andThen(Deferred.succeed(controls.asked, undefined), Deferred.await(release))
    const first = yield* Effect.forkChild(create("k"))
    yield* Deferred.await(controls.asked)
    const second = yield* create("k")
    assert.strictEqual(second.status, 409)
    assert.strictEqual(second.headers.get("retry-after"), "1")
    assert.strictEqual(second.at("/errors/0/code"), "idempotency_key_in_use")
    yield* Deferred.succeed(release, undefined)
    const created = yield* Fiber.join(first)
    assert.strictEqual((yield* create("k")).at("/data/id"), created.at("/data/id"))
    assert.strictEqual(yield* count, 1)
  })

  onServer("does not affect other clients or other owners", function* () {
    const ids = [
      yield* create("k"),
      yield* create("k", document(), "colleague"),
      yield* create("k", document(), "tenant", "/v4/tenants/101/integrations"),
      yield* create("other")
    ].map((reply) => reply.at("/data/id"))
    assert.strictEqual(new Set(ids).size, 4)
  })

  onServer("refuses malformed keys, and keeps no record of refused requests", function* () {
    for (const key of ["", "a b", "k".repeat(256), "caf\u00e9"]) {
      const refused = yield* create(key)
      assert.strictEqual(refused.status, 400, key)
      assert.strictEqual(refused.at("/errors/0/code"), "invalid_idempotency_key")
    }
    assert.strictEqual((yield* create("k", document({ bindings: [] }))).status, 422)
    assert.strictEqual((yield* create("k")).status, 201)
  })

  onServer("refuses a document that is nested too deeply to be compared", function* () {
    const depth = 30_000
    const reply = yield* create("k", `{"data":${"[".repeat(depth)}${"]".repeat(depth)}}`)
    assert.strictEqual(reply.status, 422)
    assert.include(reply.textAt("/errors/0/detail"), "nested too deeply")
    assert.strictEqual((yield* create("k")).status, 201)
  })
})
