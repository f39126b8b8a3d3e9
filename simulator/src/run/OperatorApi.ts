/**
 * Publishes events to a doorhook service over its operator API.
 */
import { RetryPolicy } from "@doorhook/core"
import type { Redacted } from "effect"
import { Cause, Clock, Effect, Option, Predicate, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
import type { LoadEvent } from "./Load.ts"
import { newEventOf } from "./Load.ts"

/** A running service. */
export interface Service {
  /** Its base URL, without a slash at the end. */
  readonly url: string
  readonly operatorKey: Redacted.Redacted<string>
  /** Where the key was given, like `--operator-key`, to be named where it is wrong. */
  readonly keyFrom?: string
}

/** An event that the service accepted. */
export interface AcceptedEvent {
  /** None where the service does not say. */
  readonly id?: string
  readonly deliveries: number
}

/** The answer to one request. */
export type Answer =
  | { readonly _tag: "Accepted"; readonly deliveries: number; readonly events: ReadonlyArray<AcceptedEvent> }
  | Denial

export type Denial =
  /** The same request would be refused again. */
  | { readonly _tag: "Refused"; readonly status: number; readonly why: string }
  /** A retry may succeed. */
  | { readonly _tag: "Unavailable"; readonly why: string; readonly retryAfter: number | null }

/** Where the events of a run go. */
export interface Target<R> {
  /** What messages call it. */
  readonly name: string
  /** Where its key was given. */
  readonly keyFrom?: string
  /** Checks that it is there, without publishing anything. */
  readonly greet: Effect.Effect<Answer, never, R>
  /** Publishes a batch. The same batch under the same key is accepted only once. */
  readonly publish: (events: ReadonlyArray<LoadEvent>, key: string) => Effect.Effect<Answer, never, R>
}

/** How long the service may take to answer, in milliseconds. */
const timeout = 30_000

/** Statuses after which a retry may succeed, besides all of 500 and above. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])

const PublishAnswer = Schema.fromJsonString(
  Schema.Struct({
    events: Schema.Array(Schema.Struct({ id: Schema.optionalKey(Schema.String), deliveries: Schema.Int }))
  })
)

/** The member `data` is text already. */
const toWire = (event: LoadEvent): string => {
  const { data, ...rest } = newEventOf(event)
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data}}`
}

/** The operator API's errors; what has a `source` says little without it. */
const ErrorAnswer = Schema.fromJsonString(
  Schema.Struct({
    errors: Schema.NonEmptyArray(Schema.Struct({ detail: Schema.String, source: Schema.optionalKey(Schema.Never) }))
  })
)

/** What an answer says, or the beginning of it, on one line. */
const excerptOf = (text: string): string => {
  const said = Option.match(Schema.decodeOption(ErrorAnswer)(text), {
    onNone: () => text,
    onSome: ({ errors }) => errors.map(({ detail }) => detail).join(" ")
  })
  return said.replaceAll(/\s+/g, " ").slice(0, 200)
}

/** What a request is answered with, `accepted` being what the body says when it is taken. */
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

/** Why there was no answer: the innermost cause, by its code (`ECONNREFUSED`) where it has one. */
const reasonOf = (error: unknown): string => {
  if (Cause.isTimeoutError(error)) return `no answer within ${timeout / 1_000} s`
  if (Schema.isSchemaError(error)) return "the answer is not that of a doorhook service"
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return reasonOf(error.cause)
  if (Predicate.hasProperty(error, "code") && Predicate.isString(error.code)) return error.code
  return error instanceof Error ? error.message : "the connection failed"
}

/**
 * Makes a request once. A service that can't be reached, or answers with something that is not doorhook's, is
 * `Unavailable`: it may be starting up behind a proxy.
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

/** Publishes a batch. `key` makes it safe to publish the same batch again: the service takes it only once. */
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
 * Checks that the service answers and accepts the key, without publishing. A server that answers 200 to everything is no
 * service.
 */
const greet = (service: Service) =>
  callService(service, HttpClientRequest.get(`${service.url}/operator/deliveries?limit=1`), (text) => {
    const isService = Option.isSome(readDeliveries(text))
    return Effect.succeed<Answer>(
      isService
        ? { _tag: "Accepted", deliveries: 0, events: [] }
        : { _tag: "Refused", status: 200, why: "the answer is not that of a doorhook service" }
    )
  })

/** A running service, as a run publishes to it. */
export const serviceTarget = (service: Service): Target<HttpClient.HttpClient> => ({
  name: service.url,
  ...(service.keyFrom === undefined ? {} : { keyFrom: service.keyFrom }),
  greet: greet(service),
  publish: (events, key) => publish(service, events, key)
})
