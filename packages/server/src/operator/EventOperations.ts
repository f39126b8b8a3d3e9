/**
 * Publishes events over HTTP.
 */
import { Crypto, ScopeReader, Publisher, publishRequest, PublishRequest } from "@doorhook/core"
import type { BuildingId, NewEvent, Published } from "@doorhook/core"
import { Effect, Result, Schema } from "effect"
import { idempotencyKeyOf, parseJson } from "../http/Documents.ts"
import { handler, operation } from "./Operation.ts"

/** Largest body, in bytes. */
const maxPublishBytes = 1024 * 1024

/** Maximum number of hints in an answer. */
const maxHints = 10

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
  )
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

  return [publish]
})
