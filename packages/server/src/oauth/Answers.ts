/**
 * What OAuth endpoints answer with: JSON bodies that no cache keeps (RFC 6749 sections 5.1 and 5.2).
 */
import type { DirectoryError, OAuthError, StoreError, TooManyGuesses, TooManyTokens } from "@doorhook/core"
import { Cause, Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { logFailure, unavailableDetail } from "../http/FailureLog.ts"
import type { BodyTooLarge, BodyUnreadable } from "../http/RequestBody.ts"

/** Headers of every answer that may carry a code, a token, or what leads to one. */
export const confidential = {
  "cache-control": "no-store",
  pragma: "no-cache",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
} as const

type Headers = Readonly<Record<string, string>>

/** A JSON answer. */
export const json = (body: object, status = 200, headers: Headers = {}): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { ...confidential, ...headers } })

const error = (status: number, code: string, error_description: string, headers: Headers = {}) =>
  json({ error: code, error_description }, status, headers)

/** A failure that is no handler's, in the form of these endpoints. */
export const failure = (status: number, description: string): HttpServerResponse.HttpServerResponse =>
  error(status, status >= 500 ? "server_error" : "invalid_request", description)

/** The body is of a type that is not read here. */
export const unsupportedMediaType = error(
  415,
  "invalid_request",
  "The body must be multipart/form-data, application/x-www-form-urlencoded or application/json."
)

/** The method has no meaning here. */
export const methodNotAllowed = (allow: string): HttpServerResponse.HttpServerResponse =>
  error(405, "invalid_request", `This address takes ${allow} only.`, { allow })

/** What requests to these endpoints can fail with. */
export type Failure =
  | OAuthError
  | TooManyGuesses
  | TooManyTokens
  | BodyTooLarge
  | BodyUnreadable
  | StoreError
  | DirectoryError

/** Seconds after which to try again what storage or the directory did not answer. */
const retryAfter = { "retry-after": "1" } as const

/** How a failure is told: its status, and headers that go with it. */
export const statusOf = (failure: Failure): { readonly status: number; readonly headers: Headers } => {
  switch (failure._tag) {
    case "OAuthError":
      // A challenge on anything but a 401 would make clients drop the error code.
      return failure.status === 401
        ? { status: 401, headers: { "www-authenticate": 'Basic realm="doorhook", charset="UTF-8"' } }
        : { status: failure.status, headers: {} }
    case "TooManyGuesses":
    case "TooManyTokens":
      return { status: 429, headers: { "retry-after": String(failure.retry_after) } }
    case "BodyTooLarge":
      return { status: 413, headers: {} }
    case "BodyUnreadable":
      return failure.why === "too_slow"
        ? { status: 408, headers: { connection: "close" } }
        : { status: 400, headers: {} }
    case "StoreError":
    case "DirectoryError":
      return { status: 503, headers: retryAfter }
  }
}

/** A failure as OAuth clients read it. */
const toJson = (failure: Failure): HttpServerResponse.HttpServerResponse => {
  const { status, headers } = statusOf(failure)
  switch (failure._tag) {
    case "OAuthError":
      return error(status, failure.error, failure.error_description, headers)
    // Not invalid_client: a client that reads that may give its credentials up for good.
    case "TooManyGuesses":
    case "TooManyTokens":
      return error(status, "temporarily_unavailable", failure.message, headers)
    case "StoreError":
    case "DirectoryError":
      return error(status, "temporarily_unavailable", unavailableDetail(failure), headers)
    case "BodyTooLarge":
    case "BodyUnreadable":
      return error(status, "invalid_request", failure.message, headers)
  }
}

/**
 * Answers whatever a handler ends with, and logs what is not the caller's doing. A defect, for which there is no
 * failure to show, tells the caller nothing. An interruption, of a client that has gone, goes on.
 */
export const recoverWith =
  <R2>(answer: (failure: Failure | null) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, R2>) =>
  <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Failure, R>) =>
    Effect.catchCause(
      handler,
      Effect.fnUntraced(function* (cause) {
        const interruptions = cause.reasons.filter(Cause.isInterruptReason)
        if (interruptions.length === cause.reasons.length) {
          return yield* Effect.failCause(Cause.fromReasons<never>(interruptions))
        }
        const failure = Option.getOrNull(Cause.findErrorOption(cause))
        const response = yield* answer(failure)
        if (response.status >= 500) yield* logFailure(failure, cause)
        return response
      })
    )

/** Answers failures in JSON. */
export const recoverJson = recoverWith((failure) =>
  Effect.succeed(
    failure === null ? error(500, "server_error", "Something went wrong inside the service.") : toJson(failure)
  )
)
