/**
 * Rows of events, deliveries and attempts.
 *
 * On PostgreSQL a delivery has one row: in `queue` while it is active, in `deliveries` once it has ended. `deliveries`
 * grows, but its rows rarely change. `queue` changes often, but stays as small as the backlog. The row of an ended
 * delivery includes its last attempt; earlier attempts are in `attempts`.
 */
import type { Attempt, DeliveryId, EventId, FeedRequest, IntegrationId, Transitions } from "@doorhook/core"
import { Attempt as AttemptSchema, Delivery, Event, EventExcerpt, feedScan, FigureRow } from "@doorhook/core"
import { Effect, Schema } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"

/** A delivery before it has an id. */
export interface NewDeliveryRow extends Transitions.QueueEntry {
  readonly event_id: EventId
  readonly integration_id: IntegrationId
  readonly created_at: number
}

/** The columns of a stored delivery that claims and settlements read. */
export interface StandingRow extends NewDeliveryRow {
  readonly id: DeliveryId
}

/** A delivery in `queue`. `ending` is set if the delivery is cancelled but its row has not been moved yet. */
export interface QueuedRow extends StandingRow {
  readonly ending: boolean | number
}

/** An event's row. `tenant_ids` is a JSON list. */
export interface EventRow {
  readonly id: EventId
  readonly tenant_ids: string
}

/** An ended delivery with its last attempt. `due_at` is null and `resend` is 0. */
export interface EndedRow extends StandingRow {
  readonly attempt: Attempt | null
}

const Events = Schema.Array(Event)
// Compiled for speed, because this schema decodes every claimed delivery. Schemas with transformations can't be
// compiled, so the JSON is parsed first.
SchemaJITCompiler.enable(Events.ast)
const decodeParsedEvents = Schema.decodeUnknownEffect(Events)

/** Parses JSON. Returns invalid JSON unchanged, for the schema to reject. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const decodeEvents = (rows: ReadonlyArray<EventRow>): Effect.Effect<ReadonlyArray<Event>, Schema.SchemaError> =>
  Effect.suspend(() => decodeParsedEvents(rows.map((row) => ({ ...row, tenant_ids: parsed(row.tenant_ids) }))))
const decodeParsedNewEvents = Schema.decodeUnknownEffect(
  Schema.Array(
    Schema.Struct({ seq: Schema.Int, building_id: Event.fields.building_id, tenant_ids: Event.fields.tenant_ids })
  )
)
/** Decodes the numbers, buildings and tenants of events. */
export const decodeNewEvents = (rows: ReadonlyArray<Pick<EventRow, "tenant_ids">>) =>
  Effect.suspend(() => decodeParsedNewEvents(rows.map((row) => ({ ...row, tenant_ids: parsed(row.tenant_ids) }))))
export const decodeDeliveries = Schema.decodeUnknownEffect(Schema.Array(Delivery))
export const decodeFigures = Schema.decodeUnknownEffect(Schema.Array(FigureRow))
export const decodeExcerpts = Schema.decodeUnknownEffect(Schema.Array(EventExcerpt))
const { response_excerpt: _, ...withoutExcerpt } = AttemptSchema.fields
export const LastAttempt = Schema.Struct(withoutExcerpt)
export const decodeLastAttempts = Schema.decodeUnknownEffect(
  Schema.Array(Schema.Struct({ delivery_id: Delivery.fields.id, ...withoutExcerpt }))
)
export const decodeAttempts = Schema.decodeUnknownEffect(Schema.Array(AttemptSchema))

/** How many items of a feed to examine: one more than the limit, or enough to find events of the requested types. */
export const scanOf = ({ limit, types }: FeedRequest): number => (types === undefined ? limit + 1 : feedScan)
