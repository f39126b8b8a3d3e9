/**
 * How failures that are not the caller's doing are told: to the caller, and in the log. What can be expected is one line
 * that says what happened; only a defect has a stack.
 */
import type { DirectoryError, StoreError } from "@doorhook/core"
import { failureText, rootMessage } from "@doorhook/core"
import { Cause, Effect } from "effect"
import { HttpServerError } from "effect/http"

/** What the caller is told. The words of the database or the host are for the log only. */
export const unavailableDetail = (error: StoreError | DirectoryError): string => {
  const outcome = error._tag === "StoreError" ? error.outcome : undefined
  if (outcome === "unknown")
    return "The answer of the storage was lost. The request may have been carried out or not: look before you try again."
  if (outcome === "begun")
    return "The storage carried out a part of the request, which stays. Try again in a moment: that does the rest."
  if (error._tag === "StoreError" && error.advice !== undefined)
    return "Something that is stored for this can't be read. Nothing was changed, and trying again does not help: the log of the service names it, and what to do."
  if (error._tag === "DirectoryError" && error.flaw !== undefined)
    return "The directory of users gave an answer that the service can't use. Nothing was changed, and trying again does not help: the log of the service says what is wrong with the answer."
  return "The service cannot reach its storage or the directory of users. Nothing was changed. Try again in a moment."
}

const what = "A request could not be carried out"

/** Logs why there was no answer of doorhook's own. */
export const logUnanswered = (why: string): Effect.Effect<void> => Effect.logError(`${what}. ${why}`)

/** Logs a failure; null is a defect, which the cause describes. */
export const logFailure = (
  error: { readonly _tag: string; readonly message: string; readonly cause?: unknown } | null,
  cause: Cause.Cause<unknown>
): Effect.Effect<void> => {
  if (error === null) {
    const defect = Cause.squash(cause)
    // Its own message repeats the address that was asked for, with the query, and it holds the request's headers.
    return HttpServerError.isHttpServerError(defect)
      ? logUnanswered(`${defect.reason._tag}: ${"cause" in defect ? rootMessage(defect.cause) : ""}`)
      : Effect.logError(what, cause)
  }
  return logUnanswered(failureText(error))
}
