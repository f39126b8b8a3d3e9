/**
 * How a failure is told to the log of those who run the service: on one line, with what the host itself said.
 */
import { Predicate } from "effect"
import { rootMessage } from "./StoreError.ts"

/**
 * What to log of a failure. A directory that can't answer says why in the innermost of its causes. The cause of an answer that
 * is wrong is left out: it holds the answer.
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
