/**
 * What those who run doorhook inside a host see and set: integrations of their own, notices, secrets that rotate.
 */
import { AbsentDirectory, BuildingId, DeliveryStore, JsonText, Publisher } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import type { Doorhook, DoorhookNotice } from "doorhook"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { layer as engineLayer } from "../src/service/Engine.ts"
import { codeOf, event, live, mount, start, tokenFrom } from "./harness/Embedded.ts"
import type { Received } from "@doorhook/testkit/Receiver"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { callApi, integrationDocument } from "./harness/ThirdParty.ts"

const WithSecret = Schema.Struct({
  data: Schema.Struct({ id: Schema.String }),
  meta: Schema.Struct({ signing_secret: Schema.String })
})

const path = "/v4/buildings/1/integrations"

/** Calls `/v4` as the administrator. */
const admin = Effect.fnUntraced(function* (doorhook: Doorhook) {
  const { url } = yield* mount(doorhook)
  const token = yield* tokenFrom(url)
  return (method: string, at: string, body?: unknown) => Effect.promise(() => callApi(url, token, method, at, body))
})

const readSecret = (response: Response) =>
  Effect.promise(async () => Schema.decodeUnknownSync(WithSecret)(await response.json()))

/** The first delivery, once it is in a state. */
const inState = (doorhook: Doorhook, state: string) =>
  Effect.promise(() => doorhook.deliveries.list({ state })).pipe(
    Effect.repeat({ until: ({ deliveries }) => deliveries.length > 0 }),
    Effect.map(({ deliveries }) => deliveries[0]?.id ?? "")
  )

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

/** Keeps the notices that it is told; `until` resolves once one of a kind is among them. */
const listening = () => {
  const heard: Array<DoorhookNotice> = []
  let check = (): void => undefined
  return {
    heard,
    onNotice: (notice: DoorhookNotice): void => {
      heard.push(notice)
      check()
    },
    until: (kind: DoorhookNotice["kind"]) =>
      Effect.callback<void>((resume) => {
        check = () => {
          if (heard.some((notice) => notice.kind === kind)) resume(Effect.void)
        }
        check()
      })
  }
}

describe("those who run doorhook", () => {
  live(
    "get requests signed with both secrets after a rotation",
    Effect.gen(function* () {
      const doorhook = yield* start()
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver()
      const created = yield* readSecret(yield* api("POST", path, integrationDocument(receiver.url)))
      const before = created.meta.signing_secret
      const answer = yield* api("POST", `${path}/${created.data.id}/rotate_secret`)
      assert.strictEqual(answer.status, 200)
      const after = (yield* readSecret(answer)).meta.signing_secret
      yield* Effect.promise(() => doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      for (const received of receiver.received) {
        assert.isTrue(isSignedBy(after, received), "by the new one")
        assert.isTrue(isSignedBy(before, received), "by the one before")
        assert.isFalse(isSignedBy(`whsec_${btoa("0".repeat(24))}`, received), "and by no other")
      }
    })
  )

  live(
    "may leave requests unsigned",
    Effect.gen(function* () {
      const doorhook = yield* start({ sign: false })
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver()
      yield* api("POST", path, integrationDocument(receiver.url))
      yield* Effect.promise(() => doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      assert.notProperty(receiver.received[0]?.headers, "webhook-signature")
      assert.property(receiver.received[0]?.headers, "webhook-id")
    })
  )

  live(
    "let any 2xx acknowledge where a receiver answers so",
    Effect.gen(function* () {
      const doorhook = yield* start({ retry: { access_log: [] } })
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver(() => 204)
      const { data } = yield* readSecret(yield* api("POST", path, integrationDocument(receiver.url)))
      yield* Effect.promise(() => doorhook.publish(event))
      const id = yield* inState(doorhook, "exhausted")
      assert.strictEqual(yield* lastOutcome(doorhook, id), "bad_status")
      const set = yield* Effect.promise(() =>
        doorhook.integrations.set(data.id, { overrides: { acknowledge: "2xx", retry: { access_log: ["1s"] } } })
      )
      assert.deepStrictEqual(set.overrides, { acknowledge: "2xx", retry: { access_log: ["1s"] } })
      yield* Effect.promise(() => doorhook.deliveries.resend(id))
      assert.strictEqual(yield* inState(doorhook, "delivered"), id)
      assert.strictEqual(yield* lastOutcome(doorhook, id), "acknowledged")
    })
  )

  live(
    "open a network to one integration alone",
    Effect.gen(function* () {
      const doorhook = yield* start({ allowTargets: [], retry: { access_log: [] } })
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver()
      const create = Effect.flatMap(api("POST", path, integrationDocument("http://1.1.1.1/hook", ["call"])), readSecret)
      const [{ data: one }, { data: other }] = [yield* create, yield* create]
      const pointAtReceiver = (id: string) => api("PUT", `${path}/${id}`, integrationDocument(receiver.url))
      const allow = (...allow_targets: ReadonlyArray<string>) =>
        Effect.promise(() => doorhook.integrations.set(one.id, { overrides: { allow_targets } }))

      assert.strictEqual((yield* pointAtReceiver(one.id)).status, 422)
      yield* allow("127.0.0.0/8")
      assert.strictEqual((yield* pointAtReceiver(one.id)).status, 200)
      assert.strictEqual((yield* pointAtReceiver(other.id)).status, 422)
      yield* allow()
      yield* Effect.promise(() => doorhook.publish(event))
      const id = yield* inState(doorhook, "exhausted")
      assert.strictEqual(yield* lastOutcome(doorhook, id), "blocked_address")
      yield* allow("127.0.0.0/8")
      yield* Effect.promise(() => doorhook.deliveries.resend(id))
      assert.strictEqual(yield* inState(doorhook, "delivered"), id)
      assert.strictEqual(receiver.received.length, 1)
    })
  )

  live(
    "hear that a receiver is gone, and that a probe found it again",
    Effect.gen(function* () {
      const { heard, onNotice, until } = listening()
      const doorhook = yield* start({ onNotice })
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 410 : 200))
      const { data } = yield* readSecret(yield* api("POST", path, integrationDocument(receiver.url)))
      const probed = yield* codeOf(doorhook.integrations.probe(data.id))
      assert.strictEqual(probed.code, "not_disabled")
      yield* Effect.promise(() => doorhook.publish(event))
      yield* until("disabled")
      const gone = yield* Effect.promise(() => doorhook.integrations.show(data.id))
      assert.deepStrictEqual([gone.status, gone.disabled_reason], ["disabled", "gone"])
      const { integrations } = yield* Effect.promise(() => doorhook.integrations.list({ status: "disabled" }))
      assert.deepStrictEqual(integrations, [gone])
      yield* Effect.promise(() => doorhook.publish(event))
      assert.strictEqual(receiver.received.length, 1, "what comes meanwhile is not sent")

      yield* Effect.promise(() => doorhook.integrations.probe(data.id))
      yield* until("recovered")
      const back = yield* Effect.promise(() => doorhook.integrations.show(data.id))
      assert.deepStrictEqual([back.status, back.disabled_reason], ["enabled", null])
      assert.deepStrictEqual(
        heard.map((notice) => [notice.kind, notice.integration_id, notice.scope]),
        [
          ["disabled", data.id, { type: "building", id: 1 }],
          ["recovered", data.id, { type: "building", id: 1 }]
        ]
      )
      const { next, notices } = yield* Effect.promise(() => doorhook.notices.list({ integration_id: data.id }))
      assert.deepStrictEqual([notices, next], [heard, null])
      assert.strictEqual((yield* codeOf(doorhook.integrations.show("99"))).code, "not_found")
    })
  )

  live(
    "hear of an integration that fails until it is disabled, whatever becomes of what they do about it",
    Effect.gen(function* () {
      const { heard, onNotice, until } = listening()
      const doorhook = yield* start({
        // Between half of it, when the first notice is due, and its end, an attempt is made on the busiest machine.
        disableAfter: "3s",
        retry: { access_log: Array.from({ length: 100 }, () => "40ms") },
        onNotice: async (notice) => {
          onNotice(notice)
          throw new Error("the mail server is down")
        }
      })
      const api = yield* admin(doorhook)
      const receiver = yield* startReceiver(() => 500)
      yield* api("POST", path, integrationDocument(receiver.url))
      yield* Effect.promise(() => doorhook.publish(event))
      yield* until("disabled")
      assert.strictEqual(heard[0]?.kind, "failing")
      const [delivery] = (yield* Effect.promise(() => doorhook.deliveries.list())).deliveries
      assert.deepStrictEqual([delivery?.state, delivery?.reason], ["cancelled", "integration_disabled"])
    })
  )

  live(
    "publish once under one idempotency key, in the process or over HTTP",
    Effect.gen(function* () {
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
  )

  it.effect("keep what is settled for as long as they say", () =>
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
        Layer.fresh(engineLayer({ database: "memory", operatorKey: "k", retention: "1h" }, AbsentDirectory.layer))
      )
    )
  )
})
