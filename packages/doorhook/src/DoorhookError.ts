/**
 * What a rejected promise of the facade carries: an `Error` with a `code` to branch on and a message that says what to do.
 */
import { Cause, Predicate } from "effect"

export class DoorhookError extends Error {
  /** What kind of failure it is, like `invalid_publish`, `not_found` or `store_error`: all are in the reference of error codes. */
  readonly code: string

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause })
    this.name = "DoorhookError"
    this.code = code
  }
}

/** A call to a doorhook that was closed. */
export const closedError = (): DoorhookError =>
  new DoorhookError("closed", "This doorhook was closed. Create another to go on.", undefined)

/** Errors that the operator API knows by other names than by those of their classes. */
const codes = new Map([
  ["KeyReused", "idempotency_key_reused"],
  ["KeyInUse", "idempotency_key_in_use"],
  ["PublisherClosed", "closed"]
])

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()

/** The error that says what a failed effect failed with. */
export const fromCause = (cause: Cause.Cause<unknown>): DoorhookError => {
  if (Cause.hasInterruptsOnly(cause)) return closedError()
  const error = Cause.squash(cause)
  const tag = Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) ? error._tag : "Unexpected"
  const message = Predicate.isError(error) ? error.message : String(error)
  return new DoorhookError(codes.get(tag) ?? snakeCase(tag), message, error)
}
