/**
 * Publishes events to a doorhook service over its operator API.
 */
import { commandAdvice, RetryPolicy, tlsProblemOf } from "@doorhook/core"
import type { Redacted } from "effect"
import { Cause, Clock, Effect, Option, Predicate, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
import type { LoadEvent } from "./Load.ts"
import { newEventOf } from "./Load.ts"

/** A running service. */
export interface Service {
  /** Base URL without a trailing slash. */
  readonly url: string
  readonly operatorKey: Redacted.Redacted<string>
  /** Source of the key, like `--operator-key`, for error messages. */
  readonly keyFrom?: string
}

/** An event that the service accepted. */
export interface AcceptedEvent {
  /** Missing if the service doesn't return an id. */
  readonly id?: string
  readonly deliveries: number
}

/** The answer to one request. */
export type Answer =
  | { readonly _tag: "Accepted"; readonly deliveries: number; readonly events: ReadonlyArray<AcceptedEvent> }
  | Denial

export type Denial =
  /** A retry would be refused as well. */
  | { readonly _tag: "Refused"; readonly status: number; readonly why: string }
  /** A retry may succeed. */
  | { readonly _tag: "Unavailable"; readonly why: string; readonly retryAfter: number | null }

/** Destination of a run's events. */
export interface Target<R> {
  /** Name in messages. */
  readonly name: string
  /** Source of the target's key, for error messages. */
  readonly keyFrom?: string
  /** Checks that the target responds, without publishing anything. */
  readonly greet: Effect.Effect<Answer, never, R>
  /** Publishes a batch. A batch that is repeated with the same key is accepted only once. */
  readonly publish: (events: ReadonlyArray<LoadEvent>, key: string) => Effect.Effect<Answer, never, R>
}

/** Maximum time to wait for an answer from the service, in milliseconds. */
const timeout = 30_000

/** Statuses below 500 after which a retry may succeed. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])

const PublishAnswer = Schema.fromJsonString(
  Schema.Struct({
    events: Schema.Array(Schema.Struct({ id: Schema.optionalKey(Schema.String), deliveries: Schema.Int }))
  })
)

/** Serializes an event. `data` is inserted as it is, because it is already JSON text. */
const toWire = (event: LoadEvent): string => {
  const { data, ...rest } = newEventOf(event)
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data}}`
}

/**
 * Errors of the operator API that have no `source`. An error with a `source` is unclear without the source, so its
 * whole text is shown instead.
 */
const ErrorAnswer = Schema.fromJsonString(
  Schema.Struct({
    errors: Schema.NonEmptyArray(Schema.Struct({ detail: Schema.String, source: Schema.optionalKey(Schema.Never) }))
  })
)

/** Returns the errors in an answer, or the beginning of the answer, on one line. */
const excerptOf = (text: string): string => {
  const said = Option.match(Schema.decodeOption(ErrorAnswer)(text), {
    onNone: () => text,
    onSome: ({ errors }) => errors.map(({ detail }) => detail).join(" ")
  })
  return said.replaceAll(/\s+/g, " ").slice(0, 200)
}

/** Reads an answer. `accepted` reads the body of a successful answer. */
const readAnswer = Effect.fnUntraced(function* <A, E>(
  response: HttpClientResponse.HttpClientResponse,
  accepted: (text: string) => Effect.Effect<A, E>
) {
  const { status, headers } = response
  const text = yield* response.text
  if (status >= 200 && status <= 299) return yield* accepted(text)
  const why = `status ${status}: ${excerptOf(text)}`
  if (status < 500 && !temporaryStatuses.has(status)) return { _tag: "Refused", status, why } satisfies Denial
  const now = yield* Clock.currentTimeMillis
  const retryAfter = RetryPolicy.parseRetryAfter(headers["retry-after"] ?? null, now)
  return { _tag: "Unavailable", why, retryAfter } satisfies Denial
})

/**
 * Returns the reason why there was no answer: the code (such as `ECONNREFUSED`, with advice if it is about TLS) or the
 * message of the innermost cause.
 */
const reasonOf = (error: unknown): string => {
  if (Cause.isTimeoutError(error)) return `no answer within ${timeout / 1_000} s`
  if (Schema.isSchemaError(error)) return "the answer is not from a doorhook service"
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return reasonOf(error.cause)
  const problem = tlsProblemOf(error)
  if (Predicate.hasProperty(error, "code") && Predicate.isString(error.code)) {
    return problem === null ? error.code : `${error.code}: ${commandAdvice[problem].replace(/\.$/, "")}`
  }
  return error instanceof Error ? error.message : "the connection failed"
}

/**
 * Makes a request once. Returns `Unavailable` if the service can't be reached or if something else answers, because the
 * service may still be starting behind a proxy.
 */
export const callService = <A, E>(
  service: Service,
  request: HttpClientRequest.HttpClientRequest,
  accepted: (text: string) => Effect.Effect<A, E>
): Effect.Effect<A | Denial, never, HttpClient.HttpClient> => {
  const unavailable = (why: string): Denial => ({ _tag: "Unavailable", why, retryAfter: null })
  return HttpClient.execute(HttpClientRequest.bearerToken(request, service.operatorKey)).pipe(
    Effect.flatMap((response) => readAnswer(response, accepted)),
    Effect.timeout(timeout),
    Effect.catch((error) => Effect.succeed(unavailable(reasonOf(error))))
  )
}

/** Publishes a batch. The service accepts a batch only once with the same `key`, so retries are safe. */
const publish = (service: Service, events: ReadonlyArray<LoadEvent>, key: string) =>
  callService(
    service,
    HttpClientRequest.post(`${service.url}/operator/events`).pipe(
      HttpClientRequest.setHeader("idempotency-key", key),
      HttpClientRequest.bodyText(`[${events.map(toWire).join(",")}]`, "application/json")
    ),
    (text) =>
      Effect.map(Schema.decodeEffect(PublishAnswer)(text), ({ events }): Answer => {
        return { _tag: "Accepted", deliveries: events.reduce((sum, { deliveries }) => sum + deliveries, 0), events }
      })
  )

const DeliveriesAnswer = Schema.fromJsonString(Schema.Struct({ deliveries: Schema.Array(Schema.Unknown) }))
const readDeliveries = Schema.decodeOption(DeliveriesAnswer)

/**
 * Checks that the service answers and accepts the key, without publishing anything. Detects servers that answer 200 to
 * everything.
 */
const greet = (service: Service) =>
  callService(service, HttpClientRequest.get(`${service.url}/operator/deliveries?limit=1`), (text) => {
    const isService = Option.isSome(readDeliveries(text))
    return Effect.succeed<Answer>(
      isService
        ? { _tag: "Accepted", deliveries: 0, events: [] }
        : { _tag: "Refused", status: 200, why: "the answer is not from a doorhook service" }
    )
  })

/** Returns a running service as the target of a run. */
export const serviceTarget = (service: Service): Target<HttpClient.HttpClient> => ({
  name: service.url,
  ...(service.keyFrom === undefined ? {} : { keyFrom: service.keyFrom }),
  greet: greet(service),
  publish: (events, key) => publish(service, events, key)
})
