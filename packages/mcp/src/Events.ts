/**
 * The events extension (SEP-3415, `io.modelcontextprotocol/events`), on the feeds and the deliveries of the service.
 *
 * Built from the revision of the proposal in the protocol's repository (`seps/0000-events-extension.md` at 5eb68628). It
 * is defined for the revision 2026-07-28 of the protocol; clients of earlier ones may call its methods too. Comments cite
 * its sections.
 */
import type { EventSource, Feed, FeedCursor, FeedPage, Principal, Subscribed } from "@doorhook/core"
import {
  accessRevoked,
  BuildingId,
  Catalogue,
  eventNameOf,
  Feeds,
  formatCursor,
  isoOf,
  MaxDetail,
  mcpPath,
  occurrenceOf,
  parseCursor,
  ResourceTypes,
  schemaProblems,
  Signature,
  subscriptionErrors,
  Subscriptions,
  TenantId
} from "@doorhook/core"
import type { Answer, ApiEndpoint, EndReason, Exchange, KnownError, Pieces, StreamFormat } from "@doorhook/server"
import { inOneLine, internalError, logRefusal, outcomeOf, streamHeaders } from "@doorhook/server"
import { Cause, Effect, Option, Predicate, Redacted, Result, Schema } from "effect"

/** The name of the extension, and its settings: the list of events never changes. */
export const eventsExtension = { "io.modelcontextprotocol/events": {} }

/** The most events of one poll. */
const mostEvents = 100

/** How long clients wait between polls, in milliseconds. */
const nextPollMs = 10_000

const codes = { ...subscriptionErrors, HeaderMismatch: -32_020, InvalidParams: -32_602, Internal: -32_603 } as const

/** An error of a call. */
class CallFailed extends Schema.TaggedError<CallFailed>()("CallFailed", {
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}) {}

const failed = (name: keyof typeof codes, message: string, data?: Readonly<Record<string, unknown>>) =>
  new CallFailed({ code: codes[name], message, ...(data !== undefined && { data }) })

const invalid = (message: string): CallFailed => failed("InvalidParams", message)

/** The building or tenant whose events are meant. */
const Arguments = Schema.Union([Schema.Struct({ building: BuildingId }), Schema.Struct({ tenant: TenantId })], {
  mode: "oneOf"
})

const inputSchema = {
  type: "object",
  properties: {
    building: { type: "integer", minimum: 1, description: "The id of a building that the user administers." },
    tenant: { type: "integer", minimum: 1, description: "The id of a tenant that the user belongs to." }
  },
  oneOf: [{ required: ["building"] }, { required: ["tenant"] }],
  additionalProperties: false
}

const Cursor = Schema.optional(Schema.NullOr(Schema.String))
const Millis = Schema.optional(Schema.NullOr(Schema.Natural))

/** The event that a call names. */
const Named = Schema.Struct({ name: Schema.String, arguments: Schema.optional(Schema.Unknown) })

/** An event and where a client continues. */
const Continued = Schema.Struct({ ...Named.fields, cursor: Cursor, maxAgeMs: Millis })

const reading = { errors: "all" } as const
const readList = Schema.decodeUnknownResult(Schema.Struct({ cursor: Cursor }), reading)
const readPoll = Schema.decodeUnknownResult(
  Schema.Struct({
    ...Continued.fields,
    maxEvents: Schema.optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))
  }),
  reading
)
const readStream = Schema.decodeUnknownResult(Continued, reading)
const readSubscribe = Schema.decodeUnknownResult(
  Schema.Struct({
    ...Continued.fields,
    delivery: Schema.Struct({ mode: Schema.optional(Schema.String), url: Schema.String, secret: Schema.String }),
    ttlMs: Millis
  }),
  reading
)
const readUnsubscribe = Schema.decodeUnknownResult(
  Schema.Struct({ ...Named.fields, delivery: Schema.Struct({ url: Schema.String }) }),
  reading
)
const readArguments = Schema.decodeUnknownResult(Arguments, { onExcessProperty: "error" })

/** Length of a secret's key, in bytes (section "Webhook security", "Secret generation"). */
const secretBytes = { least: Signature.minSecretBytes, most: 64 } as const

const isSecret = (text: string): boolean =>
  Signature.isSecret(text) && (Signature.keyOf(Redacted.make(text))?.length ?? 0) <= secretBytes.most

/** Fails with all problems of the parameters of a call. */
const orInvalid = <A>(read: Result.Result<A, Schema.SchemaError>): Result.Result<A, CallFailed> =>
  Result.mapError(read, (error) =>
    invalid(
      schemaProblems(error)
        .map(({ detail, pointer }) => `${pointer === "" ? "params" : pointer}: ${detail}`)
        .join("; ")
    )
  )

type Id = string | number

const textOf = (id: Id, member: "result" | "error", value: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${member}":${value}}`

const headers = { "content-type": "application/json", "cache-control": "no-store" } as const

/** A call of a method, which returns the text of its result, or a stream. */
interface Call {
  readonly x: Exchange
  readonly id: Id
  readonly params: unknown
  readonly caller: Principal
}

type Outcome = Effect.Effect<string | Pieces, CallFailed | KnownError | SubscribeError>

type SubscribeError = Effect.Error<ReturnType<Subscriptions["Service"]["subscribe"]>>

const forbidden = failed(
  "Forbidden",
  "The user has no right to the events of this building or tenant, or it does not exist.",
  { reason: "no_right" }
)

/** Returns the error of a failed call. What is not the caller's fault goes to the log. */
const errorOf = (cause: Cause.Cause<CallFailed | KnownError | SubscribeError>): Effect.Effect<CallFailed> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  switch (error?._tag) {
    case "CallFailed":
      return Effect.succeed(error)
    case "ScopeNotFound":
      return Effect.succeed(forbidden)
    case "Misdirected":
      return Effect.succeed(failed("Forbidden", error.message, { reason: "misdirected" }))
    case "InvalidInput":
      return Effect.succeed(invalid(error.problems.map(({ detail }) => detail).join(" ")))
    case "LimitReached":
      return Effect.succeed(failed("ResourceExhausted", error.message, { limit: "subscriptions", max: error.limit }))
    case "TooManySubscriptions":
      return Effect.succeed(failed("ResourceExhausted", error.message, { limit: error.limit, max: error.max }))
    case "EndpointRefused":
      return Effect.succeed(failed("CallbackEndpointError", error.message, { reason: error.reason }))
    case "TransportBusy":
    case "TransportUnavailable":
      return Effect.as(
        Effect.logWarning(error.message),
        failed("Internal", "The receiver can't be verified now. Try again later.")
      )
  }
  const { refusal, why } = outcomeOf(Cause.map(cause, (one) => (isKnown(one) ? one : internalError)))
  const answer =
    refusal.errors[0].code === "too_many_streams"
      ? failed("ResourceExhausted", refusal.message, { limit: "streams" })
      : failed("Internal", refusal.message)
  return why === null ? Effect.succeed(answer) : Effect.as(logRefusal(why), answer)
}

const ownTags = ["CallFailed", "TooManySubscriptions", "EndpointRefused", "TransportBusy", "TransportUnavailable"]

const isKnown = (error: CallFailed | KnownError | SubscribeError): error is KnownError => !ownTags.includes(error._tag)

/** A call whose event, building or tenant, and cursor are known. */
interface Subject {
  readonly source: EventSource
  readonly feed: Feed
  readonly continuation: { readonly cursor: FeedCursor | null; readonly maxAge: number | undefined }
}

const servicesOf = Effect.gen(function* () {
  return {
    feeds: yield* Feeds,
    max: yield* MaxDetail,
    subscriptions: yield* Subscriptions,
    types: yield* ResourceTypes
  }
})

export class Events {
  readonly #api: ApiEndpoint
  readonly #of: Effect.Success<typeof servicesOf>
  readonly #names: ReadonlyMap<string, Pick<EventSource, "resource_type" | "action">>
  readonly #methods: ReadonlyMap<unknown, (call: Call) => Outcome> = new Map([
    ["events/list", (call) => this.#list(call)],
    ["events/poll", (call) => this.#poll(call)],
    ["events/stream", (call) => this.#stream(call)],
    ["events/subscribe", (call) => this.#subscribe(call)],
    ["events/unsubscribe", (call) => this.#unsubscribe(call)]
  ])
  #streams = 0

  private constructor(api: ApiEndpoint, services: Effect.Success<typeof servicesOf>) {
    this.#api = api
    this.#of = services
    this.#names = new Map(
      [...services.types].flatMap(([resource_type, { actions }]) =>
        actions.map((action) => [eventNameOf({ resource_type, action }), { resource_type, action }])
      )
    )
  }

  static readonly make = (api: ApiEndpoint) => Effect.map(servicesOf, (services) => new Events(api, services))

  /** Answers a message that calls one of the methods; null for others. */
  answer(x: Exchange, message: unknown, caller: Principal): Effect.Effect<Answer, KnownError> | null {
    if (!Predicate.isReadonlyObject(message)) return null
    const { id, method, params = {} } = message
    const run = this.#methods.get(method)
    if (run === undefined || !(Predicate.isString(id) || Predicate.isNumber(id))) return null
    const named = x.header("mcp-method")
    const call: Outcome =
      named === undefined || named === method
        ? run({ x, id, params, caller })
        : Effect.fail(failed("HeaderMismatch", "The header Mcp-Method differs from the method of the body."))
    return call.pipe(
      Effect.map((result): Answer =>
        Predicate.isString(result)
          ? { status: 200, headers, body: textOf(id, "result", result) }
          : { status: 200, headers: streamHeaders, body: result }
      ),
      Effect.catchCause((cause) =>
        Effect.map(errorOf(cause), (error): Answer => {
          const { code, data, message: text } = error
          const status = code === codes.HeaderMismatch ? 400 : 200
          return { status, headers, body: textOf(id, "error", JSON.stringify({ code, message: text, data })) }
        })
      )
    )
  }

  #list({ caller, params }: Call): Outcome {
    return Effect.gen({ self: this }, function* () {
      const { cursor = null } = yield* Effect.fromResult(orInvalid(readList(params)))
      if (cursor !== null) return yield* invalid("cursor: the list has one page.")
      const events = Catalogue.entriesOf(this.#of.types).flatMap(({ attributes, id }) => {
        const { actions, description, schema, title } = attributes
        const isFull = this.#of.max(caller.client_id, id) === "full"
        return actions.map((action) => ({
          name: eventNameOf({ resource_type: id, action }),
          description: description ?? title,
          delivery: ["poll", "push", "webhook"],
          inputSchema,
          // Reduced data has null or nothing where the schema may want a value.
          payloadSchema: isFull ? schema : { type: "object" }
        }))
      })
      return JSON.stringify({ resultType: "complete", events })
    })
  }

  #poll({ caller, params }: Call): Outcome {
    return Effect.gen({ self: this }, function* () {
      const given = yield* Effect.fromResult(orInvalid(readPoll(params)))
      const { continuation, feed, source } = yield* this.#subjectOf(given, caller)
      const { cursor, truncated } = yield* this.#of.subscriptions.locate(caller, source, continuation)
      const limit = Math.min(given.maxEvents ?? mostEvents, mostEvents)
      const page: FeedPage =
        continuation.cursor === null
          ? { items: [], cursor, more: false }
          : yield* this.#of.feeds.readAfter(caller, feed, cursor, { limit, types: [source.resource_type] })
      const events = page.items.flatMap(({ event }) => (event.action === source.action ? [occurrenceOf(event)] : []))
      const state = { cursor: formatCursor(feed, page.cursor), truncated, hasMore: page.more, nextPollMs }
      return `{"resultType":"complete","events":[${events.join(",")}],${JSON.stringify(state).slice(1)}`
    })
  }

  #stream({ caller, id, params, x }: Call): Outcome {
    return Effect.gen({ self: this }, function* () {
      const given = yield* Effect.fromResult(orInvalid(readStream(params)))
      const { continuation, feed, source } = yield* this.#subjectOf(given, caller)
      const { cursor, truncated } = yield* this.#of.subscriptions.locate(caller, source, continuation)
      return yield* this.#api.streams.open({
        caller,
        again: Effect.suspend(() => this.#api.identify(x, mcpPath)),
        feed,
        cursor,
        gap: null,
        wants: ({ action, resource_type }) => resource_type === source.resource_type && action === source.action,
        format: formatOf(`mcp ${++this.#streams}`, id, truncated, (at) => formatCursor(feed, at))
      })
    })
  }

  #subscribe({ caller, params }: Call): Outcome {
    return Effect.gen({ self: this }, function* () {
      const given = yield* Effect.fromResult(orInvalid(readSubscribe(params)))
      const { mode = "webhook", secret, url } = given.delivery
      if (mode !== "webhook") {
        return yield* failed("Unsupported", "events/subscribe is for webhooks; call events/poll or events/stream.", {
          feature: "deliveryMode",
          value: mode
        })
      }
      if (URL.parse(url)?.protocol !== "https:") return yield* invalid("/delivery/url: must be an https URL")
      if (!isSecret(secret)) {
        const { least, most } = secretBytes
        return yield* invalid(`/delivery/secret: must be whsec_ and the base64 of ${least} to ${most} bytes`)
      }
      const { continuation, source } = yield* this.#subjectOf(given, caller)
      const request = { ...source, ...continuation, url, secret: Redacted.make(secret), lifetime: given.ttlMs }
      const subscribed = yield* this.#of.subscriptions.subscribe(caller, request)
      return JSON.stringify(subscribedResult(subscribed))
    })
  }

  #unsubscribe({ caller, params }: Call): Outcome {
    return Effect.gen({ self: this }, function* () {
      const given = yield* Effect.fromResult(orInvalid(readUnsubscribe(params)))
      const source = yield* Effect.fromResult(this.#sourceOf(given))
      yield* this.#of.subscriptions
        .unsubscribe(caller, { ...source, url: given.delivery.url })
        .pipe(
          Effect.catchTag("SubscriptionNotFound", ({ message }) =>
            Effect.fail(failed("NotFound", message, { kind: "subscription" }))
          )
        )
      return JSON.stringify({ resultType: "complete" })
    })
  }

  #sourceOf(given: typeof Named.Type): Result.Result<EventSource, CallFailed> {
    const event = this.#names.get(given.name)
    if (event === undefined) {
      const message = `There is no event ${JSON.stringify(given.name)}. events/list has the names.`
      return Result.fail(failed("NotFound", message, { kind: "event" }))
    }
    return Result.match(readArguments(given.arguments), {
      onFailure: () =>
        Result.fail(invalid('/arguments: must be {"building": id} or {"tenant": id}, with a positive integer')),
      onSuccess: (place) =>
        Result.succeed({
          ...event,
          scope: "building" in place ? { type: "building", id: place.building } : { type: "tenant", id: place.tenant }
        })
    })
  }

  /** Reads which events are meant and after which cursor, and checks the user's right to them. */
  #subjectOf(given: typeof Continued.Type, caller: Principal): Effect.Effect<Subject, CallFailed | KnownError> {
    return Effect.gen({ self: this }, function* () {
      const source = yield* Effect.fromResult(this.#sourceOf(given))
      const feed = { scope: source.scope, integration: null }
      yield* this.#of.feeds.authorize(caller, feed)
      const { cursor = null, maxAgeMs } = given
      const read = cursor === null ? null : Option.getOrNull(parseCursor(feed, cursor))
      if (cursor !== null && read === null)
        return yield* invalid("/cursor: must be a cursor that this service returned for the same building or tenant")
      return { source, feed, continuation: { cursor: read, maxAge: maxAgeMs ?? undefined } }
    })
  }
}

/** Returns the result of `events/subscribe`. */
const subscribedResult = ({ cursor, expires_at, id, status, truncated }: Subscribed) => ({
  resultType: "complete",
  id,
  refreshBefore: isoOf(expires_at),
  cursor,
  truncated,
  ...(status !== null && {
    deliveryStatus: {
      active: status.active,
      lastDeliveryAt: status.last_delivery_at === null ? null : isoOf(status.last_delivery_at),
      lastError: status.last_error,
      ...(status.failing_since !== null && { failedSince: isoOf(status.failing_since) })
    }
  })
})

const accessLost: ReadonlySet<EndReason> = new Set(["token_revoked", "right_lost"])

/** Writes a stream as messages of the call that opened it (section "Push-Based Delivery"). */
const formatOf = (
  key: string,
  id: Id,
  truncated: boolean,
  cursorText: (cursor: FeedCursor) => string
): StreamFormat => {
  const _meta = { "io.modelcontextprotocol/subscriptionId": id }
  const frame = (text: string): string => `data: ${text}\n\n`
  const notification = (name: string, params: object): string =>
    frame(JSON.stringify({ jsonrpc: "2.0", method: `notifications/events/${name}`, params: { ...params, _meta } }))
  const result = frame(textOf(id, "result", JSON.stringify({ resultType: "complete", _meta })))
  return {
    key,
    begin: (cursor) => notification("active", { cursor: cursorText(cursor), truncated }),
    line: (cursor, { event }) => {
      const params = occurrenceOf(event, { cursor: cursorText(cursor), _meta })
      return frame(`{"jsonrpc":"2.0","method":"notifications/events/event","params":${inOneLine(params)}}`)
    },
    heartbeat: (cursor) => notification("heartbeat", { cursor: cursorText(cursor) }),
    end: (reason) => (accessLost.has(reason) ? notification("terminated", { error: accessRevoked }) : "") + result
  }
}
