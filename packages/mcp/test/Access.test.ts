/**
 * Who gets what: tokens of other audiences, other users' buildings, and grants that end while a session is open.
 */
import { BuildingMoves, EventId } from "@doorhook/core"
import { openDatabase } from "@doorhook/sql"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { createTestDoorhook } from "doorhook/testing"
import { Effect } from "effect"
import { join } from "node:path"
import { live, mount } from "../../doorhook/test/harness/Embedded.ts"
import { eventually } from "../../doorhook/test/harness/Eventually.ts"
import { mcp } from "../src/index.ts"
import { codeOf, directory, resultOf, startEndpoint, tokenFor, Wire } from "./Assistant.ts"

const doors = "https://api.example/doors"

const challengeOf = (response: { readonly headers: Headers }): string => response.headers.get("www-authenticate") ?? ""

/** Publishes an event in the building of each user, for which each has an integration at an address nobody answers. */
const withEvents = Effect.fnUntraced(function* (options: Parameters<typeof startEndpoint>[0] = {}) {
  // Each delivery is tried once.
  const endpoint = yield* startEndpoint({ retry: { access_log: [] }, ...options })
  const { doorhook, url } = endpoint
  const made = (user: string, building: number) =>
    Effect.promise(async () => {
      const { id } = await doorhook.integrations.create({
        user,
        building,
        url: "http://127.0.0.1:9/hook?key=secret",
        bindings: [{ resource_type: "access_log", actions: ["create"] }],
        name: `Log of ${user}`
      })
      const event = await doorhook.publish({
        resource_type: "access_log",
        action: "create",
        building_id: building,
        data: { id: building, user: `visitor of ${user}` }
      })
      const { deliveries } = await doorhook.deliveries.list({ event_id: event.id })
      return { event: event.id, integration: id, delivery: deliveries[0]?.id ?? "" }
    })
  const of = { ada: yield* made("ada", 1), ben: yield* made("ben", 2) }
  const wireOf = Effect.fnUntraced(function* (user: string) {
    const wire = new Wire(url, yield* tokenFor(url, user))
    yield* Effect.promise(() => wire.initialize())
    return wire
  })
  return { ...endpoint, of, wireOf }
})

describe("a token", () => {
  live("opens the endpoint only if it is bound to it", function* () {
    const { url } = yield* startEndpoint({ resources: { [doors]: {} } })
    const statusOf = (token: string) =>
      Effect.promise(async () => {
        const answer = await new Wire(url, token).initialize()
        return [answer.status, challengeOf(answer).includes('error="invalid_token"')]
      })
    assert.deepStrictEqual(yield* statusOf(yield* tokenFor(url, "ada")), [200, false])
    for (const resource of [null, `${url}/v4`, doors]) {
      assert.deepStrictEqual(yield* statusOf(yield* tokenFor(url, "ada", { resource })), [401, true], String(resource))
    }
    // It opens nothing else.
    const authorization = `Bearer ${yield* tokenFor(url, "ada")}`
    const v4 = yield* Effect.promise(() => fetch(`${url}/v4/buildings`, { headers: { authorization } }))
    assert.strictEqual(v4.status, 401)
  })

  live("that is missing or wrong is answered with where to log in", function* () {
    const { url } = yield* startEndpoint()
    const metadata = `resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`
    const bare = yield* Effect.promise(() => fetch(`${url}/mcp`, { method: "POST" }))
    assert.strictEqual(bare.status, 401)
    assert.strictEqual(challengeOf(bare), `Bearer realm="doorhook", scope="public", ${metadata}`)
    const wrong = yield* Effect.promise(() => new Wire(url, "nonsense").initialize())
    assert.include(challengeOf(wrong), metadata)
  })

  live("that ends while a session is open ends it: by its time, with its grant, and with its user", function* () {
    let isBenThere = true
    const doorhook = yield* Effect.acquireRelease(
      Effect.promise(() =>
        createTestDoorhook({
          directory: { ...directory, isActive: (user) => user === "ada" || isBenThere },
          mcp: mcp()
        })
      ),
      (made) => Effect.promise(() => made.close())
    )
    const { url } = yield* mount(doorhook)
    const [ada, ben] = [new Wire(url, yield* tokenFor(url, "ada")), new Wire(url, yield* tokenFor(url, "ben"))]
    const statuses = () =>
      Effect.promise(async () => [(await ada.call("list_places")).status, (await ben.call("list_places")).status])
    yield* Effect.promise(() => Promise.all([ada.initialize(), ben.initialize()]))
    assert.deepStrictEqual(yield* statuses(), [200, 200])
    yield* Effect.promise(() => doorhook.grants.revoke("ada"))
    assert.deepStrictEqual(yield* statuses(), [401, 200])
    isBenThere = false
    assert.deepStrictEqual(yield* statuses(), [401, 401])
    isBenThere = true
    assert.deepStrictEqual(yield* statuses(), [401, 200])
    yield* Effect.promise(() => doorhook.advance("25h"))
    assert.deepStrictEqual(yield* statuses(), [401, 401])
  })
})

describe("a user", () => {
  live("sees and touches nothing of another user, by whatever id", function* () {
    const { doorhook, of, wireOf } = yield* withEvents()
    const [ada, ben] = [yield* wireOf("ada"), yield* wireOf("ben")]
    const known = Effect.promise(() => doorhook.deliveries.show(of.ada.delivery))
    const before = yield* eventually("end of the delivery", known, ({ state }) => state === "exhausted")
    for (const [tool, args] of [
      ["list_events", { building_id: 1 }],
      ["list_events", { tenant_id: 999 }],
      ["list_integrations", { building_id: 1 }],
      ["explain_event", { event_id: of.ada.event }],
      ["resend_delivery", { delivery_id: of.ada.delivery, confirm: true }]
    ] as const) {
      assert.strictEqual(codeOf(yield* Effect.promise(() => ben.call(tool, args))), "not_found", tool)
    }
    for (const uri of ["doorhook://buildings/1/events", "doorhook://buildings/1/integrations"]) {
      const { messages } = yield* Effect.promise(() => ben.send({ id: 2, method: "resources/read", params: { uri } }))
      assert.property(messages[0], "error", uri)
    }
    assert.deepStrictEqual(yield* known, before)
    // Nor does the answer differ from that for what does not exist.
    const [foreign, unknown] = yield* Effect.promise(() =>
      Promise.all([of.ada.delivery, "dlv_4242"].map((delivery_id) => ben.call("resend_delivery", { delivery_id })))
    )
    const shape = JSON.stringify(resultOf(foreign ?? assert.fail())).replace(of.ada.delivery, "dlv_4242")
    assert.strictEqual(shape, JSON.stringify(resultOf(unknown ?? assert.fail())))
    assert.deepStrictEqual(Object(resultOf(yield* Effect.promise(() => ada.call("list_places")))).buildings[0].id, 1)
    const own = yield* Effect.promise(() => ada.call("explain_event", { event_id: of.ada.event }))
    assert.strictEqual(Object(resultOf(own)).integrations[0].delivery_id, of.ada.delivery)
    const health = JSON.stringify(
      resultOf(yield* Effect.promise(() => ada.call("list_integrations", { building_id: 1 })))
    )
    assert.include(health, "Log of ada")
    assert.notInclude(health, "secret")
  })

  live("does not get into another user's session, nor end it", function* () {
    const { wireOf } = yield* withEvents()
    const [ada, ben] = [yield* wireOf("ada"), yield* wireOf("ben")]
    const own = ben.session
    ben.session = ada.session
    assert.strictEqual((yield* Effect.promise(() => ben.call("list_places"))).status, 404)
    assert.strictEqual((yield* Effect.promise(() => ben.request(null, {}, "DELETE"))).status, 404)
    assert.strictEqual((yield* Effect.promise(() => ada.call("list_places"))).status, 200)
    ben.session = own
    assert.strictEqual((yield* Effect.promise(() => ben.request(null, {}, "DELETE"))).status, 204)
    assert.strictEqual((yield* Effect.promise(() => ben.call("list_places"))).status, 404)
  })

  live("on a page of another origin is refused, unless the origin is listed", function* () {
    const { url } = yield* startEndpoint({ browserOrigins: ["https://app.example"] })
    const wire = new Wire(url, yield* tokenFor(url, "ada"))
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" })
    const statusAt = (origin: string) => Effect.promise(async () => (await wire.request(ping, { origin })).status)
    assert.strictEqual(yield* statusAt("https://evil.example"), 403)
    assert.notStrictEqual(yield* statusAt("https://app.example"), 403)
  })
})

describe("a building that another database serves", () => {
  live("is refused with that database's name, and what is not found may be there", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const { doorhook, of } = yield* withEvents({ database })
    yield* Effect.promise(() => doorhook.close())
    const file = openDatabase(database, {})
    const moves = BuildingMoves.encodeMoves([
      { id: "m", buildings: [[1, 1]], tenants: [], way: "out", isDone: true, other: "cell two" }
    ])
    file.prepare("INSERT INTO settings VALUES (?, ?)").run(BuildingMoves.movesName, moves)
    file.close()
    const { url } = yield* startEndpoint({ database })
    const answerTo = (user: string, tool: string, args: object) =>
      Effect.gen(function* () {
        const wire = new Wire(url, yield* tokenFor(url, user))
        const answer = yield* Effect.promise(() => wire.callAlone(tool, args))
        return [codeOf(answer), JSON.stringify(answer.messages).includes("moved to cell two")]
      })
    const unknown = EventId.make("evt_ffffffffffffffff")
    for (const [tool, args] of [
      ["list_events", { building_id: 1 }],
      ["list_integrations", { building_id: 1 }],
      ["explain_event", { event_id: of.ada.event }],
      ["explain_event", { event_id: unknown }],
      ["resend_delivery", { delivery_id: of.ada.delivery, confirm: true }],
      ["resend_delivery", { delivery_id: "dlv_4242", confirm: true }]
    ] as const) {
      assert.deepStrictEqual(yield* answerTo("ada", tool, args), ["misdirected", true], tool)
    }
    assert.deepStrictEqual(yield* answerTo("ben", "explain_event", { event_id: unknown }), ["not_found", false])
    assert.deepStrictEqual(yield* answerTo("ben", "explain_event", { event_id: of.ada.event }), ["not_found", false])
  })
})
