/**
 * The error of all storage operations: the store is unreachable, refused the operation, or contains unreadable data.
 * Nothing was changed, unless `outcome` says otherwise.
 */
import { Formatter, Predicate, Schema } from "effect"

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect(),
  /**
   * Present if something may have changed. With `unknown`, the answer was lost, and the operation may have been carried
   * out. With `begun`, the store carried out a part of the operation, and this part remains.
   */
  outcome: Schema.optionalKey(Schema.Literals(["unknown", "begun"])),
  /**
   * Advice for an error that repeating the operation can't fix, such as unreadable data. Without it, the message gives
   * general advice.
   */
  advice: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const said = rootMessage(this.cause).replace(/\.$/, "")
    if (this.outcome === "unknown") {
      return `The database's answer to ${this.operation} was lost: ${said}. The operation may or may not have been carried out. Check before you try again.`
    }
    const advice = this.advice ?? "check that the database is reachable and writable and has space, then try again."
    if (this.outcome === "begun") {
      return `The database carried out only a part of ${this.operation}: ${said}. That part remains, and a repeated call carries out the other part; ${advice}`
    }
    return `The database did not carry out ${this.operation}: ${said}. Nothing was changed; ${advice}`
  }
}

/** Returns the message of the innermost cause, in the database's own words. */
export const rootMessage = (error: unknown): string => {
  let root = error
  for (let depth = 0; depth < 10 && Predicate.hasProperty(root, "cause") && root.cause !== undefined; depth++) {
    root = root.cause
  }
  if (Predicate.isError(root)) return root.message
  return Predicate.isString(root) ? root : Formatter.format(root)
}
