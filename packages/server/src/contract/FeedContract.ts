/**
 * The feed of an integration in the contract: what it should have received.
 */
import { Action, DeliveryState, EventId, ResourceType } from "@doorhook/core"
import { Schema } from "effect"

/** Where to go on, and how many at once. */
export const FeedQuery = Schema.Struct({
  /** A cursor of this integration; without one the feed begins at its beginning. */
  after: Schema.optionalKey(Schema.String),
  per: Schema.optionalKey(Schema.Int),
  "page[size]": Schema.optionalKey(Schema.Int)
})

const FeedDelivery = Schema.Struct({
  type: Schema.Literal("deliveries"),
  id: Schema.String,
  attributes: Schema.Struct({
    /** The `webhook-id` that it is sent with. */
    event_id: EventId,
    state: DeliveryState,
    created_at: Schema.String,
    /** As in the body of the webhook. */
    event: Schema.Struct({
      resource_type: ResourceType,
      action: Action,
      data: Schema.Record(Schema.String, Schema.Unknown)
    })
  })
}).annotate({ identifier: "Delivery" })

/** A part of the feed. The cursor is good for ever; `next` is null when there is no more now. */
export const DeliveryFeed = Schema.Struct({
  data: Schema.Array(FeedDelivery),
  meta: Schema.Struct({ cursor: Schema.String }),
  links: Schema.Struct({ next: Schema.NullOr(Schema.String) })
}).annotate({ identifier: "DeliveryFeed" })
