/**
 * Describes failures for the log, in one line that includes the host's own error message.
 */
import { Predicate } from "effect"
import { rootMessage } from "./StoreError.ts"

/**
 * Returns the log text of a failure. If a call of the directory failed with an error, the text includes the error's
 * innermost cause. It omits the cause of an invalid answer, because that cause contains the answer.
 */
export const failureText = (error: {
  readonly _tag: string
  readonly message: string
  readonly cause?: unknown
}): string => {
  const saysWhy = Predicate.hasProperty(error, "flaw") || Predicate.hasProperty(error, "waited")
  const why = error._tag === "DirectoryError" && !saysWhy ? ` It said: ${rootMessage(error.cause)}` : ""
  return `${error.message}${why}`.replaceAll(/\s+/g, " ")
}
