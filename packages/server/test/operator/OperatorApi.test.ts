/**
 * Calls of the operator API within the process. OperatorClient.test.ts of doorhook compares them with calls over HTTP.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { PublicUrl } from "../../src/http/PublicUrl.ts"
import { clientOperations } from "../../src/operator/ClientOperations.ts"
import { deliveryOperations } from "../../src/operator/DeliveryOperations.ts"
import { eventOperations } from "../../src/operator/EventOperations.ts"
import { statsOperations } from "../../src/operator/StatsOperations.ts"
import { grantOperations } from "../../src/operator/GrantOperations.ts"
import { integrationOperations } from "../../src/operator/IntegrationOperations.ts"
import { notificationOperations } from "../../src/operator/NotificationOperations.ts"
import type { Operation } from "../../src/operator/Operation.ts"
import { OperatorApi } from "../../src/operator/OperatorApi.ts"
import { call, Controls, document, testServer } from "../TestServer.ts"

const operations: ReadonlyArray<Operation> = [
  eventOperations,
  deliveryOperations,
  integrationOperations,
  grantOperations,
  notificationOperations,
  statsOperations,
  clientOperations
].flatMap((group): ReadonlyArray<Operation> => Object.values(group))

/** A running server and, on the same stores, `OperatorApi` for calls without HTTP. */
const service = () =>
  OperatorApi.layer.pipe(
    Layer.provide(Layer.orDie(PublicUrl.layer("https://doors.example"))),
    Layer.provideMerge(testServer())
  )

describe("the operator API", () => {
  it.effect("runs each declared operation, and has a route for each", () =>
    Effect.gen(function* () {
      const { handlers } = yield* OperatorApi
      const namesOf = (all: ReadonlyArray<Operation>) => all.map(({ name }) => name).toSorted()
      assert.deepStrictEqual(namesOf(handlers.map(({ operation }) => operation)), namesOf(operations))
      assert.strictEqual(new Set(namesOf(operations)).size, operations.length)
    }).pipe(Effect.provide(service()))
  )

  it.effect("answers within the process with copies, which the caller may change", () =>
    Effect.gen(function* () {
      const { call: operate } = yield* OperatorApi
      yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
      const show = operate(integrationOperations.show, { params: { id: "1" } })
      const before = JSON.stringify(yield* show)
      const changed = yield* show
      Reflect.set(changed.scope, "id", 99)
      Reflect.set(changed.bindings, "length", 0)
      assert.strictEqual(JSON.stringify(yield* show), before)
    }).pipe(Effect.provide(service()))
  )

  it.effect("reveals no more of an internal failure within the process than over HTTP", () =>
    Effect.gen(function* () {
      const { call: operate } = yield* OperatorApi
      const test = operate(integrationOperations.sendTestEvent, { params: { id: "1" } })
      const controls = yield* Controls
      for (const [fault, status, code] of [
        ["store", 503, "unavailable"],
        ["defect", 500, "internal_error"]
      ] as const) {
        controls.fault = fault
        const failure = yield* Effect.flip(test)
        assert.deepStrictEqual([failure.status, failure.errors[0].code], [status, code])
        assert.notInclude(failure.message, "hunter2")
      }
    }).pipe(Effect.provide(service()))
  )
})
