/**
 * Publishes events to a doorhook service over its operator API.
 */
import { RetryPolicy } from "@doorhook/core"
import type { Redacted } from "effect"
import { Clock, Effect, Predicate, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"

/** A running service. */
export interface Service {
  /** Its base URL, without a slash at the end. */
  readonly url: string
  readonly operatorKey: Redacted.Redacted<string>
}

/** What became of one request. */
export type Answer =
  | { readonly _tag: "Accepted"; readonly deliveries: number }
  /** The same request would be refused again. */
  | { readonly _tag: "Refused"; readonly status: number; readonly why: string }
  /** It may go better later. */
  | { readonly _tag: "Unavailable"; readonly why: string; readonly retryAfter: number | null }

/** How long the service may take to answer, in milliseconds. */
const timeout = 30_000

/** Statuses that say «later», besides all of 500 and above. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])

const PublishAnswer = Schema.fromJsonString(
  Schema.Struct({ events: Schema.Array(Schema.Struct({ deliveries: Schema.Int })) })
)

const toWire = ({ resource_type, action, building_id, tenant_ids, data }: PlannedEvent) => ({
  resource_type,
  action,
  building_id,
  tenant_ids,
  data
})

/** The beginning of an answer, on one line. */
const excerptOf = (text: string): string => text.replaceAll(/\s+/g, " ").slice(0, 200)

const readAnswer = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const text = yield* response.text
  const { status } = response
  const why = `status ${status}: ${excerptOf(text)}`
  if (status >= 500 || temporaryStatuses.has(status)) {
    const now = yield* Clock.currentTimeMillis
    const retryAfter = RetryPolicy.parseRetryAfter(response.headers["retry-after"] ?? null, now)
    return { _tag: "Unavailable", why, retryAfter } satisfies Answer
  }
  if (status !== 202) return { _tag: "Refused", status, why } satisfies Answer
  const { events } = yield* Schema.decodeEffect(PublishAnswer)(text)
  return { _tag: "Accepted", deliveries: events.reduce((sum, event) => sum + event.deliveries, 0) } satisfies Answer
})

/** The innermost cause, by its code (`ECONNREFUSED`) where it has one. */
const reasonOf = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return reasonOf(error.cause)
  if (Predicate.hasProperty(error, "code") && Predicate.isString(error.code)) return error.code
  return error instanceof Error ? error.message : "the connection failed"
}

/** Makes a request once and reads its answer; one that never came is an answer too. */
const ask = Effect.fnUntraced(function* <A>(
  service: Service,
  request: HttpClientRequest.HttpClientRequest,
  read: (
    response: HttpClientResponse.HttpClientResponse
  ) => Effect.Effect<A, HttpClientError.HttpClientError | Schema.SchemaError>
): Effect.fn.Return<A | Unavailable, never, HttpClient.HttpClient> {
  const unavailable = (why: string) => Effect.succeed<Unavailable>({ _tag: "Unavailable", why, retryAfter: null })
  return yield* HttpClient.execute(HttpClientRequest.bearerToken(request, service.operatorKey)).pipe(
    Effect.flatMap(read),
    Effect.timeout(timeout),
    Effect.catchTags({
      TimeoutError: () => unavailable(`no answer within ${timeout / 1_000} s`),
      HttpClientError: (error) => unavailable(reasonOf(error)),
      SchemaError: () => unavailable("the answer is not that of a doorhook service")
    })
  )
})

/**
 * Publishes a batch once. `key` makes it safe to publish the same batch again: the service takes it only once.
 *
 * A service that can't be reached, or answers with something that is not doorhook's, is `Unavailable`: it may be
 * starting up behind a proxy.
 */
export const publish = (
  service: Service,
  events: ReadonlyArray<PlannedEvent>,
  key: string
): Effect.Effect<Answer, never, HttpClient.HttpClient> =>
  ask(
    service,
    HttpClientRequest.post(`${service.url}/operator/events`).pipe(
      HttpClientRequest.setHeader("idempotency-key", key),
      HttpClientRequest.bodyText(JSON.stringify(events.map(toWire)), "application/json")
    ),
    readAnswer
  )
