/**
 * The error with which the facade's promises reject: a `code` to branch on, and a message that says what to do.
 */
import { isStoreLost } from "@doorhook/core"
import { Cause, Predicate } from "effect"

/**
 * Error codes that only the facade uses, each with its meaning and HTTP status. All other codes come from the operator API.
 */
export const facadeCodes: Readonly<Record<string, { readonly status: number; readonly meaning: string }>> = {
  bad_request: { status: 400, meaning: "an invalid argument; the message names it" },
  invalid_idempotency_key: { status: 400, meaning: "an invalid `idempotencyKey`" },
  misdirected: { status: 421, meaning: "another database serves the buildings that the message names: publish there" },
  idempotency_key_reused: { status: 422, meaning: "the `idempotencyKey` was already used for other events" },
  invalid_publish: { status: 422, meaning: "events that can't be published; the message names every problem" },
  body_consumed: {
    status: 500,
    meaning: "a body parser in front of `doorhook.node` consumed the body and did not keep it"
  },
  invalid_config: { status: 500, meaning: "invalid options; the message names all of them" },
  not_doorhook: { status: 502, meaning: "the server that answered is not a doorhook of this version" },
  closed: { status: 503, meaning: "a call after `close`" },
  database_unusable: { status: 503, meaning: "the database can't be opened, or is not doorhook's" },
  publisher_busy: {
    status: 503,
    meaning: "too many events were waiting to be stored, and the call timed out after 5 s: publish them again later"
  },
  too_busy: { status: 503, meaning: "too many passwords are waiting to be checked" },
  directory_error: { status: 503, meaning: "the directory failed or did not answer in time" },
  being_moved: {
    status: 503,
    meaning: "the buildings that the message names are being moved to another database: publish again later"
  },
  store_error: { status: 503, meaning: "the database did not carry out the call, or its answer was lost" },
  store_lost: {
    status: 503,
    meaning:
      "the database file was removed or replaced while it was open: call `close`, then `createDoorhook` again; or its log can't be read back after a failed sync: restart the process"
  }
}

/** Why a call failed: a `code` to branch on, and a message that says what to do. */
export class DoorhookError extends Error {
  /**
   * The kind of failure, like `invalid_publish`, `not_found` or `store_error`. All codes are in the error code
   * reference.
   */
  readonly code: string
  /** The HTTP status for this error. Express and other frameworks respond with it when they get the error. */
  readonly status: number

  constructor(code: string, message: string, cause?: unknown, status = facadeCodes[code]?.status ?? 500) {
    super(message, cause === undefined ? {} : { cause })
    this.name = "DoorhookError"
    this.code = code
    this.status = status
  }
}

/** Returns the error of a call to a closed doorhook. */
export const closedError = (): DoorhookError =>
  new DoorhookError("closed", "This doorhook was closed. Create another one with createDoorhook.")

/** Codes of errors that are not derived from the name of the error's class. */
const codes = new Map([
  // In this process, only publications are parsed, so invalid input is an invalid publication.
  ["InvalidInput", "invalid_publish"],
  ["KeyReused", "idempotency_key_reused"],
  ["PublisherClosed", "closed"]
])

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()

/** Converts the cause of a failed effect to the error for the caller. */
export const fromCause = (cause: Cause.Cause<unknown>): DoorhookError => {
  if (Cause.hasInterruptsOnly(cause)) return closedError()
  const error = Cause.squash(cause)
  if (isStoreLost(error)) return new DoorhookError("store_lost", Predicate.isError(error) ? error.message : "", error)
  const tag = Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) ? error._tag : "Unexpected"
  const message = Predicate.isError(error) ? error.message : String(error)
  return new DoorhookError(codes.get(tag) ?? snakeCase(tag), message, error)
}
