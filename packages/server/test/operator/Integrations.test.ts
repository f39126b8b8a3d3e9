import { idleStatus, IntegrationId } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { TestClock } from "effect/testing"
import { call, Controls, document, operatorKey, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"
import { attempt, published } from "./Attempts.ts"

const as = operatorKey

const list = (query = "") => call("GET", `/operator/integrations${query}`, { as })
const show = (id: string) => call("GET", `/operator/integrations/${id}`, { as })
const set = (id: string, body: unknown) => call("PATCH", `/operator/integrations/${id}`, { as, body })
const probe = (id: string) => call("POST", `/operator/integrations/${id}/probe`, { as })

const idsOf = (reply: Reply): ReadonlyArray<unknown> =>
  Object.keys(reply.at("/integrations") ?? {}).map((index) => reply.at(`/integrations/${index}/id`))

describe("the operator's integrations", () => {
  onServer("are shown with their owner and URL, and never with a secret", function* () {
    const { integration } = yield* published(0)
    const tenants = yield* call("POST", "/v4/tenants/101/integrations", { as: "tenant", body: document() })
    const shown = yield* show(integration)
    assert.strictEqual(shown.status, 200)
    assert.deepStrictEqual(shown.json, {
      id: integration,
      scope: { type: "building", id: 1 },
      name: null,
      description: null,
      detail: "full",
      created_by: { user_id: "admin", client_id: "client" },
      url: "https://receiver.example/hook",
      bindings: [{ resource_type: "access_log", actions: ["create"] }],
      status: "enabled",
      disabled_reason: null,
      failing: null,
      catching_up: null,
      overrides: {},
      created_at: "1970-01-01T00:16:40.000Z",
      updated_at: "1970-01-01T00:16:40.000Z"
    })
    const all = yield* list()
    assert.deepStrictEqual(all.at("/integrations/0"), shown.json)
    assert.deepStrictEqual(all.at("/integrations/1/scope"), { type: "tenant", id: 101 })
    assert.deepStrictEqual(idsOf(all), [integration, tenants.at("/data/id")])
    assert.notMatch(all.text + shown.text, /whsec_|secret/)
  })

  onServer("are listed by status, in pages", function* () {
    const ids: Array<string> = []
    for (let n = 0; n < 5; n++) ids.push((yield* published(0)).integration)
    yield* set(ids[1] ?? "", { status: "disabled" })
    assert.deepStrictEqual(idsOf(yield* list("?status=disabled")), [ids[1]])
    const first = yield* list("?status=enabled&limit=3")
    assert.deepStrictEqual(idsOf(first), [ids[0], ids[2], ids[3]])
    const second = yield* list(`?status=enabled&limit=3&after=${first.textAt("/next")}`)
    assert.deepStrictEqual(idsOf(second), [ids[4]])
    assert.isNull(second.at("/next"))
    for (const query of ["status=broken", "after=x", "limit=0", "state=enabled"]) {
      const refused = yield* list(`?${query}`)
      assert.strictEqual(refused.status, 400, query)
      assert.strictEqual(refused.at("/errors/0/source/parameter"), query.split("=")[0])
    }
  })

  onServer("are found by client, host and name", function* () {
    const create = (as: string, attributes: object) =>
      call("POST", "/v4/buildings/1/integrations", { as, body: document(attributes) })
    yield* create("admin", { name: "Lobby", configuration: { url: "https://a.example/x", method: "post" } })
    yield* create("admin", { name: "lobby display", configuration: { url: "https://b.example:81/", method: "post" } })
    assert.deepStrictEqual(idsOf(yield* list("?name=LOBBY")), ["1", "2"])
    assert.deepStrictEqual(idsOf(yield* list("?name=LOBBY&host=b.example")), ["2"])
    assert.deepStrictEqual(idsOf(yield* list("?client_id=client&limit=1")), ["1"])
    assert.deepStrictEqual(idsOf(yield* list("?client_id=c2")), [])
    const refused = yield* list("?host=https://a.example/")
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/source/parameter")], [400, "host"])
  })

  onServer("show whether this process sends their waiting retries early", function* () {
    const ids = [(yield* published(0)).integration, (yield* published(0)).integration]
    const controls = yield* Controls
    const catching_up = [{ integration_id: IntegrationId.make(Number(ids[1])), since: 999_000 }]
    controls.status = { ...idleStatus, catching_up }
    const shown = { since: "1970-01-01T00:16:39.000Z" }
    const all = yield* list()
    assert.deepStrictEqual(
      [all.at("/integrations/0/catching_up"), all.at("/integrations/1/catching_up")],
      [null, shown]
    )
    assert.deepStrictEqual((yield* show(ids[1] ?? "")).at("/catching_up"), shown)
    assert.deepStrictEqual((yield* set(ids[1] ?? "", {})).at("/catching_up"), shown)
  })

  onServer("show since when they have been failing, and are disabled after ten attempts at the earliest", function* () {
    const { integration } = yield* published(3)
    yield* attempt("timeout", "retrying")
    yield* TestClock.adjust("30 minutes")
    yield* attempt("timeout", "retrying")
    assert.deepStrictEqual((yield* show(integration)).at("/failing"), {
      since: "1970-01-01T00:16:40.000Z",
      warnings: 1
    })
    yield* TestClock.adjust("30 minutes")
    yield* attempt("timeout", "retrying")
    assert.strictEqual((yield* show(integration)).at("/status"), "enabled", "nine attempts have failed")
    yield* TestClock.adjust("5 seconds")
    yield* attempt("timeout", "retrying")
    const disabled = yield* show(integration)
    assert.deepStrictEqual([disabled.at("/status"), disabled.at("/disabled_reason")], ["disabled", "failing"])
    yield* published(0)
    assert.deepStrictEqual(idsOf(yield* list("?status=unhealthy")), [integration])
  })

  onServer("get overrides, which are replaced as a whole and shown as written", function* () {
    const { integration } = yield* published(0)
    const overrides = {
      acknowledge: "2xx",
      retry: { access_log: ["5s", "2m"], call: [] },
      allow_targets: ["10.0.0.0/8", "192.168.1.7"]
    }
    const changed = yield* set(integration, { overrides })
    assert.strictEqual(changed.status, 200)
    assert.deepStrictEqual(changed.at("/overrides"), overrides)
    const off = yield* set(integration, { status: "disabled" })
    assert.deepStrictEqual([off.at("/status"), off.at("/disabled_reason")], ["disabled", "manual"])
    assert.deepStrictEqual(off.at("/overrides"), overrides)
    const on = yield* set(integration, { status: "enabled", overrides: {} })
    assert.deepStrictEqual([on.at("/status"), on.at("/disabled_reason"), on.at("/overrides")], ["enabled", null, {}])
    assert.deepStrictEqual((yield* show(integration)).json, on.json)
    const { forgotten } = yield* Controls
    assert.strictEqual(forgotten.length, 3, "the dispatcher heeds each change")
    assert.deepStrictEqual((yield* set(integration, {})).json, on.json)
  })

  onServer("may send to a network that others may not", function* () {
    const { integration } = yield* published(0)
    const other = (yield* published(0)).integration
    const move = (id: string) =>
      call("PATCH", `/v4/buildings/1/integrations/${id}`, {
        as: "admin",
        body: { data: { type: "integrations", attributes: { configuration: { url: "http://10.1.2.3/hook" } } } }
      })
    assert.strictEqual((yield* move(integration)).status, 422)
    yield* set(integration, { overrides: { allow_targets: ["10.0.0.0/8"] } })
    assert.strictEqual((yield* move(integration)).status, 200)
    assert.strictEqual((yield* move(other)).status, 422)
  })

  onServer("are not changed by invalid input, and all problems are named", function* () {
    const { integration } = yield* published(0)
    const before = (yield* show(integration)).json
    const wrong = {
      status: "paused",
      colour: 1,
      overrides: { acknowledge: "3xx", retry: { access_log: ["soon"] }, allow_targets: ["10.0.0.0/99"] }
    }
    const refused = yield* set(integration, wrong)
    assert.strictEqual(refused.status, 422)
    const pointers = [0, 1, 2, 3, 4, 5].map((n) => refused.at(`/errors/${n}/source/pointer`))
    assert.sameMembers(pointers, [
      "/colour",
      "/status",
      "/overrides/acknowledge",
      "/overrides/retry/access_log/0",
      "/overrides/allow_targets/0",
      undefined
    ])
    const details = [0, 1, 2, 3, 4].map((n) => refused.textAt(`/errors/${n}/detail`))
    assert.includeMembers(details, ["/colour is not known here.", '/status must be "enabled" or "disabled".'])
    for (const body of ["null", "[]", '"enabled"']) assert.strictEqual((yield* set(integration, body)).status, 422)
    assert.strictEqual((yield* set(integration, "{")).status, 400)
    assert.deepStrictEqual((yield* show(integration)).json, before)
  })

  onServer("refuse schedules that never retry or that last too long", function* () {
    const { integration } = yield* published(0)
    const before = (yield* show(integration)).json
    for (const [retry, pointer, detail] of [
      [{ access_log: ["5s", "99999999d"] }, "access_log/1", /must be a duration of at most 3650d/],
      [
        { access_log: ["45s"], call: ["60s"] },
        "call/0",
        /must be less than the lifetime of 45s, not 1m: nothing would be retried/
      ]
    ] as const) {
      const refused = yield* set(integration, { overrides: { retry } })
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(refused.at("/errors/0/source/pointer"), `/overrides/retry/${pointer}`)
      assert.match(refused.textAt("/errors/0/detail"), detail)
    }
    assert.deepStrictEqual((yield* show(integration)).json, before)
  })

  onServer("that do not exist are not found", function* () {
    for (const id of ["999", "0", "abc"]) {
      assert.strictEqual((yield* show(id)).status, 404, id)
      assert.strictEqual((yield* set(id, { status: "enabled" })).status, 404, id)
      assert.strictEqual((yield* probe(id)).status, 404, id)
    }
  })

  onServer("can be probed if doorhook disabled them and something is left to send", function* () {
    const { integration } = yield* published(1)
    const refused = yield* probe(integration)
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/code")], [409, "not_disabled"])
    yield* attempt("bad_status", "cancelled", true)
    const gone = yield* show(integration)
    assert.deepStrictEqual([gone.at("/status"), gone.at("/disabled_reason")], ["disabled", "gone"])
    const probing = yield* probe(integration)
    assert.strictEqual(probing.status, 202)
    assert.deepStrictEqual(probing.json, { id: integration, delivery_id: "dlv_1" })
    yield* attempt("acknowledged", "delivered")
    assert.strictEqual((yield* show(integration)).at("/status"), "enabled")
  })
})

describe("GET /operator/notifications", () => {
  onServer("lists notifications, oldest first", function* () {
    const { integration } = yield* published(4)
    yield* attempt("timeout", "retrying")
    yield* TestClock.adjust("31 minutes")
    yield* attempt("timeout", "retrying")
    yield* TestClock.adjust("29 minutes")
    yield* attempt("timeout", "exhausted")
    const reply = yield* call("GET", "/operator/notifications", { as })
    assert.strictEqual(reply.status, 200)
    const about = { integration_id: integration, scope: { type: "building", id: 1 } }
    const ids = [0, 1, 2].map((n) => reply.at(`/notifications/${n}/id`))
    assert.deepStrictEqual(reply.json, {
      notifications: [
        {
          id: ids[0],
          kind: "failing",
          ...about,
          at: "1970-01-01T00:47:40.000Z",
          failing_since: "1970-01-01T00:16:40.000Z",
          disables_at: "1970-01-01T01:16:40.000Z"
        },
        { id: ids[1], kind: "exhausted", ...about, at: "1970-01-01T01:16:40.000Z", deliveries: 4 },
        { id: ids[2], kind: "disabled", ...about, at: "1970-01-01T01:16:40.000Z", reason: "failing" }
      ],
      next: null
    })
    const first = yield* call("GET", "/operator/notifications?limit=2", { as })
    assert.deepStrictEqual([first.at("/notifications/1/id"), first.at("/next")], [ids[1], ids[1]])
    const rest = yield* call("GET", `/operator/notifications?after=${first.textAt("/next")}`, { as })
    assert.deepStrictEqual([rest.at("/notifications/0/id"), rest.at("/next")], [ids[2], null])
    const others = yield* call("GET", "/operator/notifications?integration_id=999", { as })
    assert.deepStrictEqual(others.json, { notifications: [], next: null })
    yield* call("POST", `/operator/integrations/${integration}/probe`, { as })
    yield* attempt("acknowledged", "delivered")
    const recovered = yield* call(
      "GET",
      `/operator/notifications?integration_id=${integration}&after=${String(ids[2])}`,
      {
        as
      }
    )
    assert.deepStrictEqual(
      [recovered.at("/notifications/0/kind"), recovered.at("/notifications/1")],
      ["recovered", undefined]
    )
    for (const query of ["after=x", "integration_id=x", "limit=0", "kind=failing"]) {
      assert.strictEqual((yield* call("GET", `/operator/notifications?${query}`, { as })).status, 400, query)
    }
  })
})
