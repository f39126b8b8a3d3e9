/**
 * Pages show a call and its end together.
 */
import { declareTypes, ResourceTypes } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { call, document, operatorKey, testServer } from "../TestServer.ts"
import { ownerSignedIn } from "./Browser.ts"

const types = Result.getOrThrow(declareTypes({}, { hasCallEnd: true }))
const server = testServer().pipe(Layer.provide(Layer.succeed(ResourceTypes, types)))

const publish = (resource_type: string, data: object) =>
  Effect.map(
    call("POST", "/operator/events", {
      as: operatorKey,
      body: { resource_type, action: "create", building_id: 1, data }
    }),
    (reply) => reply.textAt("/events/0/id")
  )

const ended = (text: string): string => /<p id="ended">([^<]*)</.exec(text)?.[1]?.trim() ?? ""

describe("the end of a call", () => {
  it.effect.each([
    [{ call_id: "7", reason: "answered_elsewhere" }, "Call ended: answered elsewhere."],
    [{ call_id: 7, reason: "<b>fell asleep" }, "Call ended: &lt;b&gt;fell asleep."],
    [{ call_id: 7 }, "Call ended."],
    [{ call_id: 8, reason: "missed" }, ""]
  ] as const)("is on the pages of the call's event and delivery: %j", ([end, line]) =>
    Effect.gen(function* () {
      const bindings = [{ resource_type: "call", actions: ["create"] }]
      const created = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document({ bindings }) })
      const event = yield* publish("call", { id: 7 })
      const { browser } = yield* ownerSignedIn("admin")
      const listed = yield* call("GET", `/operator/deliveries?event_id=${event}`, { as: operatorKey })
      const pages = [
        `/portal/events/${event}`,
        `/portal/${created.textAt("/data/id")}/deliveries/${listed.textAt("/deliveries/0/id")}`
      ]
      for (const page of pages) assert.strictEqual(ended((yield* browser.get(page)).text), "", page)
      yield* TestClock.adjust("12 seconds")
      yield* publish("call_end", { id: 9, ...end })
      // Only the first end has stopped the ringing.
      yield* TestClock.adjust("1 second")
      yield* publish("call_end", { id: 10, call_id: 7777, reason: "rejected" })
      for (const page of pages) {
        const shown = yield* browser.get(page)
        assert.strictEqual(shown.status, 200, page)
        assert.strictEqual(ended(shown.text), line, page)
      }
    }).pipe(Effect.provide(server))
  )
})
