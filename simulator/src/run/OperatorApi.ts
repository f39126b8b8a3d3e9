/**
 * Publishes events to a doorhook service over its operator API.
 */
import { commandAdvice, RetryPolicy, tlsProblemOf } from "@doorhook/core"
import { Clock, Context, Effect, Option, Predicate, Redacted, Schema } from "effect"
import { Agent, request } from "undici"
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
export interface Target {
  /** Name in messages. */
  readonly name: string
  /** Source of the target's key, for error messages. */
  readonly keyFrom?: string
  /** Checks that the target responds, without publishing anything. */
  readonly greet: Effect.Effect<Answer>
  /** Publishes a batch. A batch that is repeated with the same key is accepted only once. */
  readonly publish: (events: ReadonlyArray<LoadEvent>, key: string) => Effect.Effect<Answer>
}

/** A request to the operator API. */
interface OperatorRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** The answer as it came. */
interface OperatorAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
}

/** Maximum time to wait for an answer from the service, in milliseconds. */
const timeout = 30_000

/** Connections to services. An abort signal for each request would cost as much as half a request. */
class Connections {
  #agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout })

  readonly send = ({ url, ...options }: OperatorRequest): Effect.Effect<OperatorAnswer, unknown> =>
    Effect.callback<OperatorAnswer, unknown>((resume) => {
      request(url, { ...options, dispatcher: this.#agent })
        .then(async ({ body, headers, statusCode }) => {
          const after = headers["retry-after"]
          const retryAfter = Predicate.isString(after) ? after : null
          return { status: statusCode, retryAfter, text: await body.text() }
        })
        .then(
          (answer) => resume(Effect.succeed(answer)),
          (error: unknown) => resume(Effect.fail(error))
        )
      // Requests are interrupted only when publishing ends, and then all of them.
      return Effect.sync(() => {
        void this.#agent.destroy()
        this.#agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout })
      })
    })
}

/** Sends requests to a service. Fails with the error of the connection. */
export const OperatorClient = Context.Reference<Connections["send"]>("@doorhook/simulator/OperatorClient", {
  defaultValue: () => new Connections().send
})

/** Statuses below 500 after which a retry may succeed. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])

const PublishAnswer = Schema.fromJsonString(
  Schema.Struct({
    events: Schema.Array(Schema.Struct({ id: Schema.optionalKey(Schema.String), deliveries: Schema.Int }))
  })
)

const readPublished = Schema.decodeOption(PublishAnswer)

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

const unavailable = (why: string, retryAfter: number | null = null): Denial => ({
  _tag: "Unavailable",
  why,
  retryAfter
})

/** Reads the denial in an answer. */
const denialOf = ({ retryAfter, status, text }: OperatorAnswer, now: number): Denial => {
  const why = `status ${status}: ${excerptOf(text)}`
  return status < 500 && !temporaryStatuses.has(status)
    ? { _tag: "Refused", status, why }
    : unavailable(why, RetryPolicy.parseRetryAfter(retryAfter, now))
}

/**
 * Returns the reason why there was no answer: the code (such as `ECONNREFUSED`, with advice if it is about TLS) or the
 * message of the innermost cause.
 */
const reasonOf = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return reasonOf(error.cause)
  const problem = tlsProblemOf(error)
  if (Predicate.hasProperty(error, "code") && Predicate.isString(error.code)) {
    if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(error.code)) return `no answer within ${timeout / 1_000} s`
    return problem === null ? error.code : `${error.code}: ${commandAdvice[problem].replace(/\.$/, "")}`
  }
  return error instanceof Error ? error.message : "the connection failed"
}

/**
 * Makes a request once. `read` reads the body of a successful answer. Returns `Unavailable` if the service can't be
 * reached or if something else answers, because the service may still be starting behind a proxy.
 */
export const callService = <A>(
  { operatorKey, url }: Service,
  path: string,
  read: (text: string) => Option.Option<A>,
  post: { readonly key: string; readonly body: string } | null = null
): Effect.Effect<A | Denial> => {
  const authorization = `Bearer ${Redacted.value(operatorKey)}`
  const call: OperatorRequest =
    post === null
      ? { method: "GET", url: url + path, headers: { authorization }, body: null }
      : {
          method: "POST",
          url: url + path,
          headers: { authorization, "content-type": "application/json", "idempotency-key": post.key },
          body: post.body
        }
  return OperatorClient.use((client) =>
    Effect.matchEffect(client(call), {
      onFailure: (error): Effect.Effect<A | Denial> => Effect.succeed(unavailable(reasonOf(error))),
      onSuccess: (answer): Effect.Effect<A | Denial> =>
        answer.status >= 200 && answer.status <= 299
          ? Effect.succeed(
              Option.getOrElse(read(answer.text), () => unavailable("the answer is not from a doorhook service"))
            )
          : Effect.map(Clock.currentTimeMillis, (now) => denialOf(answer, now))
    })
  )
}

/** Publishes a batch. The service accepts a batch only once with the same `key`, so retries are safe. */
const publish = (service: Service, events: ReadonlyArray<LoadEvent>, key: string) =>
  callService<Answer>(
    service,
    "/operator/events",
    (text) =>
      Option.map(readPublished(text), ({ events }) => {
        return { _tag: "Accepted", deliveries: events.reduce((sum, { deliveries }) => sum + deliveries, 0), events }
      }),
    { key, body: `[${events.map(toWire).join(",")}]` }
  )

const readDeliveries = Schema.decodeOption(
  Schema.fromJsonString(Schema.Struct({ deliveries: Schema.Array(Schema.Unknown) }))
)

/**
 * Checks that the service answers and accepts the key, without publishing anything. Detects servers that answer 200 to
 * everything.
 */
const greet = (service: Service) =>
  callService<Answer>(service, "/operator/deliveries?limit=1", (text) =>
    Option.some(
      Option.isSome(readDeliveries(text))
        ? { _tag: "Accepted", deliveries: 0, events: [] }
        : { _tag: "Refused", status: 200, why: "the answer is not from a doorhook service" }
    )
  )

/** Returns a running service as the target of a run. */
export const serviceTarget = (service: Service): Target => ({
  name: service.url,
  ...(service.keyFrom === undefined ? {} : { keyFrom: service.keyFrom }),
  greet: greet(service),
  publish: (events, key) => publish(service, events, key)
})
