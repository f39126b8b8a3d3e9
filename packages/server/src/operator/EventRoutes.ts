/**
 * How a host publishes events over HTTP.
 */
import { Crypto, Premises, Publisher, publishRequest, PublishRequest } from "@doorhook/core"
import type { BuildingId, NewEvent, Published } from "@doorhook/core"
import { Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { idempotencyKey } from "../http/IdempotencyKey.ts"
import { parseJson } from "../http/JsonBody.ts"
import { unprocessable } from "../http/KnownFailures.ts"
import { readText } from "../http/RequestBody.ts"
import { resource } from "../http/Resource.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
const maxPublishBytes = 1024 * 1024

/** The most hints in one answer. */
const mostHints = 10

/** What is said of a building that the directory does not have: accepted all the same, as the host may add it later. */
const hintOf = (building: BuildingId): string =>
  `building_id ${building} is not in the directory, so nobody can have an integration of it, and the event goes nowhere. Check the id, or add the building to the directory.`

/** Makes the hints about events that go nowhere; most have somewhere to go, and cost no question. */
const makeHints = Effect.map(
  Premises,
  ({ unknown }) =>
    (events: ReadonlyArray<NewEvent>, published: ReadonlyArray<Published>) =>
      Effect.map(
        unknown(events.flatMap(({ building_id }, at) => (published[at]?.deliveries === 0 ? [building_id] : []))),
        (buildings) => buildings.map(hintOf)
      )
)

const makeRoutes = Effect.gen(function* () {
  const publisher = yield* Publisher
  const reader = yield* PublishRequest.reader
  const hintsFor = yield* makeHints
  const crypto = yield* Crypto
  const { operation, refuse } = yield* OperatorEndpoint

  const publish = operation([], () =>
    Effect.gen(function* () {
      const text = yield* readText(maxPublishBytes)
      const request = reader.fromText(text)
      if (Result.isFailure(request)) {
        // What is no JSON at all is a bad request; what is, but is no event, can't be processed.
        yield* parseJson(text)
        return yield* unprocessable("Invalid event", request.failure.problems)
      }
      const key = yield* idempotencyKey
      const events = yield* publisher.publish(
        request.success.events,
        key === null ? null : yield* Effect.provideService(publishRequest(key, text), Crypto, crypto)
      )
      const { oversights } = request.success
      const hints = [...oversights, ...(yield* hintsFor(request.success.events, events))].slice(0, mostHints)
      return { status: 202, body: hints.length === 0 ? { events } : { events, hints } }
    })
  )

  return [resource("/operator/events", { POST: publish }, refuse)]
})

export const EventRoutes = HttpRouter.addAll(makeRoutes)
