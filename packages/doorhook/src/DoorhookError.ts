/**
 * The error that promises of the facade reject with: a `code` to branch on, and a message that says what to do.
 */
import { isStoreLost } from "@doorhook/core"
import { Cause, Predicate } from "effect"

/**
 * Error codes that only the facade uses, each with its meaning and HTTP status. All other codes come from the operator API.
 */
export const facadeCodes: Readonly<Record<string, { readonly status: number; readonly meaning: string }>> = {
  bad_request: { status: 400, meaning: "an argument that the call can't take; the message names it" },
  invalid_idempotency_key: { status: 400, meaning: "an `idempotencyKey` that can't be one" },
  idempotency_key_reused: { status: 422, meaning: "this `idempotencyKey` was used for other events" },
  invalid_publish: { status: 422, meaning: "events that can't be published, all problems named" },
  body_consumed: {
    status: 500,
    meaning: "a body parser in front of `doorhook.node` read the body and kept nothing of it"
  },
  invalid_config: { status: 500, meaning: "options that can't be used, all of them named" },
  not_doorhook: { status: 502, meaning: "the server that answered is not a doorhook of this version" },
  closed: { status: 503, meaning: "the call came after `close`" },
  database_unusable: { status: 503, meaning: "the database can't be opened, or is not doorhook's" },
  publisher_busy: {
    status: 503,
    meaning: "too many events wait to be stored, and the call waited 5 s: publish them again later"
  },
  too_busy: { status: 503, meaning: "too many passwords wait to be checked" },
  directory_error: { status: 503, meaning: "the directory failed or did not answer in time" },
  store_error: { status: 503, meaning: "the database did not carry out the call" },
  store_lost: {
    status: 503,
    meaning:
      "the database file was removed or replaced while it was open: nothing works before `close` and another `createDoorhook`; or its log can't be read back after a sync that failed: end the process and start it again"
  }
}

/** Why a call failed: a `code` to branch on, and a message that says what to do. */
export class DoorhookError extends Error {
  /** The kind of failure, like `invalid_publish`, `not_found` or `store_error`. The reference of error codes lists all. */
  readonly code: string
  /** The HTTP status for this error. Express and other frameworks use it when the error is passed to them. */
  readonly status: number

  constructor(code: string, message: string, cause?: unknown, status = facadeCodes[code]?.status ?? 500) {
    super(message, cause === undefined ? {} : { cause })
    this.name = "DoorhookError"
    this.code = code
    this.status = status
  }
}

/** A call to a closed doorhook. */
export const closedError = (): DoorhookError =>
  new DoorhookError("closed", "This doorhook was closed. Create another to go on.")

/** Errors whose code in the operator API is not derived from the name of their class. */
const codes = new Map([
  // Publications are the only input that is parsed within the process.
  ["InvalidInput", "invalid_publish"],
  ["KeyReused", "idempotency_key_reused"],
  ["PublisherClosed", "closed"]
])

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()

/** Converts the cause of a failed effect to the error that the caller gets. */
export const fromCause = (cause: Cause.Cause<unknown>): DoorhookError => {
  if (Cause.hasInterruptsOnly(cause)) return closedError()
  const error = Cause.squash(cause)
  if (isStoreLost(error)) return new DoorhookError("store_lost", Predicate.isError(error) ? error.message : "", error)
  const tag = Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) ? error._tag : "Unexpected"
  const message = Predicate.isError(error) ? error.message : String(error)
  return new DoorhookError(codes.get(tag) ?? snakeCase(tag), message, error)
}
