/**
 * The id that an answer, its error objects and the log lines about it share: `x-request-id`.
 */
import { Context, Effect, Random } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"

/** Header name, for both directions. */
export const requestIdHeader = "x-request-id"

/** The id of the request being answered; empty outside of one. */
export const RequestId = Context.Reference<string>("@doorhook/server/http/RequestId", { defaultValue: () => "" })

/** A caller's own id is kept when it is harmless in a header and in a log line. */
const isAcceptable = (id: string | undefined): id is string => id !== undefined && /^[\w.:-]{1,128}$/.test(id)

const generate = Effect.gen(function* () {
  const first = Math.abs(yield* Random.nextInt)
  const second = Math.abs(yield* Random.nextInt)
  return `req_${first.toString(36)}${second.toString(36)}`
})

/** Gives a request its id, the caller's own if it sent one, and puts it on the answer. */
export const withRequestId = <E, R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const given = request.headers[requestIdHeader]
    const id = isAcceptable(given) ? given : yield* generate
    const response = yield* handler.pipe(Effect.provideService(RequestId, id), Effect.annotateLogs({ request_id: id }))
    return HttpServerResponse.setHeader(response, requestIdHeader, id)
  })
