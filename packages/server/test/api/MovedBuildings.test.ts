/**
 * Calls about buildings that leave to another database. Until the end of their move, a caller repeats them; afterwards
 * another database serves them. Nothing of a refused call is carried out.
 */
import { DeliveryStore } from "@doorhook/core"
import type { BuildingMoves } from "@doorhook/core"
import { EventStream } from "@doorhook/testkit/EventStream"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { address, call, Controls, document, onServer, operatorKey } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

/** The buildings 1 and 20 to 26, and the tenant 101, leave. */
const move = (isDone: boolean): BuildingMoves.BuildingMove => ({
  id: "m",
  way: "out",
  isDone,
  other: "cell-b",
  tenants: [[101, 101]],
  buildings: [
    [1, 1],
    [20, 26]
  ]
})

const leave = (isDone: boolean) =>
  Effect.map(Controls, ({ moves }) => void moves.splice(0, Number.POSITIVE_INFINITY, move(isDone)))

const eventIn = (building_id: number) => ({
  resource_type: "access_log",
  action: "create",
  building_id,
  data: {}
})

const publish = (body: unknown) => call("POST", "/operator/events", { as: operatorKey, body })

const eventsStored = Effect.map(
  DeliveryStore.use((store) => store.summary(0)),
  ({ events }) => events
)

const integrations = "/v4/buildings/1/integrations"

const assertMoving = (reply: Reply, place = "building 1 is"): void => {
  assert.deepStrictEqual([reply.status, reply.textAt("/errors/0/code")], [503, "being_moved"])
  assert.strictEqual(reply.headers.get("retry-after"), "5")
  assert.include(reply.textAt("/errors/0/detail"), `The ${place} being moved to cell-b`)
}

const assertMoved = (reply: Reply, place = "building 1 was"): void => {
  assert.deepStrictEqual([reply.status, reply.textAt("/errors/0/code")], [421, "misdirected"])
  assert.isNull(reply.headers.get("retry-after"))
  assert.include(reply.textAt("/errors/0/detail"), `The ${place} moved to cell-b`)
}

describe("publishing to buildings that another database serves", () => {
  onServer("is refused with 503 until the end of the move, and with 421 afterwards", function* () {
    yield* leave(false)
    assertMoving(yield* publish(eventIn(1)))
    assert.strictEqual((yield* publish(eventIn(2))).status, 202)
    yield* leave(true)
    assertMoved(yield* publish(eventIn(1)))
    assert.strictEqual((yield* publish(eventIn(2))).status, 202)
  })

  onServer("accepts nothing of a list, and names all of its buildings", function* () {
    const list = [2, 21, 20, 1, 20].map(eventIn)
    yield* leave(false)
    assertMoving(yield* publish(list), "buildings 1,20-21 are")
    yield* leave(true)
    assertMoved(yield* publish(list), "buildings 1,20-21 were")
    assert.strictEqual(yield* eventsStored, 0)
  })

  onServer("is refused with 421 if a repetition of the list can't succeed here", function* () {
    const { moves } = yield* Controls
    moves.push(move(true), { ...move(false), id: "n", buildings: [[7, 7]], other: "cell-c" })
    const reply = yield* publish([7, 1].map(eventIn))
    assertMoved(reply)
    assert.include(reply.textAt("/errors/0/detail"), "The building 7 is being moved to cell-c")
  })

  onServer("says first what is wrong with the events", function* () {
    yield* leave(true)
    assert.strictEqual((yield* publish([eventIn(1), { ...eventIn(2), action: 5 }])).status, 422)
  })
})

describe("an integration of a building that another database serves", () => {
  onServer("is neither created, read, changed nor removed", function* () {
    const made = yield* call("POST", integrations, { as: "admin", body: document() })
    const path = `${integrations}/${made.textAt("/data/id")}`
    for (const isDone of [false, true]) {
      yield* leave(isDone)
      const assertRefused = isDone ? assertMoved : assertMoving
      assertRefused(yield* call("POST", integrations, { as: "admin", body: document() }))
      assertRefused(yield* call("GET", path, { as: "admin" }))
      assertRefused(yield* call("DELETE", path, { as: "admin" }))
      const wanted = {
        user: "admin",
        building: 1,
        url: "https://b.example/",
        bindings: [{ resource_type: "call", actions: ["create"] }]
      }
      assertRefused(yield* call("POST", "/operator/integrations", { as: operatorKey, body: wanted }))
      const imported = yield* call("POST", "/operator/integration_imports", {
        as: operatorKey,
        body: { integrations: [wanted] }
      })
      assert.include(imported.textAt("/problems/0/detail"), "The building 1 ")
      assert.strictEqual(imported.at("/integrations/0"), undefined)
    }
    const all = yield* call("GET", "/operator/integrations", { as: operatorKey })
    assert.strictEqual(all.at("/integrations/0/version"), made.at("/data/attributes/version"))
    assert.strictEqual(all.at("/integrations/1"), undefined)
  })

  onServer("is refused to operators too, and not tried without end while its database holds it", function* () {
    const made = yield* call("POST", integrations, { as: "admin", body: document() })
    const path = `/operator/integrations/${made.textAt("/data/id")}`
    const controls = yield* Controls
    controls.isHeld = true
    const held = yield* Effect.forkChild(call("PATCH", path, { as: operatorKey, body: { status: "disabled" } }), {
      startImmediately: true
    })
    // Notices the move after the database, like a process that reads the moves each second.
    yield* call("GET", integrations, { as: "admin" })
    yield* leave(false)
    assertMoving(yield* Fiber.join(held))
    yield* leave(true)
    assertMoved(yield* call("PATCH", path, { as: operatorKey, body: { status: "disabled" } }))
  })
})

describe("an event stream of a building that leaves", () => {
  onServer(
    "ends with the reason moved, and does not begin again",
    function* () {
      const url = `${yield* address}/v4/buildings/1/events`
      const stream = yield* Effect.promise(() => EventStream.open(url, { authorization: "Bearer admin" }))
      yield* Effect.promise(() => stream.next())
      yield* leave(false)
      const event = yield* Effect.promise(() => stream.nextEvent())
      assert.deepStrictEqual([event?.event, event?.data], ["end", '{"reason":"moved"}'])
      const again = yield* Effect.promise(() => EventStream.open(url, { authorization: "Bearer admin" }))
      assert.deepStrictEqual([again.response.status, again.response.headers.get("retry-after")], [503, "5"])
    },
    { api: { streamHeartbeat: 20 } }
  )
})
