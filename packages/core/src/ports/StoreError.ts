/**
 * The one way in which storage fails: it could not be reached, refused to work, or holds what can't be read. Nothing was
 * changed, unless the connection broke before the answer came, or the operation is one that is carried out in parts.
 */
import { Formatter, Predicate, Schema } from "effect"

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect(),
  /**
   * Given when something may have changed. `unknown`: the answer was lost, and the operation may have been carried out all
   * the same. `begun`: a part of it was carried out, and stays.
   */
  outcome: Schema.optionalKey(Schema.Literals(["unknown", "begun"])),
  /** What to do where trying again does not help: something stored can't be read. Else it is said what mostly helps. */
  advice: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const said = rootMessage(this.cause).replace(/\.$/, "")
    if (this.outcome === "unknown") {
      return `The database's answer to ${this.operation} was lost: ${said}. It may have been carried out or not; look before you try again.`
    }
    const advice = this.advice ?? "check that it is reachable, writable and has space, then try again."
    if (this.outcome === "begun") {
      return `The database carried out a part of ${this.operation} only: ${said}. That part stays, and trying again does the rest; ${advice}`
    }
    return `The database did not carry out ${this.operation}: ${said}. Nothing was changed; ${advice}`
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
