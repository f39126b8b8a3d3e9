/**
 * Invalid arguments from plain JavaScript to an embedded doorhook. Each call rejects and never throws. The error has a
 * code and a message that names the argument.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { publishIn } from "doorhook"
import { Effect, Predicate } from "effect"
import { codeOf, event, live, start, startIntegrated, untilInState } from "../harness/Embedded.ts"

/**
 * Calls the method at a path with arguments of any type, as plain JavaScript can. The test fails if the call throws
 * instead of returning a promise.
 */
const call = async (doorhook: Doorhook, path: string, given: ReadonlyArray<unknown>): Promise<unknown> => {
  const names = path.split(".")
  const part = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)
  const method = names.reduce(part, doorhook)
  assert.isTrue(Predicate.isFunction(method), path)
  const promise: unknown = Predicate.isFunction(method) ? Reflect.apply(method, undefined, given) : null
  assert.instanceOf(promise, Promise, path)
  return promise
}

const refusals: ReadonlyArray<readonly [path: string, given: ReadonlyArray<unknown>, message: RegExp]> = [
  ["deliveries.recover", ["1"], /^since: must be a Date, or a time in ISO 8601 like "\S+Z", not undefined$/],
  ["deliveries.recover", ["1", 0], /^since: .* not 0$/],
  ["deliveries.recover", ["1", {}], /^since: .* not undefined$/],
  ["deliveries.recover", ["1", new Date("x")], /^since: .* not an invalid date$/],
  ["deliveries.recover", ["", new Date()], /^id: must be the id of an integration, like "12", not ""$/],
  ["deliveries.show", [""], /^id: must be the id of a delivery, like "dlv_42", not ""$/],
  ["deliveries.show", ["."], /^id: .* not "\."$/],
  ["deliveries.show", ["\ud800"], /^id: /],
  ["deliveries.resend", [], /^id: .* not undefined$/],
  ["deliveries.list", [5], /^options: must be an object or left out, not 5$/],
  ["deliveries.list", [{ state: {} }], /^state: must be a text, a number or a list of these, not an object$/],
  ["deliveries.list", [{ after: null }], /^after: must not be null, the `next` of the last page.* End the loop/],
  ["integrations.list", [{ after: null }], /^after: must not be null/],
  ["notifications.list", [{ after: null }], /^after: must not be null/],
  ["integrations.show", [""], /^id: .* an integration/],
  ["integrations.probe", [".."], /^id: .* an integration/],
  ["integrations.set", ["1"], /^change: must be an object like \{ status: "enabled" \}, not undefined$/],
  ["integrations.set", ["1", { overrides: new Map() }], /holds a Map in overrides/],
  ["clients.add", [], /^client: must be an object like \{ name: .*redirect_uris: .* not undefined$/],
  ["clients.add", [{ name: 1n, redirect_uris: [] }], /holds a BigInt in name/],
  ["clients.rotate", [""], /^id: must be the id of a client, not ""$/],
  ["clients.rotate", ["c1", "24h"], /^options: must be an object/],
  ["clients.remove", [null], /^id: .* not null$/],
  ["grants.list", [], /^userId: must be the id of a user, as your directory returns it, not undefined$/],
  ["grants.list", [""], /^userId: .* not ""$/],
  ["grants.list", [{ id: "1" }], /^userId: .* not an object$/],
  ["grants.revoke", ["\ud800"], /^userId: /],
  ["grants.revoke", ["1", "c1"], /^options: must be an object/],
  ["grants.revoke", ["1", { client: "" }], /^client: must be the id of a client, not ""$/],
  ["grants.revoke", ["1", { client: undefined }], /^client: .* left out for all clients, not undefined$/],
  ["grants.revoke", ["1", { client: null }], /^client: .* left out for all clients, not null$/],
  ["grants.revoke", ["1", { client: ["c1"] }], /^client: .* not a list$/],
  ["grants.revoke", ["1", { client_id: "c1" }], /^options: client_id: no such option/],
  ["portalLink", [], /^id: /],
  ["portalLink", ["1", 5], /^options: /],
  ["sendTestEvent", [""], /^id: /],
  ["publish", [event, "key"], /^options: /],
  ["fetch", ["http://localhost/health/live"], /^request: must be a web request, like new Request\(.*\), not "http/],
  ["fetch", [{ method: "GET", url: "/health/live", headers: {} }], /^request: .* to doorhook\.node$/]
]

describe("arguments", () => {
  live("that are invalid are reported by name", function* () {
    const doorhook = yield* start()
    for (const [path, given, message] of refusals) {
      const refused = yield* codeOf(call(doorhook, path, given))
      assert.deepInclude(refused, { code: "bad_request", status: 400 }, path)
      assert.match(refused.message, message)
    }
  })

  live("that are null count as left out, and a loop over pages ends", function* () {
    const { doorhook } = yield* startIntegrated()
    yield* Effect.promise(async () => {
      for (const path of ["deliveries.list", "integrations.list", "notifications.list"]) {
        await call(doorhook, path, [null])
        await call(doorhook, path, [{ limit: null }])
      }
      await call(doorhook, "publish", [event, null])
      await call(doorhook, "publish", [event, { idempotencyKey: null }])
      await call(doorhook, "portalLink", ["1", null])
      await call(doorhook, "clients.add", [{ id: "c2", name: "Two", redirect_uris: ["https://two.example/cb"] }])
      await call(doorhook, "clients.rotate", ["c2", null])
      assert.strictEqual(await call(doorhook, "grants.revoke", [42, null]), 0)
      assert.strictEqual(await call(doorhook, "grants.revoke", [".", {}]), 0)
      assert.deepStrictEqual(await call(doorhook, "grants.list", [42]), [])
      const seen: Array<string> = []
      let page: Awaited<ReturnType<Doorhook["deliveries"]["list"]>> | undefined
      do {
        page = await doorhook.deliveries.list({ after: page?.next, limit: 1 })
        seen.push(...page.deliveries.map(({ id }) => id))
      } while (page.next !== null)
      assert.strictEqual(new Set(seen).size, 2)
    })
  })

  live(
    "accept a Date or a text as the time to recover from, directly or as a member like in the HTTP API",
    function* () {
      const { doorhook } = yield* startIntegrated({ retry: { access_log: [] }, logger: false }, () => 500)
      yield* Effect.promise(() => doorhook.publish(event))
      const past = new Date(Date.now() - 60_000)
      for (const since of [past, { since: past }, past.toISOString(), { since: past.toISOString() }]) {
        yield* untilInState(doorhook, "exhausted")
        assert.deepStrictEqual(yield* Effect.promise(() => doorhook.deliveries.recover("1", since)), { deliveries: 1 })
      }
      const wrong = yield* codeOf(doorhook.deliveries.recover("1", { since: "yesterday" }))
      assert.deepInclude(wrong, { code: "invalid", status: 422 })
    }
  )

  live(
    "that JSON can't represent are reported as problems of the event, and unknown members of an event are ignored",
    function* () {
      const doorhook = yield* start()
      for (const data of [new Map([["id", 1]]), { n: 1n }]) {
        const { code, message, status } = yield* codeOf(doorhook.publish({ ...event, data }))
        assert.deepStrictEqual([code, status], ["invalid_publish", 422])
        assert.match(message, /^\/data: (?:is a Map|holds a BigInt in n)/)
      }
      const beside = { ...event, row: 1n }
      const first = yield* Effect.promise(() => doorhook.publish(beside, { idempotencyKey: "k1" }))
      const again = yield* Effect.promise(() => doorhook.publish(beside, { idempotencyKey: "k1" }))
      assert.strictEqual(again.id, first.id)
      const other = yield* codeOf(doorhook.publish({ ...beside, building_id: 2 }, { idempotencyKey: "k1" }))
      assert.deepInclude(other, { code: "idempotency_key_reused", status: 422 })
    }
  )

  live("with an unknown name are refused with a suggestion", function* () {
    const doorhook = yield* start()
    const refused = yield* codeOf(Reflect.apply(doorhook.publish, doorhook, [event, { idempotencykey: "a" }]))
    assert.strictEqual(refused.code, "bad_request")
    assert.match(refused.message, /^options: idempotencykey: no such option; did you mean idempotencyKey\?$/)
    const link = yield* codeOf(Reflect.apply(doorhook.portalLink, doorhook, ["1", { lifespan: "1h" }]))
    assert.match(link.message, /^options: lifespan: no such option; there is expiresIn$/)
    assert.strictEqual((yield* Effect.promise(() => doorhook.deliveries.summary())).events, 0)
  })

  live("of publishIn are one event or several, and a client of pg", function* () {
    const client = {
      query: async (_: string, [texts]: ReadonlyArray<unknown>) => ({
        rows: Array.isArray(texts) ? texts.map((id: unknown) => ({ id, deliveries: 1 })) : []
      })
    }
    const text = '{"resource_type":"access_log","action":"create","building_id":1,"tenant_ids":[],"data":{"id":1}}'
    const published = { id: text, deliveries: 1 }
    const beside = { ...event, row: 1n }
    assert.deepStrictEqual(yield* Effect.promise(() => publishIn(client, beside)), published)
    assert.deepStrictEqual(yield* Effect.promise(() => publishIn(client, [event])), [published])
    const mysql = { query: async () => [[], []] }
    for (const [given, said] of [
      [[null, [event]], /^client: must be a pg client in a transaction, not null$/],
      [[mysql, [event]], /^client: its `query` must return \{ rows \}/]
    ] as const) {
      const refused = yield* codeOf(Reflect.apply(publishIn, undefined, given))
      assert.strictEqual(refused.code, "bad_request")
      assert.match(refused.message, said)
    }
    assert.strictEqual((yield* codeOf(Reflect.apply(publishIn, undefined, [client]))).code, "invalid_publish")
  })

  live("of handles that are not requests return false", function* () {
    const { handles } = yield* start()
    const answers = [{ url: "http://localhost/v4/buildings" }, { url: "/orders" }, { url: "http://" }, undefined, null]
    assert.deepStrictEqual(
      answers.map((given): unknown => Reflect.apply(handles, undefined, [given])),
      [true, false, false, false, false]
    )
  })
})
