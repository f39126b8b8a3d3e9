/**
 * How events, deliveries and attempts stand in rows, in every dialect.
 */
import type { DeliveryId, IntegrationId, Standing } from "@doorhook/core"
import { Attempt, Delivery, Event, TenantId } from "@doorhook/core"
import { Schema } from "effect"

/** A stored delivery with what changes about it: what claims and settlements work on. */
export interface StandingRow extends Standing.Standing {
  readonly id: DeliveryId
  readonly event_seq: number
  readonly integration_id: IntegrationId
}

const EventRow = Schema.Struct({ ...Event.fields, tenant_ids: Schema.fromJsonString(Schema.Array(TenantId)) })

export const decodeEvents = Schema.decodeUnknownEffect(Schema.Array(EventRow))
export const decodeDeliveries = Schema.decodeUnknownEffect(Schema.Array(Delivery))
export const decodeAttempts = Schema.decodeUnknownEffect(Schema.Array(Attempt))
