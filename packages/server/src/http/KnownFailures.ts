/**
 * Which failure each error of the services is answered with: the one table of statuses and codes.
 */
import type {
  ClientExists,
  ClientIsPublic,
  DeliveryNotFound,
  DirectoryError,
  DocumentMismatch,
  IntegrationNotFound,
  InvalidClient,
  InvalidIdempotencyKey,
  InvalidIntegration,
  InvalidSwitches,
  KeyInUse,
  KeyReused,
  LimitReached,
  NotDeliverable,
  NotProbed,
  PublisherBusy,
  PublisherClosed,
  ScopeNotFound,
  StoreError,
  UnknownClient,
  UnknownIntegration,
  VersionConflict
} from "@doorhook/core"
import { Array, Cause, Effect, Option } from "effect"
import { logFailure, unavailableDetail } from "./FailureLog.ts"
import type { BodyTooLarge, BodyUnreadable } from "./RequestBody.ts"
import { failure, RequestFailure } from "./RequestFailure.ts"

/** What handlers may fail with. */
export type KnownError =
  | RequestFailure
  | BodyTooLarge
  | BodyUnreadable
  | StoreError
  | DirectoryError
  | ScopeNotFound
  | IntegrationNotFound
  | DocumentMismatch
  | InvalidIntegration
  | VersionConflict
  | DeliveryNotFound
  | UnknownIntegration
  | NotDeliverable
  | NotProbed
  | InvalidSwitches
  | InvalidIdempotencyKey
  | KeyReused
  | KeyInUse
  | LimitReached
  | PublisherBusy
  | PublisherClosed
  | InvalidClient
  | ClientExists
  | ClientIsPublic
  | UnknownClient

const mismatches = {
  wrong_type: [409, "conflict", "Wrong type", "/data/type"],
  wrong_id: [409, "conflict", "Wrong id", "/data/id"],
  client_made_id: [403, "client_id_forbidden", "Client-made id", "/data/id"]
} as const

/** Nothing under that address, or nothing that the caller may see. */
export const notFound = (detail: string): RequestFailure =>
  failure(404, { code: "not_found", title: "Not found", detail })

/** What an address answers that nobody serves. */
export const nothingHere = notFound("Nothing is served at this address.")

/** A defect: what it was is in the log, under the request's id. */
export const internalError = failure(500, {
  code: "internal_error",
  title: "Internal error",
  detail: "Something went wrong inside the service. Nothing is wrong with the request; its id is in the service's log."
})

const unavailable = (error: StoreError | DirectoryError): RequestFailure => {
  // A wrong answer of the directory stays wrong.
  const isLasting = error._tag === "DirectoryError" && error.flaw !== undefined
  return failure(
    503,
    {
      code: "unavailable",
      title: isLasting ? "Unavailable" : "Temporarily unavailable",
      detail: unavailableDetail(error)
    },
    isLasting ? {} : { "retry-after": "1" }
  )
}

const keySource = { header: "Idempotency-Key" }

/** A document that can be read and not be carried out: each problem, with where in the document it is. */
export const unprocessable = (
  title: string,
  problems: ReadonlyArray<{ readonly pointer: string; readonly detail: string }>
): RequestFailure => {
  const errors = problems.map(({ detail, pointer }) => ({
    code: "invalid",
    title,
    detail: pointer === "" ? `${detail}.` : `${pointer} ${detail}.`,
    source: { pointer }
  }))
  return Array.isReadonlyArrayNonEmpty(errors)
    ? new RequestFailure({ status: 422, errors, headers: {} })
    : internalError
}

/** The failure that an error is answered with. */
const toRequestFailure = (error: KnownError): RequestFailure => {
  const detail = error.message
  switch (error._tag) {
    case "RequestFailure":
      return error
    case "BodyTooLarge":
      return failure(413, { code: "payload_too_large", title: "Body too large", detail })
    case "BodyUnreadable":
      return error.why === "too_slow"
        ? failure(408, { code: "request_timeout", title: "Body too slow", detail }, { connection: "close" })
        : failure(400, { code: "bad_request", title: "Unreadable body", detail })
    case "StoreError":
    case "DirectoryError":
      return unavailable(error)
    case "PublisherBusy":
      return failure(503, { code: "publisher_busy", title: "Too busy", detail }, { "retry-after": "5" })
    case "PublisherClosed":
      return failure(503, { code: "unavailable", title: "Temporarily unavailable", detail }, { "retry-after": "1" })
    case "ScopeNotFound":
    case "IntegrationNotFound":
    case "DeliveryNotFound":
    case "UnknownIntegration":
    case "UnknownClient":
      return notFound(detail)
    case "DocumentMismatch": {
      const [status, code, title, pointer] = mismatches[error.reason]
      return failure(status, { code, title, detail, source: { pointer } })
    }
    case "InvalidIntegration": {
      const errors = error.problems.map(({ pointer, ...problem }) => ({ ...problem, source: { pointer } }))
      return Array.isReadonlyArrayNonEmpty(errors)
        ? new RequestFailure({ status: 422, errors, headers: {} })
        : internalError
    }
    case "VersionConflict":
      return failure(412, {
        code: "precondition_failed",
        title: "Changed meanwhile",
        detail,
        source: { header: "If-Match" }
      })
    case "LimitReached":
      return failure(409, { code: "limit_reached", title: "Limit reached", detail })
    case "NotDeliverable":
      return failure(409, { code: error.why, title: "Not deliverable", detail })
    case "NotProbed":
      return failure(409, { code: error.why, title: "Not probed", detail })
    case "InvalidClient":
      return unprocessable("Invalid client", error.problems)
    case "ClientExists":
      return failure(409, { code: "client_exists", title: "Client exists", detail })
    case "ClientIsPublic":
      return failure(409, { code: "client_is_public", title: "Client has no secret", detail })
    case "InvalidSwitches":
      return unprocessable("Invalid change", error.problems)
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

/** The interruption in a cause that is nothing else, when a client has gone; null for other causes. */
const interruptionOf = (cause: Cause.Cause<unknown>): Cause.Cause<never> | null =>
  Cause.hasInterruptsOnly(cause) ? Cause.fromReasons<never>(cause.reasons.filter(Cause.isInterruptReason)) : null

/** The failure to answer with, whatever a handler ended with. */
const toAnswer = Effect.fnUntraced(function* (cause: Cause.Cause<KnownError>) {
  const interruption = interruptionOf(cause)
  if (interruption !== null) return yield* Effect.failCause(interruption)
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  const answer = error === null ? internalError : toRequestFailure(error)
  if (answer.status >= 500) yield* logFailure(error, cause)
  return yield* answer
})

/** Turns whatever a handler can end with into a failure to answer with, and logs what is not the caller's doing. */
export const recover = <A, R>(handler: Effect.Effect<A, KnownError, R>): Effect.Effect<A, RequestFailure, R> =>
  Effect.catchCause(handler, toAnswer)
