/**
 * The one way in which storage fails: it could not be reached or refused to work. Nothing was changed, unless the
 * connection broke before the answer came.
 */
import { Formatter, Predicate, Schema } from "effect"

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect(),
  /** Given when the answer was lost: the operation may have been carried out all the same. */
  outcome: Schema.optionalKey(Schema.Literal("unknown"))
}) {
  override get message(): string {
    if (this.outcome === "unknown") {
      return `The database's answer to ${this.operation} was lost: ${rootMessage(this.cause)}. It may have been carried out or not; look before you try again.`
    }
    return `The database did not carry out ${this.operation}: ${rootMessage(this.cause)}. Nothing was changed; check that it is reachable, writable and has space, then try again.`
  }
}

/** What the innermost of an error's causes says: the database's own words. */
export const rootMessage = (error: unknown): string => {
  let root = error
  for (let depth = 0; depth < 10 && Predicate.hasProperty(root, "cause") && root.cause !== undefined; depth++) {
    root = root.cause
  }
  if (Predicate.isError(root)) return root.message
  return Predicate.isString(root) ? root : Formatter.format(root)
}
