/**
 * What a rejected promise of the facade carries: an `Error` with a `code` to branch on and a message that says what to do.
 */
import { isStoreLost } from "@doorhook/core"
import { Cause, Predicate } from "effect"

/**
 * The codes that the facade itself gives, each with its meaning and the HTTP status that fits it. All others come from the
 * operator API, with theirs.
 */
export const facadeCodes: Readonly<Record<string, { readonly status: number; readonly meaning: string }>> = {
  bad_request: { status: 400, meaning: "an argument that the call can't take; the message names it" },
  invalid_idempotency_key: { status: 400, meaning: "an `idempotencyKey` that can't be one" },
  idempotency_key_reused: { status: 422, meaning: "this `idempotencyKey` was used for other events" },
  invalid_publish: { status: 422, meaning: "events that can't be published, all problems named" },
  body_consumed: {
    status: 500,
    meaning: "something in front of `doorhook.node` read the body and kept nothing of it"
  },
  invalid_config: { status: 500, meaning: "options that can't be used, all of them named" },
  not_doorhook: { status: 502, meaning: "what answered is no doorhook of this version" },
  closed: { status: 503, meaning: "the call came after `close`" },
  database_unusable: { status: 503, meaning: "the database can't be opened, or is not doorhook's" },
  publisher_busy: {
    status: 503,
    meaning: "too many events wait to be stored, and the call has waited for 5 s: publish them again later"
  },
  too_busy: { status: 503, meaning: "as many passwords as may wait are waiting to be checked" },
  directory_error: { status: 503, meaning: "the directory failed or did not answer in time" },
  store_error: { status: 503, meaning: "the database did not carry out what was asked" },
  store_lost: {
    status: 503,
    meaning:
      "the database file was removed or replaced while it was open: nothing works before `close` and another `createDoorhook`; or its log can't be read back after a sync that failed: end the process and start it again"
  }
}

/** Why a call failed: a `code` to branch on, and a message that says what to do. */
export class DoorhookError extends Error {
  /** What kind of failure it is, like `invalid_publish`, `not_found` or `store_error`: all are in the reference of error codes. */
  readonly code: string
  /** The HTTP status that fits it, which Express and others answer with when the error is handed on to them. */
  readonly status: number

  constructor(code: string, message: string, cause?: unknown, status = facadeCodes[code]?.status ?? 500) {
    super(message, cause === undefined ? {} : { cause })
    this.name = "DoorhookError"
    this.code = code
    this.status = status
  }
}

/** A call to a doorhook that was closed. */
export const closedError = (): DoorhookError =>
  new DoorhookError("closed", "This doorhook was closed. Create another to go on.")

/** Errors that the operator API knows by other names than by those of their classes. */
const codes = new Map([
  // Within the process only publications are read.
  ["InvalidInput", "invalid_publish"],
  ["KeyReused", "idempotency_key_reused"],
  ["PublisherClosed", "closed"]
])

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()

/** The error that says what a failed effect failed with. */
export const fromCause = (cause: Cause.Cause<unknown>): DoorhookError => {
  if (Cause.hasInterruptsOnly(cause)) return closedError()
  const error = Cause.squash(cause)
  if (isStoreLost(error)) return new DoorhookError("store_lost", Predicate.isError(error) ? error.message : "", error)
  const tag = Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) ? error._tag : "Unexpected"
  const message = Predicate.isError(error) ? error.message : String(error)
  return new DoorhookError(codes.get(tag) ?? snakeCase(tag), message, error)
}
