/**
 * Subscriptions by signed webhook, over HTTP, with time that the test moves.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { client, live } from "../../doorhook/test/harness/Embedded.ts"
import {
  acceptance,
  callerOf,
  isSignedBy,
  resultOf,
  rights,
  secretOf,
  start,
  tokensOf,
  url,
  wanted
} from "./Subscriber.ts"

describe("a subscription", () => {
  live("begins with a challenge, and gets events signed with the client's secret", function* () {
    const { call, doorhook, idle, news, publish } = yield* start()
    const result = resultOf(yield* call("events/subscribe", wanted()))
    const [challenge, ...none] = news()
    assert.strictEqual(none.length, 0)
    assert.match(challenge?.body ?? "", /^\{"type":"verification","challenge":"[0-9a-f]{32}"\}$/)
    assert.match(challenge?.headers["webhook-id"] ?? "", /^msg_verification_/)
    assert.strictEqual(challenge?.headers["x-mcp-subscription-id"], result["id"])
    yield* publish()
    yield* idle
    const [request] = news()
    assert.ok(request !== undefined && challenge !== undefined)
    for (const each of [challenge, request]) {
      assert.isTrue(yield* isSignedBy(secretOf(1), each, doorhook.now().getTime()))
      assert.strictEqual(each.url, url)
    }
    assert.deepStrictEqual(request.event, { resource_type: "access_log", action: "create", data: { id: 1 } })
    assert.strictEqual(challenge.event.resource_type, "")
    const body = JSON.parse(request.body)
    assert.deepStrictEqual(Object.keys(body), ["eventId", "name", "timestamp", "data", "cursor"])
    assert.deepStrictEqual([body.eventId, body.name, body.data], [request.webhookId, "access_log.create", { id: 1 }])
    assert.strictEqual(body.cursor, result["cursor"])
    assert.strictEqual(request.headers["x-mcp-subscription-id"], result["id"])
    const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list({ state: "delivered" }))
    assert.strictEqual(deliveries.length, 1)
  })

  live("ends if it is not refreshed, and each refresh extends it", function* () {
    const { advance, call, doorhook, idle, news, publish, stored } = yield* start()
    const first = resultOf(yield* call("events/subscribe", wanted({ ttlMs: 120_000 })))
    yield* advance("90s")
    const second = resultOf(yield* call("events/subscribe", wanted({ ttlMs: 120_000 })))
    assert.strictEqual(second["id"], first["id"])
    assert.isAbove(Date.parse(String(second["refreshBefore"])), Date.parse(String(first["refreshBefore"])) + 89_000)
    yield* advance("90s")
    news()
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 1)
    // It has ended, and is not removed yet.
    yield* advance("31s")
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 0)
    yield* advance("61s")
    assert.strictEqual((yield* stored).integrations.length, 0)
    yield* publish()
    yield* advance("1h")
    assert.strictEqual(news().length, 0)
    assert.strictEqual(
      (yield* Effect.promise(() => doorhook.deliveries.list({ state: "pending" }))).deliveries.length,
      0
    )
  })

  live("is signed with the old and the new secret after a refresh with another one", function* () {
    const { call, doorhook, idle, news, publish } = yield* start()
    yield* call("events/subscribe", wanted())
    const delivery = { mode: "webhook", url, secret: secretOf(2, 64) }
    resultOf(yield* call("events/subscribe", wanted({ delivery })))
    news()
    yield* publish()
    yield* idle
    const [request, ...none] = news()
    assert.ok(request !== undefined && none.length === 0)
    for (const secret of [secretOf(1), secretOf(2, 64)]) {
      assert.isTrue(yield* isSignedBy(secret, request, doorhook.now().getTime()))
    }
  })

  live("is one, however many calls subscribe at once", function* () {
    const { call, doorhook, idle, news, publish, stored } = yield* start()
    // The receiver answers late, so that all calls have begun.
    doorhook.reply(async ({ body }) => {
      for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => setImmediate(resolve))
      return acceptance(body)
    })
    const calls = Array.from({ length: 8 }, () => call("events/subscribe", wanted()))
    const ids = (yield* Effect.all(calls, { concurrency: "unbounded" })).map((answer) => resultOf(answer)["id"])
    assert.strictEqual(new Set(ids).size, 1)
    assert.strictEqual(news().length, 1)
    assert.strictEqual((yield* stored).integrations.length, 1)
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 1)
  })

  live("ends with its grant: no delivery from then on, and the receiver is informed", function* () {
    const { advance, call, doorhook, idle, news, publish, refresh_token, stored, url: service } = yield* start()
    const { id } = resultOf(yield* call("events/subscribe", wanted()))
    const body = new URLSearchParams({
      token: refresh_token,
      client_id: client.client_id,
      client_secret: client.client_secret
    })
    yield* Effect.promise(() => fetch(`${service}/oauth/revoke`, { method: "POST", body }))
    news()
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 0)
    yield* advance("61s")
    const [request, ...none] = news()
    assert.ok(request !== undefined && none.length === 0)
    assert.deepStrictEqual(JSON.parse(request.body), {
      type: "terminated",
      error: { code: -32_024, message: "Forbidden", data: { reason: "Access revoked" } }
    })
    assert.match(request.webhookId, /^msg_terminated_/)
    assert.strictEqual(request.headers["x-mcp-subscription-id"], id)
    assert.isTrue(yield* isSignedBy(secretOf(1), request, doorhook.now().getTime()))
    assert.strictEqual((yield* stored).integrations.length, 0)
    yield* publish()
    yield* advance("1h")
    assert.strictEqual(news().length, 0)
  })

  live("ends when the user has lost the right", function* () {
    const { advance, call, idle, news, publish, stored } = yield* start()
    yield* call("events/subscribe", wanted())
    news()
    rights.ada = false
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 0)
    yield* advance("11m")
    assert.deepStrictEqual(
      news().map(({ body }) => JSON.parse(body).type),
      ["terminated"]
    )
    assert.strictEqual((yield* stored).integrations.length, 0)
    assert.strictEqual((yield* call("events/subscribe", wanted())).error?.code, -32_024)
  })

  live("is ended by its owner alone", function* () {
    const { call, idle, news, publish, url: service } = yield* start()
    const stranger = callerOf(service, (yield* tokensOf(service, "ben")).access_token)
    resultOf(yield* call("events/subscribe", wanted()))
    const theirs = yield* stranger("events/unsubscribe", wanted())
    assert.deepStrictEqual([theirs.error?.code, theirs.error?.data], [-32_023, { kind: "subscription" }])
    assert.strictEqual((yield* stranger("events/subscribe", wanted())).error?.code, -32_024)
    news()
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 1)
    assert.deepStrictEqual(resultOf(yield* call("events/unsubscribe", wanted())), { resultType: "complete" })
    yield* publish()
    yield* idle
    assert.strictEqual(news().length, 0)
    assert.strictEqual((yield* call("events/unsubscribe", wanted())).error?.code, -32_023)
  })

  live("outlives an event that its receiver refuses with 410 or 413", function* () {
    const { advance, call, doorhook, news, publish } = yield* start()
    resultOf(yield* call("events/subscribe", wanted()))
    for (const status of [410, 413]) {
      news()
      doorhook.reply(status)
      yield* publish()
      yield* advance("20m")
      assert.strictEqual(news().length, 1)
    }
    doorhook.reply(200)
    yield* publish()
    yield* advance("1s")
    assert.strictEqual(news().length, 1)
    const states = (yield* Effect.promise(() => doorhook.deliveries.list())).deliveries.map(({ state }) => state)
    assert.deepStrictEqual(states.toSorted(), ["delivered", "exhausted", "exhausted"])
  })

  live("that failed for too long is resumed by a refresh, with what it missed", function* () {
    const { advance, call, doorhook, news, publish } = yield* start({ disableAfter: "1h" })
    resultOf(yield* call("events/subscribe", wanted({ ttlMs: null })))
    doorhook.reply(500)
    yield* publish()
    yield* advance("5h")
    yield* publish()
    yield* advance("1m")
    doorhook.reply(({ body }) => acceptance(body))
    news()
    const refreshed = resultOf(yield* call("events/subscribe", wanted({ ttlMs: null })))
    assert.include(refreshed["deliveryStatus"], { active: false, lastError: "http_5xx", lastDeliveryAt: null })
    yield* advance("1s")
    assert.deepStrictEqual(
      news().map(({ body }) => JSON.parse(body).data.id),
      [1, 2]
    )
    const healthy = resultOf(yield* call("events/subscribe", wanted({ ttlMs: null })))
    assert.include(healthy["deliveryStatus"], { active: true, lastError: null })
  })

  live("keeps its receiver, events and secret, which /v4 can't change", function* () {
    const { call, stored, url: service } = yield* start()
    resultOf(yield* call("events/subscribe", wanted()))
    const [integration] = (yield* stored).integrations
    const { access_token } = yield* tokensOf(service, "ada", {})
    const path = `${service}/v4/buildings/1/integrations/${integration?.id}`
    const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/vnd.api+json" }
    const send = (method: string, to: string, attributes: object = {}) =>
      Effect.promise(async () => {
        const body = JSON.stringify({ data: { type: "integrations", id: String(integration?.id), attributes } })
        return (await fetch(to, { method, headers, body })).status
      })
    assert.strictEqual(yield* send("PATCH", path, { configuration: { url: "https://victim.example/" } }), 422)
    assert.strictEqual(yield* send("PATCH", path, { bindings: [{ resource_type: "call", actions: ["create"] }] }), 422)
    assert.strictEqual(yield* send("POST", `${path}/rotate_secret`), 422)
    assert.strictEqual(yield* send("PATCH", path, { name: "Mine", status: "disabled" }), 200)
  })
})

describe("a receiver", () => {
  live("that does not return the challenge gets nothing more, and no subscription is stored", function* () {
    const { advance, call, doorhook, news, publish, stored } = yield* start()
    const replies = [
      ["challenge_failed", 200],
      ["challenge_failed", { status: 200, excerpt: '{"challenge":"another"}' }],
      ["challenge_failed", { status: 404 }],
      ["challenge_failed", { status: 302, location: "https://inside.example/" }],
      ["timeout", { outcome: "timeout" }],
      ["tls_error", { outcome: "tls" }],
      ["connection_refused", { outcome: "blocked_address" }]
    ] as const
    for (const [reason, reply] of replies) {
      doorhook.reply(reply)
      const { error } = yield* call("events/subscribe", wanted())
      assert.deepStrictEqual([error?.code, error?.data], [-32_027, { reason }])
    }
    assert.strictEqual(news().length, replies.length)
    yield* publish()
    yield* advance("1m")
    assert.strictEqual(news().length, 0)
    assert.strictEqual((yield* stored).integrations.length, 0)
  })

  live("is challenged once for a client of a user, and again for another user", function* () {
    const { call, news, url: service } = yield* start()
    const stranger = callerOf(service, (yield* tokensOf(service, "ben")).access_token)
    resultOf(yield* call("events/subscribe", wanted()))
    resultOf(yield* call("events/subscribe", wanted()))
    resultOf(yield* call("events/subscribe", wanted({ name: "call.create" })))
    assert.strictEqual(news().length, 1)
    resultOf(yield* stranger("events/subscribe", wanted({ arguments: { building: 2 } })))
    assert.strictEqual(news().length, 1)
  })

  live("is challenged at most 30 times a minute, whatever its path", function* () {
    const { advance, call, doorhook, news } = yield* start()
    doorhook.reply(404)
    const attempt = (n: number) =>
      call("events/subscribe", wanted({ delivery: { url: `${url}${n}`, secret: secretOf(1) } }))
    for (let n = 0; n < 30; n++) assert.strictEqual((yield* attempt(n)).error?.code, -32_027)
    const { error } = yield* attempt(30)
    assert.deepStrictEqual([error?.code, error?.data], [-32_025, { limit: "verifications", max: 30 }])
    assert.strictEqual(news().length, 30)
    yield* advance("61s")
    assert.strictEqual((yield* attempt(31)).error?.code, -32_027)
  })
})

describe("limits", () => {
  live("of a grant are named", function* () {
    const { advance, call } = yield* start({ requestsPerMinute: "unlimited" })
    const attempt = (n: number) =>
      call(
        "events/subscribe",
        wanted({
          arguments: { building: 101 + Math.floor(n / 20) },
          delivery: { url: `${url}${n}`, secret: secretOf(1) }
        })
      )
    const refusedAt = (n: number) => Effect.map(attempt(n), ({ error }) => [error?.code, error?.data])
    for (let n = 0; n < 100; n++) {
      if (n % 30 === 0) yield* advance("61s")
      resultOf(yield* attempt(n))
    }
    assert.deepStrictEqual(yield* refusedAt(100), [-32_025, { limit: "subscriptions", max: 100 }])
    resultOf(yield* attempt(99))
  })

  live("of a building count subscriptions apart, so that these leave room for integrations", function* () {
    const { call, doorhook } = yield* start({ integrationsPerScope: 1 })
    resultOf(yield* call("events/subscribe", wanted()))
    const { error } = yield* call("events/subscribe", wanted({ name: "call.create" }))
    assert.deepStrictEqual([error?.code, error?.data], [-32_025, { limit: "subscriptions", max: 1 }])
    const bindings = [{ resource_type: "call", actions: ["create"] }]
    const own = { user: "ada", building: 1, url, bindings }
    const create = () =>
      doorhook.integrations.create(own).then(
        () => "created",
        (refused: unknown) => Object(refused).code
      )
    assert.strictEqual(yield* Effect.promise(create), "created")
    assert.strictEqual(yield* Effect.promise(create), "limit_reached")
  })

  live("of a client leave room for other clients", function* () {
    const { call } = yield* start()
    const attempt = (n: number) =>
      call("events/subscribe", wanted({ delivery: { url: `${url}${n}`, secret: secretOf(1) } }))
    for (let n = 0; n < 20; n++) resultOf(yield* attempt(n))
    const { error } = yield* attempt(20)
    assert.deepStrictEqual([error?.code, error?.data], [-32_025, { limit: "subscriptionsPerScope", max: 20 }])
    assert.include(error?.message, "of one building or tenant")
    resultOf(yield* attempt(19))
    resultOf(yield* call("events/unsubscribe", wanted({ delivery: { url: `${url}7` } })))
    resultOf(yield* attempt(20))
  })
})

describe("a call", () => {
  live("with wrong parameters is refused, with the reason, and challenges nobody", function* () {
    const { call, news } = yield* start()
    const codeOf = (more: object) =>
      Effect.map(call("events/subscribe", wanted(more)), ({ error }) => [error?.code, error?.message ?? ""] as const)
    const delivery = { url, secret: secretOf(1) }
    const wrong: ReadonlyArray<readonly [number, object, RegExp]> = [
      [-32_602, { delivery: { ...delivery, url: "http://receiver.example/" } }, /https/],
      [-32_602, { delivery: { ...delivery, url: "https://10.0.0.1/" } }, /10\.0\.0\.1/],
      [-32_602, { delivery: { ...delivery, url: "https://user@receiver.example/" } }, /./],
      [-32_602, { delivery: { ...delivery, secret: secretOf(1, 23) } }, /24 to 64/],
      [-32_602, { delivery: { ...delivery, secret: secretOf(1, 65) } }, /24 to 64/],
      [-32_602, { delivery: { ...delivery, secret: secretOf(1).slice(6) } }, /whsec_/],
      [-32_602, { delivery: { url } }, /secret/],
      [-32_602, { arguments: { building: "1" } }, /building/],
      [-32_602, { arguments: { building: 1, tenant: 1 } }, /building/],
      [-32_602, { arguments: {} }, /building/],
      [-32_602, { cursor: "x" }, /cursor/],
      [-32_602, { ttlMs: -1 }, /ttlMs/],
      [-32_023, { name: "door.opened" }, /events\/list/],
      [-32_024, { arguments: { building: 2 } }, /right/],
      [-32_024, { arguments: { building: 77 } }, /right/],
      [-32_026, { delivery: { ...delivery, mode: "push" } }, /events\/stream/]
    ]
    for (const [code, more, message] of wrong) {
      const [found, text] = yield* codeOf(more)
      assert.strictEqual(found, code, text)
      assert.match(text, message)
    }
    assert.strictEqual(news().length, 0)
  })
})
