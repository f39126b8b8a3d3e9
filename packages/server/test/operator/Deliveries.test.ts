import { noDeliveries } from "@doorhook/core"
import type { DeliveryId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { call, document, operatorKey, onServer } from "../TestServer.ts"
import { accessLog, attempt, claimDue, published } from "./Attempts.ts"

const as = operatorKey

const wireId = (id: DeliveryId | undefined): string => `dlv_${id}`

describe("GET /operator/deliveries", () => {
  onServer("lists all deliveries, with ids and times in their public form", function* () {
    const { integration, event } = yield* published(1)
    const reply = yield* call("GET", "/operator/deliveries", { as })
    assert.strictEqual(reply.status, 200)
    assert.match(reply.textAt("/deliveries/0/id"), /^dlv_[1-9]\d*$/)
    assert.deepStrictEqual(reply.json, {
      deliveries: [
        {
          id: reply.at("/deliveries/0/id"),
          event_id: event,
          integration_id: integration,
          state: "pending",
          reason: null,
          attempts: 0,
          next_attempt_at: "1970-01-01T00:16:40.000Z",
          last_attempt: null,
          created_at: "1970-01-01T00:16:40.000Z"
        }
      ],
      next: null
    })
  })

  onServer("has no time of a next attempt while one is in flight", function* () {
    yield* published(1)
    const [leased] = yield* claimDue
    const [listed, shown] = [
      yield* call("GET", "/operator/deliveries", { as }),
      yield* call("GET", `/operator/deliveries/${wireId(leased?.id)}`, { as })
    ]
    for (const [reply, path] of [
      [listed, "/deliveries/0"],
      [shown, ""]
    ] as const) {
      assert.deepStrictEqual([reply.at(`${path}/state`), reply.at(`${path}/next_attempt_at`)], ["delivering", null])
    }
    assert.strictEqual(
      shown.at("/explanation/next"),
      "If the sending process ends before the outcome is recorded, another attempt is made."
    )
  })

  onServer("lists the deliveries of integrations by client, host and name, in order", function* () {
    const create = (name: string) =>
      call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document({ name }) })
    yield* create("Lobby")
    yield* create("Garage")
    yield* create("Lobby display")
    for (let n = 0; n < 2; n++) yield* call("POST", "/operator/events", { as, body: accessLog })
    const found = function* (query: string) {
      const reply = yield* call("GET", `/operator/deliveries?${query}`, { as })
      assert.strictEqual(reply.status, 200, reply.text)
      const all = Object.keys(reply.at("/deliveries") ?? {})
      return all.map((at) => [reply.at(`/deliveries/${at}/id`), reply.at(`/deliveries/${at}/integration_id`)])
    }
    const [one, two, three, four] = [
      ["dlv_1", "1"],
      ["dlv_3", "3"],
      ["dlv_4", "1"],
      ["dlv_6", "3"]
    ]
    assert.deepStrictEqual(yield* found("name=lobby"), [one, two, three, four])
    assert.deepStrictEqual(yield* found("name=lobby&order=newest&limit=3"), [four, three, two])
    assert.deepStrictEqual(yield* found("name=lobby&after=dlv_3"), [three, four])
    assert.deepStrictEqual(yield* found("name=lobby&integration_id=3&client_id=client&host=receiver.example"), [
      two,
      four
    ])
    assert.deepStrictEqual(yield* found("name=lobby&integration_id=2"), [])
    yield* Effect.replicateEffect(StoreFixtures.createIntegration({ name: "Room" }), 100)
    assert.deepStrictEqual(yield* found("name=room"), [])
    yield* StoreFixtures.createIntegration({ name: "Room" })
    const refused = yield* call("GET", "/operator/deliveries?name=room", { as })
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/code")], [400, "too_many_integrations"])
  })

  onServer("continues after a cursor", function* () {
    yield* published(7)
    const seen: Array<unknown> = []
    let after: string | null = ""
    let calls = 0
    while (after !== null) {
      const reply: Effect.Success<ReturnType<typeof call>> = yield* call(
        "GET",
        `/operator/deliveries?limit=3&after=${after}`,
        { as }
      )
      for (let n = 0; reply.at(`/deliveries/${n}`) !== undefined; n++) seen.push(reply.at(`/deliveries/${n}/id`))
      after = reply.at("/next") === null ? null : reply.textAt("/next")
      calls++
    }
    assert.strictEqual(calls, 3)
    assert.strictEqual(new Set(seen).size, 7)
    const exact = yield* call("GET", "/operator/deliveries?limit=7", { as })
    assert.isNull(exact.at("/next"))
  })

  onServer("filters by state, integration and event; an empty parameter is ignored", function* () {
    const { integration, event } = yield* published(2)
    const count = Effect.fnUntraced(function* (query: string) {
      const reply = yield* call("GET", `/operator/deliveries?${query}`, { as })
      assert.strictEqual(reply.status, 200, query)
      return Object.keys(reply.at("/deliveries") ?? {}).length
    })
    assert.strictEqual(yield* count("state=&integration_id=&event_id=&after=&limit="), 2)
    assert.strictEqual(yield* count("state=pending"), 2)
    assert.strictEqual(yield* count("state=delivered"), 0)
    assert.strictEqual(yield* count(`integration_id=${integration}`), 2)
    assert.strictEqual(yield* count("integration_id=999"), 0)
    assert.strictEqual(yield* count(`event_id=${event}&state=pending&limit=1000`), 1)
  })

  onServer("refuses unknown and malformed parameters", function* () {
    const cases = ["state=lost", "integration_id=abc", "integration_id=0", "event_id=1", "after=1", "after=dlv_x"]
    for (const query of [
      ...cases,
      "limit=0",
      "limit=1001",
      "limit=x",
      "limit=-1",
      "foo=1",
      "state=pending&state=skipped"
    ]) {
      const reply = yield* call("GET", `/operator/deliveries?${query}`, { as })
      assert.strictEqual(reply.status, 400, query)
      assert.strictEqual(reply.at("/errors/0/source/parameter"), query.split("=")[0], query)
    }
    for (const [path, names] of [
      ["deliveries", ["state", "integration_id", "event_id", "order", "after", "limit"]],
      ["integrations", ["status", "after", "limit"]],
      ["notifications", ["integration_id", "order", "after", "limit"]]
    ] as const) {
      const reply = yield* call("GET", `/operator/${path}?${names.map((name) => `${name}=x`).join("&")}`, { as })
      assert.strictEqual(reply.status, 400, path)
      assert.deepStrictEqual(
        [...names, "no other"].map((_, at) => reply.at(`/errors/${at}/source/parameter`)),
        [...names, undefined],
        path
      )
    }
  })
})

describe("GET /operator/summary", () => {
  onServer("counts deliveries by state", function* () {
    yield* published(3)
    yield* attempt("acknowledged", "delivered")
    yield* call("POST", "/operator/events", { as, body: { ...accessLog, data: { id: 2 } } })
    const { json, status } = yield* call("GET", "/operator/summary", { as })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(json, {
      events: 4,
      deliveries: { ...noDeliveries, pending: 1, delivered: 3 },
      oldest_due_at: "1970-01-01T00:16:40.000Z"
    })
  })
})

describe("one delivery", () => {
  onServer("is shown with its attempts", function* () {
    yield* published(1)
    const [id] = yield* attempt("bad_status", "retrying")
    const reply = yield* call("GET", `/operator/deliveries/${wireId(id)}`, { as })
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.at("/state"), "retrying")
    assert.strictEqual(reply.at("/next_attempt_at"), "1970-01-01T00:16:45.000Z")
    assert.deepStrictEqual(reply.at("/attempts"), [
      {
        number: 1,
        started_at: "1970-01-01T00:16:40.000Z",
        duration_ms: 12,
        outcome: "bad_status",
        status: 500,
        response_excerpt: "oops",
        detail: null,
        explanation: "The receiver answered 500: something failed inside it. Check its log."
      }
    ])
    assert.deepStrictEqual(reply.at("/explanation"), {
      why: reply.at("/attempts/0/explanation"),
      next: "Attempt 2 is due at 1970-01-01T00:16:45.000Z.",
      actions: ["resend"]
    })
    const list = yield* call("GET", "/operator/deliveries", { as })
    assert.deepStrictEqual(list.at("/deliveries/0/last_attempt"), {
      number: 1,
      started_at: "1970-01-01T00:16:40.000Z",
      duration_ms: 12,
      outcome: "bad_status",
      status: 500,
      detail: null
    })
  })

  onServer("that does not exist is not found", function* () {
    for (const id of ["dlv_999", "dlv_0", "1", "abc", "dlv_", `dlv_${"9".repeat(40)}`]) {
      assert.strictEqual((yield* call("GET", `/operator/deliveries/${id}`, { as })).status, 404, id)
      assert.strictEqual((yield* call("POST", `/operator/deliveries/${id}/resend`, { as })).status, 404, id)
    }
  })

  onServer("is sent again in any state, but not to a disabled integration", function* () {
    const { integration } = yield* published(1)
    const [id] = yield* attempt("acknowledged", "delivered")
    const resent = yield* call("POST", `/operator/deliveries/${wireId(id)}/resend`, { as })
    assert.strictEqual(resent.status, 202)
    assert.deepStrictEqual(resent.json, { id: wireId(id) })
    const shown = yield* call("GET", `/operator/deliveries/${wireId(id)}`, { as })
    assert.notStrictEqual(shown.at("/state"), "delivered")

    const body = { data: { type: "integrations", attributes: { status: "disabled" } } }
    yield* call("PATCH", `/v4/buildings/1/integrations/${integration}`, { as: "admin", body })
    const refused = yield* call("POST", `/operator/deliveries/${wireId(id)}/resend`, { as })
    assert.strictEqual(refused.status, 409)
    assert.strictEqual(refused.at("/errors/0/code"), "integration_disabled")
  })
})

describe("POST /operator/integrations/{id}/recover", () => {
  const recover = (id: string, body: unknown) => call("POST", `/operator/integrations/${id}/recover`, { as, body })

  onServer("sends everything that was not acknowledged since a time", function* () {
    const { integration } = yield* published(3)
    yield* attempt("timeout", "exhausted")
    const later = yield* recover(integration, { since: "1970-01-01T01:16:41+01:00" })
    assert.deepStrictEqual(later.json, { deliveries: 0 })
    const reply = yield* recover(integration, { since: "1970-01-01T00:16:40Z" })
    assert.strictEqual(reply.status, 202)
    assert.deepStrictEqual(reply.json, { deliveries: 3 })
  })

  onServer("refuses malformed times, unknown integrations, and disabled ones", function* () {
    const { integration } = yield* published(1)
    yield* attempt("timeout", "exhausted")
    for (const since of [
      "yesterday",
      "2026-03-02T00:00",
      "2026-13-01",
      "2026-02-30",
      "2025-02-29T00:00:00Z",
      5,
      null,
      "1772409600000"
    ]) {
      const reply = yield* recover(integration, { since })
      assert.strictEqual(reply.status, 422, String(since))
      assert.strictEqual(reply.at("/errors/0/source/pointer"), "/since")
    }
    const future = yield* recover(integration, { since: "1970-01-01T00:17:41Z" })
    assert.deepStrictEqual([future.status, future.at("/errors/0/source/pointer")], [422, "/since"])
    assert.match(future.textAt("/errors/0/detail"), /must be in the past; 1970-01-01T00:17:41\.000Z is in the future/)
    for (const body of [{}, [], "null"]) {
      const reply = yield* recover(integration, body)
      assert.strictEqual(reply.status, 422)
      assert.strictEqual(reply.at("/errors/0/source/pointer"), "")
    }
    assert.strictEqual((yield* recover(integration, "{")).status, 400)
    for (const id of ["999", "abc", "0"]) {
      assert.strictEqual((yield* recover(id, { since: "1970-01-01" })).status, 404, id)
    }
    const patch = { data: { type: "integrations", attributes: { status: "disabled" } } }
    yield* call("PATCH", `/v4/buildings/1/integrations/${integration}`, { as: "admin", body: patch })
    assert.strictEqual((yield* recover(integration, { since: "1970-01-01" })).status, 409)
    const left = yield* call("GET", "/operator/deliveries?state=exhausted", { as })
    assert.isDefined(left.at("/deliveries/0"))
  })
})
