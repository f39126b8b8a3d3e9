import { DeliveryStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, document, operatorKey, onServer } from "../TestServer.ts"
import { accessLog, attempt, published } from "./Attempts.ts"

const as = operatorKey
const explain = (event: string, query = "") => call("GET", `/operator/events/${event}/explanation${query}`, { as })

const create = (user: string, path: string, attributes: object = {}) =>
  Effect.map(call("POST", `/v4/${path}/integrations`, { as: user, body: document(attributes) }), (reply) =>
    reply.textAt("/data/id")
  )
const callOnly = { bindings: [{ resource_type: "call", actions: ["create"] }] }

const publish = (event: object = accessLog) =>
  Effect.map(call("POST", "/operator/events", { as, body: event }), (reply) => reply.textAt("/events/0/id"))

/** Returns the verdict about each integration, by its id. */
const verdicts = Effect.fnUntraced(function* (event: string, query = "") {
  const reply = yield* explain(event, query)
  assert.strictEqual(reply.status, 200, reply.text)
  const all = Object.keys(reply.at("/integrations") ?? {})
  return Object.fromEntries(
    all.map((n) => [reply.at(`/integrations/${n}/integration_id`), reply.at(`/integrations/${n}/verdict`)])
  )
})

describe("the explanation of an event", () => {
  onServer("says for each integration of its building and tenants what happened", function* () {
    const { integration: got } = yield* published(0)
    const unbound = yield* create("admin", "buildings/1", { ...callOnly, name: "Rings only" })
    const off = yield* create("admin", "buildings/1", { status: "disabled" })
    const changed = yield* create("admin", "buildings/1", callOnly)
    const elsewhere = yield* create("other", "buildings/2")
    const event = yield* publish()
    yield* attempt("acknowledged", "delivered")
    yield* TestClock.adjust(1_000)
    const later = yield* create("admin", "buildings/1")
    const body = { data: { type: "integrations", attributes: { bindings: document().data.attributes.bindings } } }
    yield* call("PATCH", `/v4/buildings/1/integrations/${changed}`, { as: "admin", body })
    assert.deepStrictEqual(yield* verdicts(event), {
      [got]: "delivered",
      [off]: "skipped",
      [unbound]: "no_binding",
      [changed]: "changed_later",
      [later]: "created_later"
    })
    assert.deepStrictEqual(yield* verdicts(event, `?integration_id=${elsewhere}`), { [elsewhere]: "other_building" })
    const one = yield* explain(event, `?integration_id=${unbound}`)
    assert.deepStrictEqual(one.at("/integrations/0"), {
      integration_id: unbound,
      name: "Rings only",
      delivery_id: null,
      verdict: "no_binding",
      why: "The integration is not bound to access_log (create), only to call (create)."
    })
    assert.deepStrictEqual(one.at("/event"), {
      resource_type: "access_log",
      action: "create",
      building_id: 1,
      tenant_ids: [],
      created_at: "1970-01-01T00:16:40.000Z"
    })
  })

  onServer("names a deleted integration, and refuses unknown ones", function* () {
    const { event, integration } = yield* published(1)
    yield* call("DELETE", `/v4/buildings/1/integrations/${integration}`, { as: "admin" })
    const reply = yield* explain(event, `?integration_id=${integration}`)
    assert.deepStrictEqual(
      [reply.at("/integrations/0/verdict"), reply.at("/integrations/0/why"), reply.at("/integrations/0/name")],
      ["cancelled", "The integration was deleted before the delivery was acknowledged.", null]
    )
    assert.strictEqual((yield* explain(event, "?integration_id=99")).status, 404)
    assert.strictEqual((yield* explain("evt_1")).status, 404)
  })

  onServer("distinguishes an event that was never published from one that is retained no longer", function* () {
    const { event } = yield* published(1)
    yield* attempt("acknowledged", "delivered")
    const unknown = `evt_${(1_000_000).toString(36).padStart(9, "0")}${"0".repeat(20)}`
    const before = yield* explain(unknown)
    assert.deepStrictEqual([before.at("/event"), before.at("/verdict")], [null, "never_published"])
    yield* TestClock.adjust("91 days")
    const now = yield* Clock.currentTimeMillis
    const { events } = yield* (yield* DeliveryStore).purge({ before: now, now, after: 0, limit: 10 })
    assert.strictEqual(events, 1)
    const after = yield* explain(event)
    assert.deepStrictEqual([after.at("/event"), after.at("/verdict")], [null, "no_longer_retained"])
    assert.match(after.textAt("/why"), /1970-01-01T00:16:40\.000Z.*retention/)
  })
})
