/**
 * What every operation of the operator API has in common: the key, strict query parameters, JSON in and out.
 *
 * The content type of a body is not looked at: the key is not sent by browsers on their own, and an operator's `curl`
 * need not name one.
 */
import type { Crypto } from "@doorhook/core"
import { LoginThrottle } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as BearerToken from "../http/BearerToken.ts"
import { clientAddress, proxyHeaderOf } from "../http/ClientAddress.ts"
import { makeKeyCheck } from "../http/KeyCheck.ts"
import type { KnownError } from "../http/KnownFailures.ts"
import { recover } from "../http/KnownFailures.ts"
import { json } from "../http/MediaType.ts"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { readQuery } from "../http/QueryParameters.ts"
import type { RequestFailure } from "../http/RequestFailure.ts"
import { failure, failureResponse } from "../http/RequestFailure.ts"
import { OperatorKey } from "./OperatorKey.ts"

/** What an operation answers with. */
export interface OperatorAnswer {
  readonly status: 200 | 201 | 202 | 204
  /** None with 204. */
  readonly body: object | null
}

type Request = HttpServerRequest.HttpServerRequest
type Response<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

const unauthorized = (detail: string) =>
  failure(
    401,
    { code: "unauthorized", title: "Unauthorized", detail },
    { "www-authenticate": 'Bearer realm="doorhook operator"' }
  )

const keyMissing = unauthorized("Send the operator key: `Authorization: Bearer $DOORHOOK_OPERATOR_KEY`.")

const keyWrong = unauthorized(
  "This is not the service's operator key. Send the one that it was started with, or that it printed at its first start."
)

const throttled = (seconds: number) =>
  failure(
    429,
    {
      code: "rate_limited",
      title: "Too many requests",
      detail: `Ten wrong operator keys came from this address within 15 minutes, so every key is refused from there, the right one too. Correct whatever sends the wrong key. Try again in ${seconds} s.`
    },
    { "retry-after": String(seconds) }
  )

/**
 * What failures with the key are counted by. Behind an untrusted proxy all clients share one address, often that of local
 * programs too. Requests through a proxy are counted separately, so that strangers cannot lock out local programs.
 */
const guessOf = Effect.gen(function* () {
  const isProxied = proxyHeaderOf(yield* HttpServerRequest.HttpServerRequest) !== undefined
  return { kind: "operator", name: isProxied ? "by proxy" : "direct", address: yield* clientAddress } as const
})

/**
 * Makes the handlers of operations.
 *
 * @effect-expect-leaking HttpServerRequest
 */
export class OperatorEndpoint extends Context.Service<
  OperatorEndpoint,
  {
    /** The handler of an operation that accepts these query parameters. */
    readonly operation: <Name extends string, R>(
      names: ReadonlyArray<Name>,
      run: (query: QueryParameters<Name>) => Effect.Effect<OperatorAnswer, KnownError, R>
    ) => Response<R | Request>
    /** Answers with a failure. */
    readonly refuse: (failure: RequestFailure) => Response<Request>
  }
>()("@doorhook/server/operator/OperatorEndpoint") {
  static readonly layer: Layer.Layer<OperatorEndpoint, never, OperatorKey | Crypto> = Layer.effect(
    OperatorEndpoint,
    Effect.gen(function* () {
      const isKey = yield* makeKeyCheck((yield* OperatorKey).key)
      const clock = yield* Clock.Clock
      const { guard } = LoginThrottle.make(() => clock.currentTimeMillisUnsafe())

      const authenticate = Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const presented = BearerToken.read(headers["authorization"])
        if (presented._tag === "Absent") return yield* keyMissing
        const attempt = Effect.map(isKey(presented.token), (isRight) => isRight || null)
        const guarded = yield* guard(yield* guessOf, () => attempt)
        if (guarded._tag === "Throttled") return yield* throttled(guarded.retry_after)
        if (guarded.value === null) return yield* keyWrong
      })

      const respond = <R>(run: Effect.Effect<OperatorAnswer, KnownError, R>): Response<R> =>
        recover(run).pipe(
          Effect.map(({ status, body }) =>
            body === null
              ? HttpServerResponse.empty({ status })
              : HttpServerResponse.text(JSON.stringify(body), { status, contentType: json })
          ),
          Effect.catch(failureResponse(json)),
          Effect.map(HttpServerResponse.setHeader("cache-control", "no-store"))
        )

      return OperatorEndpoint.of({
        operation: (names, run) => respond(Effect.andThen(authenticate, Effect.flatMap(readQuery(names), run))),
        refuse: (refusal) => respond(Effect.fail(refusal))
      })
    })
  )
}
