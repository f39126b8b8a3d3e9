/**
 * Notifications about integrations that fail, were disabled or recovered, and about deliveries that were given up.
 * Times are ISO 8601 UTC.
 */
import { DisabledReason, isoOf, NotificationId, Notifications, parsePositiveInt } from "@doorhook/core"
import type { Notification } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { all, pageOf, readAfter, readIntegrationId, readLimit, readOrder } from "../http/Query.ts"
import { OperatorScope } from "./IntegrationOperations.ts"
import { handler, operation } from "./Operation.ts"

const about = {
  id: Schema.String,
  integration_id: Schema.String,
  /** The integration's owner. */
  scope: OperatorScope,
  at: Schema.String
}

export const NotificationDocument = Schema.Union([
  /**
   * The integration has acknowledged nothing since `failing_since`. If this continues, the first failed attempt after
   * `disables_at` disables the integration, but not before ten attempts have failed.
   */
  Schema.Struct({
    kind: Schema.Literal("failing"),
    ...about,
    failing_since: Schema.String,
    disables_at: Schema.String
  }),
  /** doorhook disabled the integration. */
  Schema.Struct({ kind: Schema.Literal("disabled"), ...about, reason: DisabledReason }),
  /** The integration acknowledges again. */
  Schema.Struct({ kind: Schema.Literal("recovered"), ...about, failing_since: Schema.NullOr(Schema.String) }),
  /** Deliveries were given up after their last retry. */
  Schema.Struct({ kind: Schema.Literal("exhausted"), ...about, deliveries: Schema.Finite }),
  /** The clock jumped ahead, so no rows are deleted by age until `until`. Concerns no integration. */
  Schema.Struct({
    kind: Schema.Literal("retention_paused"),
    id: Schema.String,
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.String,
    ahead_ms: Schema.Finite,
    until: Schema.String
  }),
  /** The clocks of `machine` and of the database server differ by more than five seconds. Concerns no integration. */
  Schema.Struct({
    kind: Schema.Literal("clock_offset"),
    id: Schema.String,
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.String,
    machine: Schema.String,
    /** How far the machine's clock is ahead, in milliseconds; negative if it is behind. */
    ahead_ms: Schema.Finite
  })
])
export type NotificationDocument = typeof NotificationDocument.Type

const PageDocument = Schema.Struct({
  notifications: Schema.Array(NotificationDocument),
  next: Schema.NullOr(Schema.String)
})
export type NotificationPageDocument = typeof PageDocument.Type

export const notificationOperations = {
  list: operation("notifications.list", "GET", "/operator/notifications", PageDocument, {
    query: ["integration_id", "order", "after", "limit"]
  })
}

export const notificationDocument = (notification: Notification): NotificationDocument => {
  if (notification.kind === "retention_paused") {
    return {
      ...notification,
      id: String(notification.id),
      at: isoOf(notification.at),
      until: isoOf(notification.until)
    }
  }
  if (notification.kind === "clock_offset") {
    return { ...notification, id: String(notification.id), at: isoOf(notification.at) }
  }
  const about = {
    id: String(notification.id),
    integration_id: String(notification.integration_id),
    scope: notification.scope,
    at: isoOf(notification.at)
  }
  switch (notification.kind) {
    case "failing":
      return {
        kind: notification.kind,
        ...about,
        failing_since: isoOf(notification.failing_since),
        disables_at: isoOf(notification.disables_at)
      }
    case "disabled":
      return { kind: notification.kind, ...about, reason: notification.reason }
    case "recovered":
      return {
        kind: notification.kind,
        ...about,
        failing_since: notification.failing_since === null ? null : isoOf(notification.failing_since)
      }
    case "exhausted":
      return { kind: notification.kind, ...about, deliveries: notification.deliveries }
  }
}

export const makeNotificationHandlers = Effect.gen(function* () {
  const notifications = yield* Notifications
  return [
    handler(notificationOperations.list, ({ query }) =>
      Effect.gen(function* () {
        const filter = yield* all({
          integration_id: readIntegrationId(query),
          order: readOrder(query),
          after: readAfter(query, (text) => parsePositiveInt(NotificationId, text)),
          limit: readLimit(query)
        })
        const { after, integration_id, order } = filter
        const { items, next } = yield* pageOf(filter.limit, (limit) =>
          notifications.list({
            limit,
            order,
            ...(integration_id !== null && { integration_id }),
            ...(after !== null && { after })
          })
        )
        return { notifications: items.map(notificationDocument), next: next === null ? null : String(next.id) }
      })
    )
  ]
})
