/**
 * Checks that the operator API has the same operations, answers and failures over HTTP and as calls within the process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { PublicUrl } from "../../src/http/PublicUrl.ts"
import { clientOperations } from "../../src/operator/ClientOperations.ts"
import { deliveryOperations } from "../../src/operator/DeliveryOperations.ts"
import { eventOperations } from "../../src/operator/EventOperations.ts"
import { statsOperations } from "../../src/operator/StatsOperations.ts"
import { grantOperations } from "../../src/operator/GrantOperations.ts"
import { integrationOperations } from "../../src/operator/IntegrationOperations.ts"
import { notificationOperations } from "../../src/operator/NotificationOperations.ts"
import type { Operation } from "../../src/operator/Operation.ts"
import type { OperatorCall } from "../../src/operator/OperatorApi.ts"
import { OperatorApi } from "../../src/operator/OperatorApi.ts"
import { call, Controls, document, operatorKey, testServer } from "../TestServer.ts"
import { attempt, published } from "./Attempts.ts"

const operations: ReadonlyArray<Operation> = [
  eventOperations,
  deliveryOperations,
  integrationOperations,
  grantOperations,
  notificationOperations,
  statsOperations,
  clientOperations
].flatMap((group): ReadonlyArray<Operation> => Object.values(group))

const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** Bodies that are tried with every operation. Most operations refuse most of these bodies. */
const bodies = [
  undefined,
  "",
  "{",
  "null",
  "{}",
  '{"since":"1970-01-01T00:00:00Z"}',
  '{"since":"2100-01-01T00:00:00Z"}',
  '{"status":"disabled"}',
  '{"status":"enabled","overrides":{"acknowledge":"2xx","retry":{"access_log":["5s"]}}}',
  '{"overrides":{"retry":{"nothing":[]}},"x":1}',
  '{"id":"1","name":"One","redirect_uris":["https://one.example/cb"]}',
  '{"name":"","redirect_uris":[]}',
  '{"overlap":"2h"}',
  '{"overlap":"soon"}',
  '{"expires_in":"1h"}',
  '{"expires_in":"2d"}',
  '{"user_id":"admin"}',
  '{"user_id":"","clientid":"x"}',
  JSON.stringify(event),
  JSON.stringify([event, { ...event, building_id: "x" }]),
  `{"x":"${"é".repeat(600_000)}"}`
]
const ids = ["1", "dlv_1", "999", "dlv_999", "a/b;c%"]
const queries = [
  "",
  "limit=1&order=newest",
  "limit=0",
  "bogus=1&limit=1",
  "status=unhealthy",
  "user_id=admin",
  "state=x"
]

/** Calls of every operation, each with at most one mistake. Deletions come last. */
const cases = operations.flatMap((operation): ReadonlyArray<readonly [Operation, OperatorCall]> => {
  const own = operation.path.includes(":id") ? ids : ["1"]
  const empty = operation.bodyLimit > 0 ? { body: "{}" } : {}
  const withId = own.map((id) => [operation, { params: { id }, ...empty }] as const)
  const withQuery = queries.map((query) => [operation, { params: { id: "1" }, query }] as const)
  const withBody = bodies
    .filter((body) => body === undefined || operation.bodyLimit > 0)
    .map((body) => [operation, { params: { id: "1" }, ...(body !== undefined && { body }) }] as const)
  return [...withBody, ...withQuery, ...withId]
})

/** Masks values that differ between two services: generated values, addresses, and a process's counts. */
const masked = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => (name === "process" ? "process" : inner))
      .replaceAll(/https?:\/\/[^"]*\/portal\/open\/[\w.-]+/g, "link")
      .replaceAll(/evt_\w+/g, "evt")
      .replaceAll(/dh_cs_[\w-]+/g, "secret")
      .replaceAll(/client_[\w-]{22}/g, "client")
  )

type Outcome = { readonly answer: unknown } | { readonly status: number; readonly errors: unknown }

type Way = (
  operation: Operation,
  given: OperatorCall
) => Effect.Effect<Outcome, never, OperatorApi | Effect.Services<ReturnType<typeof call>>>

const overHttp: Way = ({ answer, method, path, status }, { body, params = {}, query = "" }) =>
  Effect.gen(function* () {
    const target = path.replace(":id", () => encodeURIComponent(params["id"] ?? ""))
    const reply = yield* call(method, query === "" ? target : `${target}?${query}`, {
      as: operatorKey,
      ...(body !== undefined && { body })
    })
    if (reply.status >= 300) {
      const errors = Schema.decodeUnknownSync(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))(
        reply.at("/errors")
      )
      return {
        status: reply.status,
        errors: errors.map((error) => {
          const { id: _, status: __, ...detail } = error
          return detail
        })
      }
    }
    assert.strictEqual(reply.status, status)
    return { answer: Schema.decodeUnknownSync(answer)(status === 204 ? null : reply.json) }
  })

const inProcess: Way = (operation, given) =>
  Effect.gen(function* () {
    const result = yield* Effect.result((yield* OperatorApi).call(operation, given))
    if (Result.isSuccess(result)) return { answer: result.success }
    const { errors, status } = result.failure
    // Omits `said`, which only pages use.
    return { status, errors: errors.map(({ said: _said, ...error }) => error) }
  })

/** A running server and, on the same stores, `OperatorApi` for calls without HTTP. */
const service = () =>
  OperatorApi.layer.pipe(
    Layer.provide(Layer.orDie(PublicUrl.layer("https://doors.example"))),
    Layer.provideMerge(testServer())
  )

/** Runs all cases in order on a new service, and returns the outcomes. */
const outcomesBy = (way: Way) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(1_000_000)
    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    yield* published(1)
    yield* attempt("timeout", "exhausted")
    return yield* Effect.forEach(cases, ([operation, given]) => way(operation, given))
  }).pipe(Effect.provide(service()))

describe("the operator API", () => {
  it.effect("runs each declared operation, and has a route for each", () =>
    Effect.gen(function* () {
      const { handlers } = yield* OperatorApi
      const namesOf = (all: ReadonlyArray<Operation>) => all.map(({ name }) => name).toSorted()
      assert.deepStrictEqual(namesOf(handlers.map(({ operation }) => operation)), namesOf(operations))
      assert.strictEqual(new Set(namesOf(operations)).size, operations.length)
    }).pipe(Effect.provide(service()))
  )

  it.effect("answers and refuses within the process as over HTTP", () =>
    Effect.gen(function* () {
      const expected = yield* outcomesBy(overHttp)
      const outcomes = yield* outcomesBy(inProcess)
      for (const [at, [operation, given]] of cases.entries()) {
        const what = `${operation.name} ${JSON.stringify(given).slice(0, 200)}`
        assert.deepStrictEqual(masked(outcomes[at]), masked(expected[at]), what)
      }
      // Each operation must succeed in at least one case, otherwise the test would prove nothing.
      for (const operation of operations) {
        const answered = cases.some(([one], at) => one === operation && "answer" in (outcomes[at] ?? {}))
        assert.isTrue(answered || operation === integrationOperations.probe, operation.name)
      }
    })
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
