/**
 * Sends notifications as webhooks to a URL that the operator configures. `onNotification` gets the same notifications.
 * Each notification is an event of the type `notification`, signed and retried by the delivery engine.
 *
 * doorhook creates an integration with this URL, which belongs to the service itself (`serviceScope`). Each
 * notification becomes one event, in order. After a crash, publishing continues after the newest of these events, so no
 * notification is lost. An idempotency key prevents two processes from publishing the same notification. Notifications
 * about this integration are not sent, because each failure would cause another.
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
  storeTime,
  UserId,
  WakeSignal
} from "@doorhook/core"
import type { Integration, IntegrationId, NewIntegration, Notification } from "@doorhook/core"
import { Context, Effect, Layer, Option, Queue, Redacted, Schema } from "effect"
import { notificationDocument } from "@doorhook/server"
import type { EngineConfig } from "../config/EngineConfig.ts"

/** The resource type of events that contain a notification. Hosts can't declare this type. */
const resourceType = "notification"

/** How often to look for notifications from other processes, and to retry failed publications, in milliseconds. */
const lookEvery = 60_000

/** Number of notifications, or of newest deliveries, to read at a time. */
const pageSize = 100

/** All networks, because operators may choose any URL, even in their own network. */
const ownNetworks = ["0.0.0.0/0", "::/0"]
const nobody = { user_id: UserId.make("doorhook"), client_id: ClientId.make("doorhook") }

const findTarget = Effect.gen(function* () {
  const { items } = yield* (yield* IntegrationStore).list(serviceScope, { offset: 0, limit: 1 })
  return items[0] ?? null
})

/** The secret for the operator's URL, if this start generated it; null if it existed already or is configured. */
export class NotificationSecret extends Context.Service<NotificationSecret, Redacted.Redacted | null>()(
  "@doorhook/doorhook/service/NotificationSecret"
) {}

/** Creates, updates or removes the operator's integration as configured, before the service starts. */
export const targetLayer = ({ notificationSecret, notificationUrl: url }: EngineConfig) =>
  Layer.effect(
    NotificationSecret,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const now = yield* storeTime
      const given = notificationSecret === undefined ? null : Redacted.make(notificationSecret)
      for (;;) {
        const current = yield* findTarget
        if (url === undefined) {
          if (current === null) return null
          yield* store.remove(current)
        } else if (current === null) {
          const secret = given ?? (yield* Signature.generateSecret)
          const target = newTarget(url, secret, now())
          // If several processes start together, only one of them creates the integration and prints its secret.
          const isCreated = yield* store.create(target, undefined, 1).pipe(
            Effect.as(true),
            Effect.catchTag("LimitReached", () => Effect.succeed(false))
          )
          if (isCreated) return given === null ? secret : null
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
  name: "Notifications",
  description: null,
  detail: "full",
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

/**
 * Returns the integration with the configured URL and secret; null if it has them already. A new URL enables the
 * integration again.
 */
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

/** The `data` of an event that contains a notification. A test event does not match, because it has no `kind`. */
const Forwarded = Schema.fromJsonString(Schema.Struct({ kind: Schema.String, id: Schema.FiniteFromString }))
const readForwarded = Schema.decodeUnknownOption(Forwarded)

/** Makes an effect that publishes new notifications to the operator's integration. */
const makeForwarder = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const crypto = yield* Crypto
  const wake = yield* WakeSignal
  const integrations = yield* IntegrationStore
  const now = yield* storeTime

  /** Returns the id of the newest published notification; 0 if none is stored. */
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
    const at = now()
    const key = `notification ${notification.id}`
    const remembered = { key, fingerprint: "", answer: "", created_at: at, expires_at: at + idempotencyTtl }
    const event = {
      resource_type: resourceType,
      action: "create",
      data: notificationDocument(notification),
      urgent: false
    }
    yield* sendDirect({ store, wake, crypto }, target, event, at, remembered)
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
        // If the idempotency key is taken, another process has published the notification.
        if (isOfOthers && notification.at >= target.created_at)
          yield* Effect.catchTag(publish(target, notification), "IdempotencyConflict", () => Effect.void)
        reached = { of: target.id, notification: notification.id }
      }
      if (notifications.length < pageSize) return
    }
  })
})

/** Publishes each notification, and passes it to the host's listener. */
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
          `Notifications could not be published to notificationUrl; doorhook will retry. ${failureText(error)}`
        )
      )
    )
    yield* Effect.forkScoped(runForever("Publishing notifications", step))
    return (notification) => Effect.andThen(Queue.offer(arrived, undefined), hosts(notification))
  })
)
