/**
 * How a host publishes events over HTTP.
 */
import { Crypto, Publisher, publishRequest, PublishRequest } from "@doorhook/core"
import { Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { idempotencyKey } from "../http/IdempotencyKey.ts"
import { parseJson } from "../http/JsonBody.ts"
import { unprocessable } from "../http/KnownFailures.ts"
import { readText } from "../http/RequestBody.ts"
import { resource } from "../http/Resource.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
export const maxPublishBytes = 1024 * 1024

const makeRoutes = Effect.gen(function* () {
  const publisher = yield* Publisher
  const crypto = yield* Crypto
  const { operation, refuse } = yield* OperatorEndpoint

  const publish = operation([], () =>
    Effect.gen(function* () {
      const text = yield* readText(maxPublishBytes)
      const request = PublishRequest.fromText(text)
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
      return { status: 202, body: { events } }
    })
  )

  return [resource("/operator/events", { POST: publish }, refuse)]
})

export const EventRoutes = HttpRouter.addAll(makeRoutes)
