/**
 * Publishing events over HTTP.
 */
import { Crypto, ScopeReader, Publisher, publishRequest, PublishRequest } from "@doorhook/core"
import type { BuildingId, NewEvent, Published } from "@doorhook/core"
import { Effect, Result, Schema } from "effect"
import { idempotencyKeyOf, parseJson } from "../http/Documents.ts"
import { handler, operation } from "./Operation.ts"

/** The largest body, in bytes. */
const maxPublishBytes = 1024 * 1024

/** The most hints in one answer. */
const maxHints = 10

export const eventOperations = {
  publish: operation({
    name: "events.publish",
    method: "POST",
    path: "/operator/events",
    bodyLimit: maxPublishBytes,
    status: 202,
    answer: Schema.Struct({
      /** In the order of the request; `deliveries` is the number of integrations that the event goes to. */
      events: Schema.Array(Schema.Struct({ id: Schema.String, deliveries: Schema.Finite })),
      /** Probable mistakes in events that were accepted all the same. */
      hints: Schema.optionalKey(Schema.Array(Schema.String))
    })
  })
}

/** A hint at a building that the directory does not have: accepted all the same, as the host may add it later. */
const hintOf = (building: BuildingId): string =>
  `building_id ${building} is not in the directory, so nobody can have an integration of it, and the event goes nowhere. Check the id, or add the building to the directory.`

export const makeEventHandlers = Effect.gen(function* () {
  const publisher = yield* Publisher
  const reader = yield* PublishRequest.reader
  const premises = yield* ScopeReader
  const crypto = yield* Crypto

  /** Hints at events that go nowhere. The directory is asked about these alone. */
  const hintsFor = (events: ReadonlyArray<NewEvent>, published: ReadonlyArray<Published>) =>
    Effect.map(
      premises.unknown(events.flatMap(({ building_id }, at) => (published[at]?.deliveries === 0 ? [building_id] : []))),
      (buildings) => buildings.map(hintOf)
    )

  const publish = handler(eventOperations.publish, (input) =>
    Effect.gen(function* () {
      const text = yield* input.text
      const request = reader.fromText(text)
      if (Result.isFailure(request)) {
        // 400 for what is not JSON, 422 for JSON that is no event.
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
