/**
 * How a host publishes events over HTTP.
 */
import { Publisher, PublishRequest } from "@doorhook/core"
import { Array, Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { internalError } from "../http/KnownFailures.ts"
import { parseJson } from "../http/JsonBody.ts"
import { readText } from "../http/RequestBody.ts"
import { RequestFailure } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
export const maxPublishBytes = 1024 * 1024

const refusal = (problems: ReadonlyArray<PublishRequest.PublishProblem>): RequestFailure => {
  const errors = problems.map(({ pointer, detail }) => ({
    code: "invalid",
    title: "Invalid event",
    detail: pointer === "" ? `${detail}.` : `${pointer} ${detail}.`,
    source: { pointer }
  }))
  return Array.isReadonlyArrayNonEmpty(errors)
    ? new RequestFailure({ status: 422, errors, headers: {} })
    : internalError
}

const makeRoutes = Effect.gen(function* () {
  const publisher = yield* Publisher
  const { operation, refuse } = yield* OperatorEndpoint

  const publish = operation([], () =>
    Effect.gen(function* () {
      const text = yield* readText(maxPublishBytes)
      const request = PublishRequest.fromText(text)
      if (Result.isFailure(request)) {
        // What is no JSON at all is a bad request; what is, but is no event, can't be processed.
        yield* parseJson(text)
        return yield* refusal(request.failure.problems)
      }
      const events = yield* publisher.publish(request.success.events)
      return { status: 202, body: { events } }
    })
  )

  return [resource("/operator/events", { POST: publish }, refuse)]
})

export const EventRoutes = HttpRouter.addAll(makeRoutes)
