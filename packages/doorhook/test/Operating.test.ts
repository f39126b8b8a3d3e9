/**
 * Operating an embedded doorhook: per-integration settings, notifications, and rotated secrets.
 */
import { AllowAllDirectory, BuildingId, DeliveryStore, JsonText, Publisher } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import type { Doorhook, DoorhookNotification, NotificationListOptions } from "doorhook"
import { signatureVerifier } from "@doorhook/receiver"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Webhook } from "standardwebhooks"
import { layer as engineLayer } from "../src/service/Engine.ts"
import { codeOf, event, live, mount, start, tokenFrom, startIntegrated, untilInState } from "./harness/Embedded.ts"
import type { Received } from "@doorhook/testkit/Receiver"
import { plainHeaders, startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { callApi, createIntegration, integrationDocument } from "./harness/ThirdParty.ts"

const WithSecret = Schema.Struct({
  meta: Schema.Struct({ signing_secret: Schema.String })
})

const path = "/v4/buildings/1/integrations"

/** Calls `/v4` as the administrator. */
const admin = Effect.fnUntraced(function* (doorhook: Doorhook) {
  const { url } = yield* mount(doorhook)
  const token = yield* tokenFrom(url)
  const api = (method: string, at: string, body?: unknown) =>
    Effect.promise(() => callApi(url, token, method, at, body))
  const create = (receiver: string, types?: ReadonlyArray<string>) =>
    Effect.promise(() => createIntegration(url, token, receiver, types))
  return { api, create }
})

const rotatedSecret = (response: Response) =>
  Effect.promise(async () => Schema.decodeUnknownSync(WithSecret)(await response.json()).meta.signing_secret)

const WebhookKeys = Schema.Struct({
  data: Schema.Array(Schema.Struct({ attributes: Schema.Struct({ public_key: Schema.String }) }))
})

const publicKeysOf = (url: string) =>
  Effect.promise(async () => {
    const answer: unknown = await (await fetch(`${url}/v4/webhook_keys`)).json()
    return Schema.decodeUnknownSync(WebhookKeys)(answer).data.map(({ attributes }) => attributes.public_key)
  })

const lastOutcome = (doorhook: Doorhook, id: string) =>
  Effect.promise(async () => (await doorhook.deliveries.show(id)).attempts.at(-1)?.outcome)

const isSignedBy = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, {
      "webhook-id": String(headers["webhook-id"]),
      "webhook-timestamp": String(headers["webhook-timestamp"]),
      "webhook-signature": String(headers["webhook-signature"])
    })
    return true
  } catch {
    return false
  }
}

/** Collects notifications. `until(kind)` resolves once a notification of that kind arrives. */
const listening = () => {
  const heard: Array<DoorhookNotification> = []
  let check = (): void => undefined
  return {
    heard,
    onNotification: (notification: DoorhookNotification): void => {
      heard.push(notification)
      check()
    },
    until: (kind: DoorhookNotification["kind"]) =>
      Effect.callback<void>((resume) => {
        check = () => {
          if (heard.some((notification) => notification.kind === kind)) resume(Effect.void)
        }
        check()
      })
  }
}

describe("operators", () => {
  live("get requests signed with both secrets after a rotation", function* () {
    const { doorhook, integration, receiver, url } = yield* startIntegrated()
    const { id, signing_secret: before } = integration
    const token = yield* tokenFrom(url)
    const answer = yield* Effect.promise(() => callApi(url, token, "POST", `${path}/${id}/rotate_secret`))
    assert.strictEqual(answer.status, 200)
    const after = yield* rotatedSecret(answer)
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    for (const received of receiver.received) {
      assert.isTrue(isSignedBy(after, received), "by the new one")
      assert.isTrue(isSignedBy(before, received), "by the one before")
      assert.isFalse(isSignedBy(`whsec_${btoa("0".repeat(24))}`, received), "and by no other")
    }
  })

  live("can have requests signed with the service's own key, which receivers verify without a secret", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const keys = new Set<string>()
    // The key stays the same after a restart. With `signing: "both"`, requests are also signed with the integration's
    // secret.
    for (const signing of ["ed25519", "both"] as const) {
      const { doorhook, integration, receiver, url } = yield* startIntegrated({ signing, database })
      yield* Effect.promise(() => doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length > 0))
      const [key = ""] = yield* publicKeysOf(url)
      keys.add(key)
      const [received] = receiver.received
      assert.isDefined(received)
      const accepts = (secret: string) =>
        signatureVerifier([secret])(plainHeaders(received), Buffer.from(received.body), Date.now()) === null
      assert.isTrue(accepts(key), "by the service's key")
      assert.strictEqual(accepts(integration.signing_secret), signing === "both", "by the integration's secret")
      yield* Effect.promise(() => doorhook.close())
    }
    assert.strictEqual(keys.size, 1)
  })

  live("can create and import integrations for their users, without a login", function* () {
    const doorhook = yield* start()
    const receiver = yield* startReceiver()
    const wanted = {
      user: "admin",
      building: "1",
      url: receiver.url,
      bindings: [{ resource_type: "access_log", actions: ["create"] }],
      name: "Lobby"
    }
    const created = yield* Effect.promise(() => doorhook.integrations.create(wanted))
    assert.deepStrictEqual(
      [created.id, created.name, created.created_by],
      ["1", "Lobby", { user_id: "admin", client_id: null }]
    )
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    assert.isTrue(receiver.received.every((one) => isSignedBy(created.signing_secret, one)))
    const imported = yield* Effect.promise(() => doorhook.integrations.import([wanted, { ...wanted, client: "c1" }]))
    assert.deepStrictEqual(
      imported.integrations.map(({ created, id }) => [id, created]),
      [
        ["1", false],
        ["2", true]
      ]
    )
    const checked = yield* Effect.promise(() => doorhook.integrations.import([{}], { checkOnly: true }))
    assert.deepStrictEqual(
      checked.problems.map(({ at }) => at),
      [0, 0, 0]
    )
    const refused = yield* codeOf(doorhook.integrations.create({ ...wanted, building: 2 }))
    assert.deepStrictEqual([refused.code, refused.status], ["invalid", 422])
    assert.match(refused.message, /^\/user must have a right to building 2, and the directory denies it\.$/)
  })

  live("can accept any 2xx as an acknowledgement", function* () {
    const { doorhook, integration } = yield* startIntegrated({ retry: { access_log: [] } }, () => 204)
    yield* Effect.promise(() => doorhook.publish(event))
    const id = yield* untilInState(doorhook, "exhausted")
    assert.strictEqual(yield* lastOutcome(doorhook, id), "bad_status")
    const set = yield* Effect.promise(() =>
      doorhook.integrations.set(integration.id, { overrides: { acknowledge: "2xx", retry: { access_log: ["1s"] } } })
    )
    assert.deepStrictEqual(set.overrides, { acknowledge: "2xx", retry: { access_log: ["1s"] } })
    yield* Effect.promise(() => doorhook.deliveries.resend(id))
    assert.strictEqual(yield* untilInState(doorhook, "delivered"), id)
    assert.strictEqual(yield* lastOutcome(doorhook, id), "acknowledged")
  })

  live("can add headers to the requests of one integration, whose values are never shown again", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const encryptionKey = "0123456789abcdef0123456789abcdef"
    const receiver = yield* startReceiver()
    const sendOne = Effect.fnUntraced(function* (doorhook: Doorhook, nth: number) {
      yield* Effect.promise(() => doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === nth))
      const { headers = {} } = receiver.received.at(-1) ?? {}
      return [headers["x-api-key"], headers["x-site"], headers["content-type"]]
    })
    const first = yield* start({ database, encryptionKey })
    const { id } = yield* (yield* admin(first)).create(receiver.url)
    const set = (doorhook: Doorhook, headers: Readonly<Record<string, string>>) =>
      doorhook.integrations.set(id, { overrides: { headers } })
    const shown = yield* Effect.promise(() => set(first, { "x-api-key": "swordfish", "x-site": "7" }))
    assert.deepStrictEqual(shown.overrides.headers, { "x-api-key": "(hidden)", "x-site": "(hidden)" })
    assert.deepStrictEqual(yield* sendOne(first, 1), ["swordfish", "7", "application/json"])
    yield* Effect.promise(() => set(first, { ...shown.overrides.headers, "x-site": "8" }))
    yield* Effect.promise(() => first.close())
    assert.notInclude(readFileSync(database, "latin1"), "swordfish")
    const second = yield* start({ database, encryptionKey })
    assert.deepStrictEqual(yield* sendOne(second, 2), ["swordfish", "8", "application/json"])
    for (const [headers, problem] of [
      [{ host: "elsewhere.example" }, "/overrides/headers/host"],
      [{ "webhook-id": "evt_1" }, "/overrides/headers/webhook-id"],
      [{ "X-Api-Key": "1" }, "/overrides/headers/X-Api-Key"],
      [{ "x-api-key": "a\r\nhost: b" }, "/overrides/headers/x-api-key"],
      [{ "x-other": "(hidden)" }, "/overrides/headers/x-other"],
      [Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, "1"])), "/overrides/headers"]
    ] as const) {
      const refused = yield* codeOf(set(second, headers))
      assert.strictEqual(refused.code, "invalid")
      assert.include(refused.message, problem)
    }
  })

  live("removes the headers of an integration that a third party moves to another server", function* () {
    const doorhook = yield* start()
    const { api, create } = yield* admin(doorhook)
    const [receiver, stranger] = [yield* startReceiver(), yield* startReceiver()]
    const { id } = yield* create(receiver.url)
    const headers = { "x-api-key": "swordfish" }
    const overrides = { headers, acknowledge: "2xx" } as const
    const moveTo = (method: string, url: string) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => doorhook.integrations.set(id, { overrides }))
        const document = { data: { ...integrationDocument(url).data, ...(method === "PATCH" && { id }) } }
        const moved = yield* api(method, `${path}/${id}`, document)
        assert.strictEqual(moved.status, 200)
        return (yield* Effect.promise(() => doorhook.integrations.show(id))).overrides
      })
    for (const method of ["PUT", "PATCH"]) {
      yield* moveTo(method, receiver.url)
      assert.property(yield* moveTo(method, new URL("/elsewhere", receiver.url).href), "headers")
      assert.deepStrictEqual(yield* moveTo(method, stranger.url), { acknowledge: "2xx" })
    }
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => stranger.until(({ length }) => length === 1))
    assert.notProperty(stranger.received[0]?.headers, "x-api-key")
  })

  live("can allow a network for a single integration", function* () {
    const doorhook = yield* start({ allowTargets: [], retry: { access_log: [] } })
    const { api, create } = yield* admin(doorhook)
    const receiver = yield* startReceiver()
    const [one, other] = [
      yield* create("http://1.1.1.1/hook", ["call"]),
      yield* create("http://1.1.1.1/hook", ["call"])
    ]
    const pointAtReceiver = (id: string) => api("PUT", `${path}/${id}`, integrationDocument(receiver.url))
    const allow = (...allow_targets: ReadonlyArray<string>) =>
      Effect.promise(() => doorhook.integrations.set(one.id, { overrides: { allow_targets } }))

    assert.strictEqual((yield* pointAtReceiver(one.id)).status, 422)
    yield* allow("127.0.0.0/8")
    assert.strictEqual((yield* pointAtReceiver(one.id)).status, 200)
    assert.strictEqual((yield* pointAtReceiver(other.id)).status, 422)
    yield* allow()
    yield* Effect.promise(() => doorhook.publish(event))
    const id = yield* untilInState(doorhook, "exhausted")
    assert.strictEqual(yield* lastOutcome(doorhook, id), "blocked_address")
    yield* allow("127.0.0.0/8")
    yield* Effect.promise(() => doorhook.deliveries.resend(id))
    assert.strictEqual(yield* untilInState(doorhook, "delivered"), id)
    assert.strictEqual(receiver.received.length, 1)
  })

  live("are notified when a receiver is gone, and when a probe reaches it again", function* () {
    const { heard, onNotification, until } = listening()
    const {
      doorhook,
      integration: { id },
      receiver
    } = yield* startIntegrated({ onNotification }, (_, nth) => (nth === 1 ? 410 : 200))
    const probed = yield* codeOf(doorhook.integrations.probe(id))
    assert.strictEqual(probed.code, "not_disabled")
    yield* Effect.promise(() => doorhook.publish(event))
    yield* until("disabled")
    const gone = yield* Effect.promise(() => doorhook.integrations.show(id))
    assert.deepStrictEqual([gone.status, gone.disabled_reason], ["disabled", "gone"])
    const { integrations } = yield* Effect.promise(() => doorhook.integrations.list({ status: "disabled" }))
    assert.deepStrictEqual(integrations, [gone])
    yield* Effect.promise(() => doorhook.publish(event))
    assert.strictEqual(receiver.received.length, 1, "what comes meanwhile is not sent")

    yield* Effect.promise(() => doorhook.integrations.probe(id))
    yield* until("recovered")
    const back = yield* Effect.promise(() => doorhook.integrations.show(id))
    assert.deepStrictEqual([back.status, back.disabled_reason], ["enabled", null])
    assert.deepStrictEqual(
      heard.map((notification) => [notification.kind, notification.integration_id, notification.scope]),
      [
        ["disabled", id, { type: "building", id: 1 }],
        ["recovered", id, { type: "building", id: 1 }]
      ]
    )
    const { next, notifications } = yield* Effect.promise(() => doorhook.notifications.list({ integration_id: id }))
    assert.deepStrictEqual([notifications, next], [heard, null])
    const newest: NotificationListOptions = { integration_id: id, order: "newest", limit: 1 }
    const last = yield* Effect.promise(() => doorhook.notifications.list(newest))
    const before = yield* Effect.promise(() => doorhook.notifications.list({ ...newest, after: last.next }))
    assert.deepStrictEqual([...last.notifications, ...before.notifications], heard.toReversed())
    assert.strictEqual((yield* codeOf(doorhook.integrations.show("99"))).code, "not_found")
  })

  live("are notified of an integration that fails until it is disabled, even if a callback fails", function* () {
    const fail = (disableAfter: string) =>
      Effect.gen(function* () {
        const { heard, onNotification, until } = listening()
        const doorhook = yield* start({
          disableAfter,
          retry: { access_log: Array.from({ length: 1_000 }, () => "40ms") },
          onNotification: async (notification) => {
            onNotification(notification)
            throw new Error("the mail server is down")
          }
        })
        const receiver = yield* startReceiver(() => 500)
        yield* (yield* admin(doorhook)).create(receiver.url)
        yield* Effect.promise(() => doorhook.publish(event))
        yield* until("disabled")
        const [delivery] = (yield* Effect.promise(() => doorhook.deliveries.list())).deliveries
        assert.deepStrictEqual([delivery?.state, delivery?.reason], ["cancelled", "integration_disabled"])
        return heard.map(({ kind }) => kind)
      }).pipe(Effect.scoped)
    // The first warning needs an attempt in the second half of the time until disabling. A busy machine might make no
    // such attempt. Therefore the test repeats with a longer time until there is one.
    let kinds: ReadonlyArray<string> = []
    for (let seconds = 1; kinds[0] !== "failing" && seconds <= 16; seconds *= 4) kinds = yield* fail(`${seconds}s`)
    assert.deepStrictEqual([kinds[0], kinds.at(-1)], ["failing", "disabled"])
  })

  live("are notified of an integration that failed once and has had no deliveries since", function* () {
    const { heard, onNotification, until } = listening()
    const {
      doorhook,
      integration: { id },
      receiver
    } = yield* startIntegrated({ disableAfter: "2s", retry: { access_log: [] }, onNotification }, () => 500)
    yield* Effect.promise(() => doorhook.publish(event))
    yield* until("failing")
    assert.deepStrictEqual(
      heard.slice(0, 2).map(({ kind }) => kind),
      ["exhausted", "failing"]
    )
    assert.lengthOf(receiver.received, 1)
    assert.strictEqual((yield* Effect.promise(() => doorhook.integrations.show(id))).status, "enabled")
  })

  live("publish once with one idempotency key, in the process or over HTTP", function* () {
    const doorhook = yield* start()
    const { url } = yield* mount(doorhook)
    const options = { idempotencyKey: "ring-7" }
    const first = yield* Effect.promise(() => doorhook.publish(event, options))
    assert.deepStrictEqual(yield* Effect.promise(() => doorhook.publish(event, options)), first)
    const overHttp: unknown = yield* Effect.promise(async () => {
      const headers = { authorization: `Bearer ${doorhook.operatorKey}`, "idempotency-key": "ring-7" }
      const answer = await fetch(`${url}/operator/events`, { method: "POST", headers, body: JSON.stringify(event) })
      return answer.json()
    })
    assert.deepStrictEqual(overHttp, { events: [first] })
    for (const other of [{ ...event, building_id: 2 }, [event]]) {
      const { code, message } = yield* codeOf(Reflect.apply(doorhook.publish, undefined, [other, options]))
      assert.strictEqual(code, "idempotency_key_reused")
      assert.match(message, /24 hours/)
    }
    assert.strictEqual((yield* Effect.promise(() => doorhook.deliveries.summary())).events, 1)
    const invalid = yield* codeOf(doorhook.publish(event, { idempotencyKey: "" }))
    assert.strictEqual(invalid.code, "invalid_idempotency_key")
  })

  live("get a busy error while the database can't store, and the event is not stored", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const waitingBytes = 262_144
    const doorhook = yield* start({ database, waitingBytes })
    const large = { ...event, data: { id: 1, text: "x".repeat(200_000) } }
    const shell = new DatabaseSync(database, { timeout: 10_000 })
    shell.exec("BEGIN IMMEDIATE")
    const codes = yield* Effect.all(
      Array.from({ length: 12 }, () => codeOf(doorhook.publish(large))),
      { concurrency: "unbounded" }
    )
    shell.exec("ROLLBACK")
    shell.close()
    const busy = codes.find(({ code }) => code === "publisher_busy") ?? assert.fail("none was refused as busy")
    assert.strictEqual(busy.status, 503)
    assert.include(busy.message, `${waitingBytes} bytes of events wait to be stored (setting waitingBytes)`)
    assert.strictEqual((yield* Effect.promise(() => doorhook.deliveries.summary())).events, 0)
    yield* Effect.promise(() => doorhook.publish(large))
  })

  it.effect("keep settled deliveries as long as configured", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const countEvents = Effect.flatMap(DeliveryStore, (store) => Effect.map(store.summary(0), ({ events }) => events))
      yield* publisher.publish([
        { ...event, building_id: BuildingId.make(1), tenant_ids: [], data: JsonText.JsonText.make("{}") }
      ])
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual(yield* countEvents, 1)
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual(yield* countEvents, 0)
    }).pipe(
      Effect.provide(
        Layer.fresh(
          engineLayer({ database: "memory", operatorKey: "k".repeat(32), retention: "1h" }, AllowAllDirectory.layer)
        )
      )
    )
  )
})
