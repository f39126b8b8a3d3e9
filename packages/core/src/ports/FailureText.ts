/**
 * The log text of a failure: one line, including the host's own error message.
 */
import { Predicate } from "effect"
import { rootMessage } from "./StoreError.ts"

/**
 * The log text of a failure. For a failed directory, it includes the innermost cause. The cause of an invalid answer is left
 * out, because it contains the answer.
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
