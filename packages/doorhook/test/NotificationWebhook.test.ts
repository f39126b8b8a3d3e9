/**
 * Notifications by webhook: the operator's URL gets the same notifications as `onNotification`, in the form of
 * doorhook's other webhooks.
 */
import { assert, describe } from "@effect/vitest"
import { signatureVerifier } from "@doorhook/receiver"
import { plainHeaders, startReceiver } from "@doorhook/testkit/Receiver"
import type { Received, Receiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startDoorhook } from "@doorhook/testkit/Doorhook"
import type { Doorhook as Embedded, DoorhookNotification } from "doorhook"
import * as Doorhook from "doorhook/effect"
import { Effect, Layer, Schema } from "effect"
import { join } from "node:path"
import { codeOf, directory, event, live, mount, start, tokenFrom } from "./harness/Embedded.ts"
import { createIntegration } from "./harness/ThirdParty.ts"

const notificationSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const Notification = Schema.fromJsonString(
  Schema.Struct({
    event: Schema.Struct({
      resource_type: Schema.String,
      action: Schema.String,
      data: Schema.Struct({ id: Schema.String, kind: Schema.String, integration_id: Schema.NullOr(Schema.String) })
    })
  })
)
const read = ({ body }: Received) => Schema.decodeUnknownSync(Notification)(body).event

const failOnce = Effect.fnUntraced(function* (doorhook: Embedded) {
  const { url } = yield* mount(doorhook)
  const dead = yield* startReceiver(() => 410)
  const token = yield* tokenFrom(url)
  const { id } = yield* Effect.promise(() => createIntegration(url, token, dead.url))
  yield* Effect.promise(() => doorhook.publish(event))
  yield* Effect.promise(() => dead.until(({ length }) => length > 0))
  return id
})

describe("notifications by webhook", () => {
  live(
    "are the same as for onNotification, signed with the operator's secret, even to a private address",
    function* () {
      const operator = yield* startReceiver()
      const heard: Array<DoorhookNotification> = []
      const doorhook = yield* start({
        allowTargets: ["127.0.0.0/8"],
        notificationUrl: operator.url,
        notificationSecret,
        onNotification: (notification: DoorhookNotification) => void heard.push(notification)
      })
      const id = yield* failOnce(doorhook)
      yield* Effect.promise(() => operator.until(({ length }) => length === 1))
      const [received] = operator.received
      assert.isDefined(received)
      const { action, data, resource_type } = read(received)
      assert.deepStrictEqual([resource_type, action], ["notification", "create"])
      assert.deepStrictEqual([data.kind, data.integration_id], ["disabled", id])
      const isGenuine = signatureVerifier([notificationSecret])
      assert.isNull(isGenuine(plainHeaders(received), Buffer.from(received.body), Date.now()))
      const { notifications } = yield* Effect.promise(() => doorhook.notifications.list())
      assert.deepStrictEqual(
        notifications.map(({ kind, id: number }) => [kind, number]),
        [[data.kind, data.id]]
      )
      assert.deepStrictEqual(heard, notifications)
    }
  )

  live("are retried, continue after a restart, and cause no notifications about themselves", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    let isBroken = true
    const operator = yield* startReceiver(() => (isBroken ? 500 : 200))
    const settings = { database, notificationUrl: operator.url, notificationSecret, retry: { access_log: ["1h"] } }
    const first = yield* start(settings)
    yield* failOnce(first)
    yield* Effect.promise(() => operator.until(({ length }) => length === 1))
    yield* Effect.promise(() => first.close())
    isBroken = false
    const second = yield* start(settings)
    const { deliveries } = yield* Effect.promise(() => second.deliveries.list({ state: "retrying" }))
    const [waiting] = deliveries
    assert.isDefined(waiting)
    yield* Effect.promise(() => second.deliveries.resend(waiting.id))
    yield* Effect.promise(() => operator.until(({ length }) => length === 2))
    // A second failing integration causes exactly one more notification.
    yield* failOnce(second)
    yield* Effect.promise(() => operator.until(({ length }) => length === 3))
    assert.deepStrictEqual(
      operator.received.map((each) => read(each).data.id),
      ["1", "1", "2"]
    )
    const { integrations } = yield* Effect.promise(() => second.integrations.list())
    assert.deepStrictEqual(integrations[0]?.scope, { type: "service", id: 1 })
  })

  live("follow the setting: a new URL gets later notifications, and without a URL none is sent", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const [one, other] = [yield* startReceiver(), yield* startReceiver()]
    const run = (receiver: Receiver | null) =>
      Effect.gen(function* () {
        const given = receiver === null ? {} : { notificationUrl: receiver.url, notificationSecret }
        const doorhook = yield* start({ database, ...given })
        yield* failOnce(doorhook)
        if (receiver !== null) yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
        const { integrations } = yield* Effect.promise(() => doorhook.integrations.list())
        return integrations.filter(({ scope }) => scope.type === "service").map(({ url }) => url)
      }).pipe(Effect.scoped)
    assert.deepStrictEqual(yield* run(one), [one.url])
    assert.deepStrictEqual(yield* run(other), [other.url])
    assert.deepStrictEqual(yield* run(null), [])
    assert.lengthOf(one.received, 1)
    assert.lengthOf(other.received, 1)
  })

  live("are signed with a secret that the service generates and prints once", function* () {
    const folder = yield* temporaryFolder
    const url = "http://127.0.0.1:9/"
    const serve = ["serve", "--port", "0", "--database", join(folder, "doorhook.db")]
    const printed = yield* Effect.scoped(
      Effect.gen(function* () {
        const { printed } = yield* startDoorhook(serve, { DOORHOOK_NOTIFICATION_URL: url })
        const [, secret] = yield* Effect.promise(() => printed(/^notification secret \(shown only now\): (\S+)$/m))
        yield* Effect.promise(() => printed(/listening/))
        return secret
      })
    )
    assert.match(printed ?? "", /^whsec_[A-Za-z0-9+/=]{32}$/)
    const again = yield* startDoorhook(serve, { DOORHOOK_NOTIFICATION_URL: url })
    const [before] = yield* Effect.promise(() => again.printed(/[^]*listening/))
    assert.notInclude(before, "notification secret")
  })

  live("need valid settings", function* () {
    for (const [given, problem] of [
      [{ notificationUrl: "ftp://ops.example", notificationSecret }, "notificationUrl: The URL must begin with http"],
      [{ notificationUrl: "https://ops.example" }, "notificationSecret: must be given with notificationUrl"],
      [
        { notificationUrl: "https://ops.example", notificationSecret: "swordfish" },
        "notificationSecret: must be whsec_"
      ],
      [{ notificationSecret }, "notificationSecret: has no effect without notificationUrl"]
    ] as const) {
      const { message } = yield* codeOf(Effect.runPromise(Effect.scoped(start(given))))
      assert.include(message, problem)
      assert.notInclude(message, "swordfish")
    }
  })

  live("need a secret in the Effect layer, too, where nobody could read a generated one", function* () {
    const settings = { database: "memory", notificationUrl: "https://ops.example" }
    const layer = Doorhook.layer(settings, Doorhook.directoryOf(directory))
    const error = yield* Effect.flip(Layer.build(layer))
    assert.include(error.message, "notificationSecret: must be given with notificationUrl")
  })
})
