import { IntegrationStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { call, Controls, document, operatorKey, onServer } from "../TestServer.ts"

const as = operatorKey
const secret = `whsec_${btoa("0123456789abcdef01234567")}`
const bindings = [{ resource_type: "access_log", actions: ["create"] }]

const wanted = (more: object = {}) => ({
  user: "admin",
  building: 1,
  url: "https://receiver.example/hook",
  bindings,
  ...more
})

const addClient = call("POST", "/operator/clients", {
  as,
  body: { id: "client", name: "Acme", redirect_uris: ["https://client.example/"] }
})
const create = (body: unknown) => call("POST", "/operator/integrations", { as, body })
const importing = (integrations: ReadonlyArray<unknown>, check_only = false) =>
  call("POST", "/operator/integration_imports", { as, body: { integrations, check_only } })

describe("an integration that the host creates", () => {
  onServer("belongs to the user, as if a client of the user had created it", function* () {
    yield* addClient
    const created = yield* create(wanted({ client: "client", name: " Lobby ", description: "By the door", secret }))
    assert.strictEqual(created.status, 201, created.text)
    assert.strictEqual(created.at("/signing_secret"), secret)
    assert.deepStrictEqual(created.at("/created_by"), { user_id: "admin", client_id: "client" })
    const shown = yield* call("GET", "/v4/buildings/1/integrations/1", { as: "admin" })
    assert.deepStrictEqual(
      [shown.at("/data/attributes/name"), shown.at("/data/relationships/client/data/id")],
      ["Lobby", "client"]
    )
    const stored = yield* Effect.flatMap(IntegrationStore, (store) => store.listAll({ after: 0, limit: 10 }))
    assert.deepStrictEqual(
      stored.map((one) => "integration" in one && Redacted.value(one.integration.signing_secret)),
      [secret]
    )
    // Text ids are ids. Without a client and a secret, nobody's client has created it, and it gets a secret.
    const ofTenant = yield* create({ ...wanted(), user: "tenant", building: undefined, tenant: "101" })
    assert.deepStrictEqual(ofTenant.at("/scope"), { type: "tenant", id: 101 })
    assert.isNull(ofTenant.at("/created_by/client_id"))
    assert.match(ofTenant.textAt("/signing_secret"), /^whsec_[A-Za-z0-9+/]{32}$/)
    const got = yield* call("GET", "/v4/tenants/101/integrations", { as: "tenant" })
    assert.isNull(got.at("/data/0/relationships/client/data"))
  })

  for (const [what, body, pointers] of [
    ["is no object", [], [""]],
    ["has no members", {}, ["", "", ""]],
    ["has no building or tenant", wanted({ building: undefined }), [""]],
    ["has a building and a tenant", wanted({ tenant: 101 }), [""]],
    ["has a building that is no id", wanted({ building: "b1" }), ["/building"]],
    ["is for a user without the right", wanted({ user: "other" }), ["/user"]],
    ["is for a user who is gone", wanted({ user: "nobody" }), ["/user"]],
    ["has an unknown client", wanted({ client: "unknown" }), ["/client"]],
    ["has an address that is refused", wanted({ url: "http://127.0.0.1/" }), ["/url"]],
    ["has a name that leads to a refused address", wanted({ url: "https://inside.example/" }), ["/url"]],
    [
      "has a wrong URL, a long name and no right",
      wanted({ url: "x", name: "x".repeat(81), user: "other" }),
      ["/user", "/url", "/name"]
    ],
    [
      "has an undeclared type",
      wanted({ bindings: [{ resource_type: "x", actions: ["create"] }] }),
      ["/bindings/0/resource_type"]
    ],
    ["has a short secret", wanted({ secret: "whsec_YWJj" }), ["/secret"]],
    ["has an unknown member", wanted({ nmae: "Lobby" }), ["/nmae"]]
  ] as const) {
    onServer(`is refused with all problems, and nothing is stored, if it ${what}`, function* () {
      const controls = yield* Controls
      controls.names.set("inside.example", ["10.0.0.1"])
      const refused = yield* create(body)
      assert.strictEqual(refused.status, 422, refused.text)
      const errors = Object.keys(refused.at("/errors") ?? {})
      assert.deepStrictEqual(
        errors.map((at) => refused.at(`/errors/${at}/source/pointer`)),
        [...pointers]
      )
      assert.deepStrictEqual((yield* call("GET", "/operator/integrations", { as })).at("/integrations"), [])
    })
  }
})

describe("an import", () => {
  onServer("names the problems of every element, and then creates nothing", function* () {
    const refused = yield* importing([wanted(), wanted({ user: "other" }), "x", wanted({ url: "y", secret: 5 })])
    assert.strictEqual(refused.status, 200)
    const problems = Object.keys(refused.at("/problems") ?? {})
    assert.deepStrictEqual(
      problems.map((n) => [refused.at(`/problems/${n}/at`), refused.at(`/problems/${n}/pointer`)]),
      [
        [1, "/user"],
        [2, ""],
        [3, "/secret"],
        [3, "/url"]
      ]
    )
    assert.deepStrictEqual(refused.at("/integrations"), [])
    assert.deepStrictEqual((yield* call("GET", "/operator/integrations", { as })).at("/integrations"), [])
  })

  onServer("that is repeated creates only what is not there: same building or tenant, client and URL", function* () {
    yield* addClient
    const list = [
      wanted({ secret }),
      wanted({ url: "https://receiver.example/other" }),
      wanted({ client: "client" }),
      { ...wanted(), user: "tenant", building: undefined, tenant: 101 }
    ]
    assert.deepStrictEqual((yield* importing(list, true)).json, { problems: [], integrations: [] })
    const first = yield* importing(list)
    assert.deepStrictEqual(first.at("/problems"), [])
    assert.deepStrictEqual(first.at("/integrations/0"), { at: 0, id: "1", created: true, signing_secret: secret })
    // Neither the name nor the bindings matter: an existing integration stays as it is.
    const again = yield* importing([
      wanted({ url: "https://new.example/" }),
      ...list.map((one) => ({ ...one, name: "New" }))
    ])
    const summary = Array.from({ length: 5 }, (_, n) => {
      const of = (member: string) => again.at(`/integrations/${n}/${member}`)
      return [of("at"), of("id"), of("created"), of("signing_secret") === null]
    })
    assert.deepStrictEqual(summary, [
      [0, "5", true, false],
      [1, "1", false, true],
      [2, "2", false, true],
      [3, "3", false, true],
      [4, "4", false, true]
    ])
    const all = yield* call("GET", "/operator/integrations", { as })
    assert.strictEqual(Object.keys(all.at("/integrations") ?? {}).length, 5)
    assert.isNull(all.at("/integrations/0/name"))
  })

  onServer("finds an earlier element among many integrations of the building", function* () {
    const list = Array.from({ length: 100 }, (_, n) => wanted({ url: `https://receiver.example/${n}` }))
    yield* importing(list)
    const again = yield* importing(list.slice(-1))
    assert.deepStrictEqual(again.at("/integrations/0"), { at: 0, id: "100", created: false, signing_secret: null })
    // The building has as many integrations as are allowed, so the next one is a problem of its element only.
    const full = yield* importing([wanted({ url: "https://receiver.example/new" }), ...list.slice(-1)])
    assert.strictEqual(full.at("/problems/0/at"), 0)
    assert.match(full.textAt("/problems/0/detail"), /limit of 100 integrations/)
    assert.strictEqual(full.at("/integrations/0/at"), 1)
  })

  onServer("does not take another client's integration for its own", function* () {
    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    const imported = yield* importing([wanted()])
    assert.strictEqual(imported.at("/integrations/0/created"), true)
  })

  onServer("of more than 1,000 elements, or with an unknown option, is refused", function* () {
    assert.strictEqual((yield* importing(Array.from({ length: 1_001 }, () => 1))).status, 422)
    const body = { integrations: [], check: true }
    assert.strictEqual((yield* call("POST", "/operator/integration_imports", { as, body })).status, 422)
  })
})
