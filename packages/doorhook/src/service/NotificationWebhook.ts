/**
 * Notifications by webhook: the notifications that `onNotification` gives an embedding host also go to a URL of the operator, as events of
 * the type `notification`, signed and retried by the delivery engine.
 *
 * The URL is an integration of the service's own scope. Each notification becomes one event for it, in the order of the notifications. How far
 * that has got is read from the newest of its events, so a crash loses none; an idempotency key keeps two processes from
 * publishing one twice. Notifications about this integration itself are left out: one that can't be delivered would cause the next.
 */
import {
  ClientId,
  Crypto,
  DeliveryStore,
  failureText,
  IntegrationStore,
  runForever,
  NotificationId,
  NotificationListener,
  idempotencyTtl,
  sendDirect,
  serviceScope,
  Signature,
  UserId,
  WakeSignal
} from "@doorhook/core"
import type { Integration, IntegrationId, NewIntegration, Notification } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Option, Queue, Redacted, Schema } from "effect"
import { notificationDocument } from "@doorhook/server"
import type { EngineConfig } from "../config/EngineConfig.ts"

/** The type of these events. No host can declare it. */
const resourceType = "notification"

/** When to look for notifications of other processes, and for what could not be published before, in milliseconds. */
const lookEvery = 60_000

/** How many notifications, and how many of the newest deliveries, are read at once. */
const pageSize = 100

/** The operator is asked about no right, and the receiver may be on the operator's own network. */
const ownNetworks = ["0.0.0.0/0", "::/0"]
const nobody = { user_id: UserId.make("doorhook"), client_id: ClientId.make("doorhook") }

const findTarget = Effect.gen(function* () {
  const { items } = yield* (yield* IntegrationStore).list(serviceScope, { offset: 0, limit: 1 })
  return items[0] ?? null
})

/** The secret that was made for the operator's URL by this start; null when there was one already, or it is a setting. */
export class NotificationSecret extends Context.Service<NotificationSecret, Redacted.Redacted | null>()(
  "@doorhook/doorhook/service/NotificationSecret"
) {}

/** Makes the operator's integration what the settings say, before anything is served. */
export const targetLayer = ({ notificationSecret, notificationUrl: url }: EngineConfig) =>
  Layer.effect(
    NotificationSecret,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const given = notificationSecret === undefined ? null : Redacted.make(notificationSecret)
      for (;;) {
        const current = yield* findTarget
        if (url === undefined) {
          if (current === null || (yield* store.remove(current))) return null
        } else if (current === null) {
          const secret = given ?? (yield* Signature.generateSecret)
          yield* store.create(newTarget(url, secret, yield* Clock.currentTimeMillis))
          return given === null ? secret : null
        } else {
          const changed = changedTarget(current, url, given)
          if (changed === null || (yield* store.update(changed, current.version))) return null
        }
      }
    })
  )

const newTarget = (url: string, signing_secret: Redacted.Redacted, now: number): NewIntegration => ({
  scope: serviceScope,
  integrator: "webhook",
  configuration: { url, method: "post" },
  bindings: [{ resource_type: resourceType, actions: ["create"] }],
  status: "enabled",
  disabled_reason: null,
  created_by: nobody,
  signing_secret,
  previous_secrets: [],
  overrides: { allow_targets: ownNetworks },
  version: 1,
  created_at: now,
  updated_at: now
})

/** With another URL it is enabled again. Null: it is as the settings say. */
const changedTarget = (current: Integration, url: string, given: Redacted.Redacted | null): Integration | null => {
  const signing_secret = given ?? current.signing_secret
  const isElsewhere = current.configuration.url !== url
  const isSame = !isElsewhere && Redacted.value(signing_secret) === Redacted.value(current.signing_secret)
  return isSame
    ? null
    : {
        ...current,
        configuration: { url, method: "post" },
        signing_secret,
        ...(isElsewhere && { status: "enabled", disabled_reason: null }),
        version: current.version + 1
      }
}

/** What an event of this type has in its `data`; a test event has another `id`, and no `kind`. */
const Forwarded = Schema.fromJsonString(Schema.Struct({ kind: Schema.String, id: Schema.FiniteFromString }))
const readForwarded = Schema.decodeUnknownOption(Forwarded)

/** Publishes notifications to the operator's integration. */
const makeForwarder = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const crypto = yield* Crypto
  const wake = yield* WakeSignal
  const integrations = yield* IntegrationStore

  /** The newest notification that was published; 0 for none that is kept. */
  const newestPublished = Effect.fnUntraced(function* (integration_id: IntegrationId) {
    const deliveries = yield* store.list({ integration_id, order: "newest", limit: pageSize })
    for (const { id } of deliveries) {
      const found = yield* store.find(id)
      const forwarded = readForwarded(found?.event?.data)
      if (Option.isSome(forwarded)) return forwarded.value.id
    }
    return 0
  })

  const publish = Effect.fnUntraced(function* (target: Integration, notification: Notification) {
    const now = yield* Clock.currentTimeMillis
    const key = `notification ${notification.id}`
    const remembered = { key, fingerprint: "", answer: "", created_at: now, expires_at: now + idempotencyTtl }
    const event = {
      resource_type: resourceType,
      action: "create",
      data: notificationDocument(notification),
      urgent: false
    }
    yield* sendDirect({ store, wake, crypto }, target, event, now, remembered)
  })

  let reached: { readonly of: IntegrationId; readonly notification: number } | null = null

  return Effect.gen(function* () {
    const target = yield* Effect.provideService(findTarget, IntegrationStore, integrations)
    if (target === null) return
    if (reached?.of !== target.id) reached = { of: target.id, notification: yield* newestPublished(target.id) }
    for (;;) {
      const notifications: ReadonlyArray<Notification> = yield* store.notifications({
        limit: pageSize,
        ...(reached.notification > 0 && { after: NotificationId.make(reached.notification) })
      })
      for (const notification of notifications) {
        const isOfOthers = notification.scope?.type !== serviceScope.type
        // Another process has published it where the key is taken.
        if (isOfOthers && notification.at >= target.created_at)
          yield* Effect.catchTag(publish(target, notification), "IdempotencyConflict", () => Effect.void)
        reached = { of: target.id, notification: notification.id }
      }
      if (notifications.length < pageSize) return
    }
  })
})

/** Publishes every notification, and passes it on to the host's listener. */
export const layer: Layer.Layer<never, never, DeliveryStore | IntegrationStore | WakeSignal | Crypto> = Layer.effect(
  NotificationListener,
  Effect.gen(function* () {
    const hosts = yield* NotificationListener
    const forward = yield* makeForwarder
    const arrived = yield* Queue.sliding<void>(1)
    yield* Queue.offer(arrived, undefined)
    const step = Effect.andThen(
      Effect.timeoutOption(Queue.take(arrived), lookEvery),
      Effect.catchTag(forward, "StoreError", (error) =>
        Effect.logWarning(
          `Notifications could not be published to notificationUrl; this is tried again. ${failureText(error)}`
        )
      )
    )
    yield* Effect.forkScoped(runForever("Publishing notifications", step))
    return (notification) => Effect.andThen(Queue.offer(arrived, undefined), hosts(notification))
  })
)
