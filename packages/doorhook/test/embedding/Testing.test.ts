/**
 * `doorhook/testing`, as a host's tests use it.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { TestDoorhookOptions } from "doorhook/testing"
import { createTestDoorhook } from "doorhook/testing"
import { publishIn } from "doorhook"
import { Client } from "pg"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { signatureVerifier } from "@doorhook/receiver"
import { codeOf, live } from "../harness/Embedded.ts"

const bindings = ["access_log", "call"].map((resource_type) => ({ resource_type, actions: ["create"] }))
const url = "https://receiver.example/hook"
const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 7 } }
const call = { ...event, resource_type: "call" }

const start = (options: TestDoorhookOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => createTestDoorhook({ logger: false, ...options })),
    (doorhook) => Effect.promise(() => doorhook.close())
  )

/** Starts a doorhook with one integration. */
const started = Effect.fnUntraced(function* (options?: TestDoorhookOptions) {
  const doorhook = yield* start(options)
  const { signing_secret } = yield* Effect.promise(() =>
    doorhook.integrations.create({ user: "ann", building: 1, url, bindings })
  )
  const states = Effect.promise(async () => (await doorhook.deliveries.list()).deliveries.map(({ state }) => state))
  return { doorhook, signing_secret, states }
})

describe("a doorhook for tests", () => {
  live("records requests, which are sent once `idle` resolves", function* () {
    const { doorhook, signing_secret, states } = yield* started()
    yield* Effect.promise(() => doorhook.idle())
    const { id } = yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => doorhook.idle())
    assert.deepStrictEqual(yield* states, ["delivered"])
    const [request] = doorhook.requests
    assert.deepStrictEqual(
      [request?.url, request?.event, request?.webhookId, request?.attempt],
      [url, { resource_type: "access_log", action: "create", data: { id: 7 } }, id, 1]
    )
    const verify = signatureVerifier([signing_secret])
    assert.isNull(verify(request?.headers ?? {}, Buffer.from(request?.body ?? ""), Date.now()))
  })

  live("repeats what failed at its time, as the clock is moved", function* () {
    const { doorhook, states } = yield* started({ retry: { access_log: ["5s", "30s", "1h"] } })
    const begun = doorhook.now().getTime()
    doorhook.reply((_, nth) => (nth < 4 ? 503 : 200))
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => doorhook.idle())
    assert.deepStrictEqual(yield* states, ["retrying"])
    yield* Effect.promise(() => doorhook.advance("4s"))
    assert.strictEqual(doorhook.requests.length, 1)
    yield* Effect.promise(() => doorhook.advance("2s"))
    assert.strictEqual(doorhook.requests.length, 2)
    yield* Effect.promise(() => doorhook.advance("2h"))
    assert.deepStrictEqual(yield* states, ["delivered"])
    const waits = doorhook.requests.map(({ at }, n) => at.getTime() - (doorhook.requests[n - 1]?.at.getTime() ?? begun))
    // Each wait may be up to 20 % longer than configured.
    for (const [n, least] of [0, 5_000, 30_000, 3_600_000].entries()) {
      const wait = waits[n] ?? -1
      assert.isTrue(wait >= least && wait <= least * 1.25 + 5_000, `wait ${n}: ${wait}`)
    }
    assert.isAtLeast(doorhook.now().getTime() - begun, 2 * 3_600_000)
  })

  live("waits for retries that are due later only with `retries`", function* () {
    const { doorhook, states } = yield* started({ retry: { access_log: ["50ms"] } })
    doorhook.reply((_, nth) => (nth === 1 ? { outcome: "timeout" } : 200))
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => doorhook.idle({ retries: true }))
    assert.deepStrictEqual(yield* states, ["delivered"])
  })

  live("ends a call at its lifetime", function* () {
    const { doorhook, states } = yield* started()
    doorhook.reply(() => Promise.resolve(500))
    yield* Effect.promise(() => doorhook.publish(call))
    yield* Effect.promise(() => doorhook.advance("1m"))
    assert.deepStrictEqual(yield* states, ["expired"])
    assert.strictEqual(doorhook.requests.length, 4)
  })

  live("keeps the rules of a real one: addresses, rights, options", function* () {
    const doorhook = yield* start({ directory: { ...noRights } })
    const wanted = { user: "ann", building: 1, url: "http://127.0.0.1/", bindings }
    const { message } = yield* codeOf(doorhook.integrations.create(wanted))
    assert.match(message, /right to building 1.*public address/)
    assert.strictEqual((yield* codeOf(doorhook.advance("soon"))).code, "bad_request")
    assert.strictEqual((yield* codeOf(createTestDoorhook({ ackTimeout: "never" }))).code, "invalid_config")
  })

  live("rejects a pending `idle` when it is closed, and does not wait for it", function* () {
    const { doorhook } = yield* started()
    doorhook.reply(503)
    yield* Effect.promise(() => doorhook.publish(event))
    const waiting = Promise.allSettled([doorhook.idle({ retries: true })])
    yield* Effect.promise(() => doorhook.close())
    const [ended] = yield* Effect.promise(() => waiting)
    assert.strictEqual(ended.status === "rejected" && ended.reason.code, "closed")
    assert.strictEqual((yield* codeOf(doorhook.idle())).code, "closed")
  })
})

await describeOnPostgres("a doorhook for tests on PostgreSQL", (server) => {
  live("records what `publishIn` publishes once it is committed, and refuses to move the server's clock", function* () {
    const connectionString = server.url(yield* newDatabase(server))
    const { doorhook } = yield* started({ database: connectionString })
    const client = new Client({ connectionString })
    yield* Effect.promise(() => client.connect())
    yield* Effect.addFinalizer(() => Effect.promise(() => client.end()))
    for (const end of ["ROLLBACK", "COMMIT"]) {
      yield* Effect.promise(() => client.query("BEGIN"))
      yield* Effect.promise(() => publishIn(client, { ...event, data: { id: end } }))
      yield* Effect.promise(() => client.query(end))
    }
    yield* Effect.promise(() => doorhook.idle())
    assert.deepStrictEqual(
      doorhook.requests.map((request) => request.event.data),
      [{ id: "COMMIT" }]
    )
    const { code, message } = yield* codeOf(doorhook.advance("5s"))
    assert.deepStrictEqual([code, /not on PostgreSQL/.test(message)], ["bad_request", true])
  })
})

const noRights = {
  client: () => null,
  authenticate: () => null,
  administers: () => false,
  isTenant: () => false
}
