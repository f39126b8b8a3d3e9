/**
 * How events, deliveries and attempts stand in rows, in every dialect.
 *
 * A delivery has one row, in one of two tables: in `queue` as long as it is active, in `deliveries` once it has ended.
 * So what grows is appended to and hardly ever changed, and what changes is as small as the backlog. The attempt that
 * ended a delivery stands in its row; the ones before it are in `attempts`.
 */
import type { Attempt, DeliveryId, EventId, IntegrationId, Standing } from "@doorhook/core"
import { Attempt as AttemptSchema, Delivery, Event, TenantId } from "@doorhook/core"
import { Schema } from "effect"

/** A delivery before it has an id. */
export interface NewDeliveryRow extends Standing.Standing {
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

export interface AttemptRow extends Attempt {
  readonly delivery_id: DeliveryId
}

/** A delivery that has ended, with the attempt that ended it. Its `due_at` is null and its `resend` 0. */
export interface EndedRow extends StandingRow {
  readonly attempt: Attempt | null
}

const EventRow = Schema.Struct({ ...Event.fields, tenant_ids: Schema.fromJsonString(Schema.Array(TenantId)) })

export const decodeEvents = Schema.decodeUnknownEffect(Schema.Array(EventRow))
export const decodeDeliveries = Schema.decodeUnknownEffect(Schema.Array(Delivery))
const { response_excerpt: _, ...withoutExcerpt } = AttemptSchema.fields
export const decodeLastAttempts = Schema.decodeUnknownEffect(
  Schema.Array(Schema.Struct({ delivery_id: Delivery.fields.id, ...withoutExcerpt }))
)
export const decodeAttempts = Schema.decodeUnknownEffect(Schema.Array(AttemptSchema))
