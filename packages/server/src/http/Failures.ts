/**
 * Failed requests: the response for each typed error, and log entries for failures that are not the caller's fault.
 */
import type {
  ClientExists,
  ClientIsPublic,
  DeliveryNotFound,
  DirectoryError,
  DocumentMismatch,
  EventNotFound,
  IntegrationNotFound,
  InvalidIdempotencyKey,
  InvalidInput,
  KeyInUse,
  KeyReused,
  LimitReached,
  NotDeliverable,
  NotProbed,
  NotServed,
  NotYourIntegration,
  OAuthError,
  Problem,
  PublisherBusy,
  PublisherClosed,
  ScopeNotFound,
  StoreError,
  TooManyAttempts,
  TooManyIntegrations,
  TooManyDocuments,
  TooManyTokens,
  UnknownClient,
  VersionConflict
} from "@doorhook/core"
import { counted, english, failureText, say, Sentence } from "@doorhook/core"
import { Array, Cause, Effect, Option, Predicate, Schema } from "effect"

/** The wrong part of a request: a value in the body, a query parameter, or a header. */
const ErrorSource = Schema.Struct({
  /** JSON Pointer (RFC 6901) to a value in the request. */
  pointer: Schema.optionalKey(Schema.String),
  parameter: Schema.optionalKey(Schema.String),
  header: Schema.optionalKey(Schema.String)
})

/** A sentence from core or from the page texts. */
const PageSentence = Schema.Struct({ ...Sentence.fields, key: Schema.String })
export type PageSentence = typeof PageSentence.Type

/** A problem as it appears in an error answer. */
const ErrorObject = Schema.Struct({
  /** A code for programs. */
  code: Schema.String,
  /** A summary, always the same for this code. */
  title: Schema.String,
  /** What is wrong in this request, and what is accepted. */
  detail: Schema.String,
  source: Schema.optionalKey(ErrorSource)
})

/** A problem. Pages show `said` in their language; other answers contain `detail`, in English. */
const ErrorDetail = Schema.Struct({ ...ErrorObject.fields, said: Schema.optionalKey(PageSentence) })
export type ErrorDetail = typeof ErrorDetail.Type

/** The body of every error answer. */
export const ErrorDocument = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({
      /** The request id, as in the `x-request-id` header. */
      id: Schema.String,
      /** The HTTP status, as text. */
      status: Schema.String,
      ...ErrorObject.fields
    })
  )
}).annotate({ identifier: "Errors" })

/** The failure of a request that was wrong or could not be carried out. The request changed nothing. */
export class RequestFailure extends Schema.TaggedError<RequestFailure>()("RequestFailure", {
  status: Schema.Int,
  errors: Schema.NonEmptyArray(ErrorDetail),
  /** Headers that the status requires, like `allow`. */
  headers: Schema.Record(Schema.String, Schema.String)
}) {
  override get message(): string {
    return this.errors.map(({ detail }) => detail).join(" ")
  }
}

/** Makes a failure with one problem. */
export const failure = (
  status: number,
  detail: ErrorDetail,
  headers: Readonly<Record<string, string>> = {}
): RequestFailure => new RequestFailure({ status, errors: [detail], headers })

/** Makes a failure with one problem, which pages show in their language. */
const sayFailure = (
  status: number,
  { code, title }: Pick<ErrorDetail, "code" | "title">,
  said: Sentence,
  headers?: Readonly<Record<string, string>>
): RequestFailure => failure(status, { code, title, detail: english(said), said }, headers)

/** Makes a problem with a query parameter. */
export const parameterProblem = (parameter: string, detail: string): ErrorDetail => ({
  code: "invalid_parameter",
  title: "Invalid query parameter",
  detail,
  source: { parameter }
})

/** Makes a failure with one problem, which concerns a query parameter. */
export const parameterFailure = (parameter: string, detail: string): RequestFailure =>
  failure(400, parameterProblem(parameter, detail))

/** Formats a failure as an error document (JSON:API 1.1 section 11), with the request id. */
export const failureBody = (id: string, { errors, status }: RequestFailure): string => {
  const document: typeof ErrorDocument.Type = {
    errors: errors.map(({ said: _said, ...error }) => ({ id, status: String(status), ...error }))
  }
  return JSON.stringify(document)
}

/** The body is longer than the endpoint accepts: 413 (RFC 9110 section 15.5.14). */
export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {
  /** The limit, in bytes. */
  limit: Schema.Int
}) {
  get said(): Sentence {
    return say("error_body_too_large", { limit: this.limit / 1024 })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** The body was cut off or is not UTF-8 (400), took too long (408), or is compressed (415). */
export class BodyUnreadable extends Schema.TaggedError<BodyUnreadable>()("BodyUnreadable", {
  why: Schema.Literals(["broken_off", "encoded", "not_utf8", "too_slow"])
}) {
  get said(): Sentence {
    return say(`error_body_${this.why}`)
  }

  override get message(): string {
    return english(this.said)
  }
}

export type BodyError = BodyTooLarge | BodyUnreadable

/** The errors that handlers can fail with. */
export type KnownError =
  | RequestFailure
  | OAuthError
  | TooManyAttempts
  | TooManyDocuments
  | TooManyTokens
  | BodyTooLarge
  | BodyUnreadable
  | StoreError
  | DirectoryError
  | ScopeNotFound
  | EventNotFound
  | IntegrationNotFound
  | DocumentMismatch
  | InvalidInput
  | VersionConflict
  | NotYourIntegration
  | DeliveryNotFound
  | NotDeliverable
  | NotProbed
  | TooManyIntegrations
  | InvalidIdempotencyKey
  | KeyReused
  | KeyInUse
  | LimitReached
  | PublisherBusy
  | PublisherClosed
  | NotServed
  | ClientExists
  | ClientIsPublic
  | UnknownClient

const mismatches = {
  wrong_type: [409, "conflict", "Wrong type", "/data/type"],
  wrong_id: [409, "conflict", "Wrong id", "/data/id"],
  client_made_id: [403, "client_id_forbidden", "Client-made id", "/data/id"]
} as const

/** Makes the failure for an address that does not exist, or that the caller may not see. */
export const notFound = (detail: string): RequestFailure =>
  failure(404, { code: "not_found", title: "Not found", detail })

/** The failure for an address without a route. */
export const nothingHere = sayFailure(404, { code: "not_found", title: "Not found" }, say("error_nothing_here"))

/** Makes the failure for a method that the address does not support (RFC 9110 section 15.5.6). */
export const notAllowed = (allow: string): RequestFailure =>
  sayFailure(405, { code: "method_not_allowed", title: "Method not allowed" }, say("error_method", { allow }), {
    allow
  })

/** The failure for a defect. The log has the cause, with the request's id. */
export const internalError = sayFailure(500, { code: "internal_error", title: "Internal error" }, say("error_internal"))

/** The failure of a request that was interrupted because the service stopped. */
export const stopped = sayFailure(503, { code: "unavailable", title: "Temporarily unavailable" }, say("error_stopped"))

/** Chooses the sentence for the caller. The database's or the host's own messages go only to the log. */
const unavailableSaid = (error: StoreError | DirectoryError): Sentence => {
  if (error._tag === "DirectoryError") {
    return say(error.flaw === undefined ? "error_directory_unavailable" : "error_directory")
  }
  if (error.outcome === "unknown") return say("error_answer_lost")
  if (error.outcome === "begun") return say("error_carried_out_in_part")
  if (error.advice !== undefined) return say("error_unreadable")
  if (error.reason === "disk_full" || error.reason === "read_only") return say(`error_${error.reason}`)
  return say("error_storage")
}

const unavailable = (error: StoreError | DirectoryError): RequestFailure => {
  // Trying again does not help if the directory's answer is invalid.
  const isLasting = error._tag === "DirectoryError" && error.flaw !== undefined
  return sayFailure(
    503,
    { code: "unavailable", title: isLasting ? "Unavailable" : "Temporarily unavailable" },
    unavailableSaid(error),
    isLasting ? {} : { "retry-after": "1" }
  )
}

const keySource = { header: "Idempotency-Key" }

/**
 * Converts a problem with a document. Without a code, `detail` is a predicate like "must be a number", so the pointer
 * is added as its subject.
 */
const documentProblem = (kind: string, { code, detail, pointer, said, title = kind }: Problem): ErrorDetail => ({
  code: code ?? "invalid",
  title,
  detail: code === undefined ? `${pointer === "" ? "" : `${pointer} `}${detail}.` : detail,
  source: { pointer },
  ...(said !== undefined && { said })
})

const unreadable = ({ message: detail, why }: BodyUnreadable): RequestFailure => {
  if (why === "too_slow") {
    return failure(408, { code: "request_timeout", title: "Body too slow", detail }, { connection: "close" })
  }
  if (why !== "encoded") return failure(400, { code: "bad_request", title: "Unreadable body", detail })
  const source = { header: "Content-Encoding" }
  // Names the accepted codings (RFC 9110 section 15.5.16).
  const headers = { "accept-encoding": "identity" }
  return failure(415, { code: "unsupported_content_encoding", title: "Unsupported encoding", detail, source }, headers)
}

/** Converts an error to the failure for the response. */
const toRequestFailure = (error: KnownError): RequestFailure => {
  const refusal = refusalOf(error)
  const { errors, headers, status } = refusal
  return "said" in error
    ? new RequestFailure({ status, headers, errors: Array.map(errors, (one) => ({ ...one, said: error.said })) })
    : refusal
}

const refusalOf = (error: KnownError): RequestFailure => {
  const detail = error.message
  switch (error._tag) {
    case "RequestFailure":
      return error
    case "OAuthError":
      return failure(
        error.status,
        { code: error.error, title: "Refused", detail: error.error_description },
        // Only a 401 may have a challenge. With other statuses, a challenge would make clients ignore the error code.
        error.status === 401 ? { "www-authenticate": 'Basic realm="doorhook", charset="UTF-8"' } : {}
      )
    case "TooManyAttempts":
    case "TooManyDocuments":
    case "TooManyTokens":
      // The code is not `invalid_client`, because clients might then discard their credentials.
      return failure(
        429,
        { code: "temporarily_unavailable", title: "Too many requests", detail },
        { "retry-after": String(error.retry_after) }
      )
    case "BodyTooLarge":
      return failure(413, { code: "payload_too_large", title: "Body too large", detail })
    case "BodyUnreadable":
      return unreadable(error)
    case "StoreError":
    case "DirectoryError":
      return unavailable(error)
    case "PublisherBusy":
      return failure(503, { code: "publisher_busy", title: "Too busy", detail }, { "retry-after": "5" })
    case "PublisherClosed":
      return failure(503, { code: "unavailable", title: "Temporarily unavailable", detail }, { "retry-after": "1" })
    case "BeingMoved":
      return failure(503, { code: "being_moved", title: "Being moved", detail }, { "retry-after": "5" })
    case "Misdirected":
      return failure(421, { code: "misdirected", title: "Served elsewhere", detail })
    case "ScopeNotFound":
    case "IntegrationNotFound":
    case "EventNotFound":
    case "DeliveryNotFound":
    case "UnknownClient":
      return notFound(detail)
    case "DocumentMismatch": {
      const [status, code, title, pointer] = mismatches[error.reason]
      return failure(status, { code, title, detail, source: { pointer } })
    }
    case "InvalidInput": {
      const errors = Array.map(error.problems, (problem) => documentProblem(error.title, problem))
      return new RequestFailure({ status: 422, errors, headers: {} })
    }
    case "VersionConflict":
      return failure(412, {
        code: "precondition_failed",
        title: "Changed in the meantime",
        detail,
        source: { header: "If-Match" }
      })
    case "NotYourIntegration":
      return failure(403, { code: "not_your_integration", title: "Another client's integration", detail })
    case "LimitReached":
      return failure(409, { code: "limit_reached", title: "Limit reached", detail })
    case "NotDeliverable":
      return failure(409, { code: error.why, title: "Not deliverable", detail })
    case "TooManyIntegrations":
      return failure(400, { code: "too_many_integrations", title: "Too many integrations", detail })
    case "NotProbed":
      return failure(409, { code: error.why, title: "Not probed", detail })
    case "ClientExists":
      return failure(409, { code: "client_exists", title: "Client exists", detail })
    case "ClientIsPublic":
      return failure(409, { code: "client_is_public", title: "Client has no secret", detail })
    case "InvalidIdempotencyKey":
      return failure(400, { code: "invalid_idempotency_key", title: "Invalid key", detail, source: keySource })
    case "KeyReused":
      return failure(422, { code: "idempotency_key_reused", title: "Key used before", detail, source: keySource })
    case "KeyInUse":
      return failure(
        409,
        { code: "idempotency_key_in_use", title: "Key in use", detail, source: keySource },
        { "retry-after": "1" }
      )
  }
}

const what = "A request could not be carried out"

/** Logs why a request could not be carried out. */
export const logUnanswered = (why: string): Effect.Effect<void> => Effect.logError(`${what}. ${why}`)

/** The response to a failed request, and why it was refused; null if the caller is at fault. */
export interface Outcome {
  readonly refusal: RequestFailure
  /** The cause of a defect, or the sentence about a dependency that failed, which many requests may share. */
  readonly why: Cause.Cause<KnownError> | string | null
}

const quiet = new Set(["being_moved", "unread_answers"])

/** Returns the outcome of a failed handler. Details of a defect go only to the log. */
export const outcomeOf = (cause: Cause.Cause<KnownError>): Outcome => {
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  const refusal = error === null ? internalError : toRequestFailure(error)
  // Refusals of unread answers are counted, and a move is expected. Logging each one would let clients fill the log.
  if (refusal.status < 500 || quiet.has(refusal.errors[0].code)) return { refusal, why: null }
  return { refusal, why: error === null ? cause : failureText(error) }
}

/** Logs why a request was refused. */
export const logRefusal = (why: Cause.Cause<KnownError> | string): Effect.Effect<void> =>
  Predicate.isString(why) ? logUnanswered(why) : Effect.logError(what, why)

/** How often the number of further requests with the same failure is logged, in milliseconds. */
const countEvery = 5_000

/** Logs the first of equal failures at once and counts the others, so that an outage does not fill the log. */
export class FailureLog {
  readonly #fork: (effect: Effect.Effect<void>) => unknown
  readonly #others = new Map<string, number>()

  constructor(fork: (effect: Effect.Effect<void>) => unknown) {
    this.#fork = fork
  }

  /** Makes the log entry for a refused request. */
  entry(why: Cause.Cause<KnownError> | string): Effect.Effect<void> {
    if (!Predicate.isString(why)) return logRefusal(why)
    const others = this.#others.get(why)
    this.#others.set(why, others === undefined ? 0 : others + 1)
    if (others !== undefined) return Effect.void
    this.#fork(this.#logOthers(why))
    return logRefusal(why)
  }

  #logOthers(why: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* Effect.sleep(countEvery)
      const others = this.#others.get(why) ?? 0
      if (others === 0) return void this.#others.delete(why)
      this.#others.set(why, 0)
      yield* Effect.logError(`${counted(others, "more request")} failed within ${countEvery / 1_000} s. ${why}`)
      return yield* this.#logOthers(why)
    })
  }
}
