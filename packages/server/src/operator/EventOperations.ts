/**
 * Publishes and explains events over HTTP.
 */
import {
  Crypto,
  Deliveries,
  deliveryStates,
  english,
  EventId,
  formatDeliveryId,
  isoOf,
  missingVerdicts,
  ScopeReader,
  Publisher,
  publishRequest,
  PublishRequest
} from "@doorhook/core"
import type { BuildingId, NewEvent, Published } from "@doorhook/core"
import { Effect, Result, Schema, Struct } from "effect"
import { idempotencyKeyOf, parseJson } from "../http/Documents.ts"
import { pathId, readIntegrationId } from "../http/Query.ts"
import { handler, operation } from "./Operation.ts"

/** Largest body, in bytes. */
const maxPublishBytes = 1024 * 1024

/** Maximum number of hints in an answer. */
const maxHints = 10

/** Why integrations did or did not get an event. */
const EventExplanationDocument = Schema.Struct({
  id: Schema.String,
  /** Null if no such event is stored. */
  event: Schema.NullOr(
    Schema.Struct({
      resource_type: Schema.String,
      action: Schema.String,
      building_id: Schema.Finite,
      tenant_ids: Schema.Array(Schema.Finite),
      created_at: Schema.String
    })
  ),
  /** `never_published` or `no_longer_retained` if the event is not stored; null otherwise. */
  verdict: Schema.NullOr(Schema.Literals(missingVerdicts)),
  /** The verdict in words; null for a stored event. */
  why: Schema.NullOr(Schema.String),
  integrations: Schema.Array(
    Schema.Struct({
      integration_id: Schema.String,
      name: Schema.NullOr(Schema.String),
      /** The delivery's id; null if there is none. */
      delivery_id: Schema.NullOr(Schema.String),
      /** The delivery's state, `right_lost`, or why there is no delivery. */
      verdict: Schema.Literals([...deliveryStates, "right_lost", ...missingVerdicts]),
      /** The verdict in words. */
      why: Schema.String
    })
  )
})
export type EventExplanationDocument = typeof EventExplanationDocument.Type

export const eventOperations = {
  publish: operation(
    "events.publish",
    "POST",
    "/operator/events",
    Schema.Struct({
      /**
       * The events in the order of the request. `deliveries` counts one for each matching integration, even if the
       * integration is disabled.
       */
      events: Schema.Array(Schema.Struct({ id: Schema.String, deliveries: Schema.Finite })),
      /** Probable mistakes in accepted events. */
      hints: Schema.optionalKey(Schema.Array(Schema.String))
    }),
    { bodyLimit: maxPublishBytes, status: 202 }
  ),
  explain: operation("events.explain", "GET", "/operator/events/:id/explanation", EventExplanationDocument, {
    query: ["integration_id"]
  })
}

/**
 * Returns the hint for an event in a building that is not in the directory. The event is accepted nevertheless, because
 * the host might add the building later.
 */
const hintOf = (building: BuildingId): string =>
  `building_id ${building} is not in the directory, so nobody can have an integration for it, and nobody gets the event. Check the id, or add the building to the directory.`

export const makeEventHandlers = Effect.gen(function* () {
  const publisher = yield* Publisher
  const reader = yield* PublishRequest.reader
  const scopes = yield* ScopeReader
  const deliveries = yield* Deliveries
  const crypto = yield* Crypto

  /** Returns hints for events without deliveries. Only the buildings of these events are looked up in the directory. */
  const hintsFor = (events: ReadonlyArray<NewEvent>, published: ReadonlyArray<Published>) =>
    Effect.map(
      scopes.unknown(events.flatMap(({ building_id }, at) => (published[at]?.deliveries === 0 ? [building_id] : []))),
      (buildings) => buildings.map(hintOf)
    )

  const publish = handler(eventOperations.publish, (input) =>
    Effect.gen(function* () {
      const text = yield* input.text
      const request = reader.fromText(text)
      if (Result.isFailure(request)) {
        // A body that is not JSON gets 400. JSON that is not an event gets 422.
        yield* parseJson(text)
        return yield* request.failure
      }
      const key = yield* idempotencyKeyOf(input)
      const events = yield* publisher.publish(
        request.success.events,
        key === null ? null : yield* publishRequest(crypto, key, text)
      )
      const { oversights } = request.success
      const hints = [...oversights, ...(yield* hintsFor(request.success.events, events))].slice(0, maxHints)
      return hints.length === 0 ? { events } : { events, hints }
    })
  )

  const explain = handler(eventOperations.explain, ({ params, query }) =>
    Effect.gen(function* () {
      const id = yield* pathId(params, "id", Schema.decodeUnknownOption(EventId), "an event (evt_...)")
      const only = yield* readIntegrationId(query)
      const { event, integrations, missing } = yield* deliveries.explainEvent(id, only ?? undefined)
      return {
        id,
        event:
          event === null
            ? null
            : {
                ...Struct.pick(event, ["resource_type", "action", "building_id", "tenant_ids"]),
                created_at: isoOf(event.created_at)
              },
        verdict: missing?.verdict ?? null,
        why: missing === null ? null : english(missing.why),
        integrations: integrations.map(({ delivery, integration, integration_id, verdict, why }) => ({
          integration_id: String(integration_id),
          name: integration?.name ?? null,
          delivery_id: delivery === null ? null : formatDeliveryId(delivery.id),
          verdict,
          why: english(...why)
        }))
      }
    })
  )

  return [publish, explain]
})
