/**
 * How events, deliveries and attempts stand in rows, in every dialect.
 *
 * A delivery has one row, in one of two tables: in `queue` as long as it is active, in `deliveries` once it has ended.
 * So what grows is appended to and hardly ever changed, and what changes is as small as the backlog. The attempt that
 * ended a delivery stands in its row; the ones before it are in `attempts`.
 */
import type { Attempt, DeliveryId, EventId, IntegrationId, Transitions } from "@doorhook/core"
import { Attempt as AttemptSchema, Delivery, Event } from "@doorhook/core"
import { Effect, Schema } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"

/** A delivery before it has an id. */
export interface NewDeliveryRow extends Transitions.QueueEntry {
  readonly event_id: EventId
  readonly integration_id: IntegrationId
  readonly created_at: number
}

/** A stored delivery with what changes about it: what claims and settlements work on. */
export interface StandingRow extends NewDeliveryRow {
  readonly id: DeliveryId
}

/** One that is in `queue`, and whether an ending has cancelled it already. */
export interface QueuedRow extends StandingRow {
  readonly ending: boolean | number
}

/** An event as it is read: its tenants are a list in JSON. */
export interface EventRow {
  readonly id: EventId
  readonly tenant_ids: string
}

/** A delivery that has ended, with the attempt that ended it. Its `due_at` is null and its `resend` 0. */
export interface EndedRow extends StandingRow {
  readonly attempt: Attempt | null
}

const Events = Schema.Array(Event)
// Each claimed delivery comes by here. Only a schema that transforms nothing is compiled: so the list is parsed before.
SchemaJITCompiler.enable(Events.ast)
const decodeParsedEvents = Schema.decodeUnknownEffect(Events)

/** JSON, or the text itself if it is none: then its schema refuses it. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const decodeEvents = (rows: ReadonlyArray<EventRow>): Effect.Effect<ReadonlyArray<Event>, Schema.SchemaError> =>
  Effect.suspend(() => decodeParsedEvents(rows.map((row) => ({ ...row, tenant_ids: parsed(row.tenant_ids) }))))
export const decodeDeliveries = Schema.decodeUnknownEffect(Schema.Array(Delivery))
const { response_excerpt: _, ...withoutExcerpt } = AttemptSchema.fields
export const decodeLastAttempts = Schema.decodeUnknownEffect(
  Schema.Array(Schema.Struct({ delivery_id: Delivery.fields.id, ...withoutExcerpt }))
)
export const decodeAttempts = Schema.decodeUnknownEffect(Schema.Array(AttemptSchema))
