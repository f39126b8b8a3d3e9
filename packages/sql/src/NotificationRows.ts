/**
 * The row of a notification. Members that all kinds share have columns; the others are JSON text.
 */
import type { NewNotification, Notification } from "@doorhook/core"
import { NewNotification as NotificationSchema, NotificationId } from "@doorhook/core"
import { Effect, Schema } from "effect"

interface NotificationRow {
  readonly kind: NewNotification["kind"]
  readonly integration_id: number
  readonly scope_type: string
  readonly scope_id: number
  readonly at: number
  readonly details: string
}

/** Column values of a notification that is not about an integration. */
const none = { integration_id: 0, scope_type: "", scope_id: 0 }

export const toRow = ({ at, integration_id, kind, scope, ...details }: NewNotification): NotificationRow => ({
  kind,
  ...(scope === null ? none : { integration_id, scope_type: scope.type, scope_id: scope.id }),
  at,
  details: JSON.stringify(details)
})

const StoredRow = Schema.Struct({
  id: NotificationId,
  kind: Schema.String,
  integration_id: Schema.Int,
  scope_type: Schema.String,
  scope_id: Schema.Int,
  at: Schema.Int,
  details: Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(StoredRow))
const decodeNotification = Schema.decodeUnknownEffect(NotificationSchema)

export const fromRows = Effect.fnUntraced(function* (
  rows: ReadonlyArray<object>
): Effect.fn.Return<ReadonlyArray<Notification>, Schema.SchemaError> {
  const notifications: Array<Notification> = []
  for (const { details, id, integration_id, scope_id, scope_type, ...row } of yield* decodeRows(rows)) {
    const about =
      scope_type === none.scope_type
        ? { integration_id: null, scope: null }
        : { integration_id, scope: { type: scope_type, id: scope_id } }
    notifications.push({ ...(yield* decodeNotification({ ...row, ...details, ...about })), id })
  }
  return notifications
})
