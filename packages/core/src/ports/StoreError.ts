/**
 * The error of all storage operations: the store is unreachable, refused the operation, or contains unreadable data.
 * Nothing was changed, unless `outcome` says otherwise.
 */
import { Formatter, Predicate, Schema } from "effect"

/**
 * What a store failed for, by the code of the database's error. `unreachable` includes lost connections. `moved`: the rows
 * are being moved to another database, or have been.
 */
export const StoreReason = Schema.Literals([
  "disk_full",
  "read_only",
  "locked",
  "too_many_connections",
  "io_error",
  "damaged",
  "moved",
  "unreachable"
])
export type StoreReason = typeof StoreReason.Type

const remedies: Readonly<Record<StoreReason, string>> = {
  disk_full: "make room on the database's disk, then try again.",
  read_only: "connect to a database that accepts changes: this one is read-only, or a standby server.",
  locked: "end the program or session that holds the lock, then try again.",
  too_many_connections: "end connections to the server or raise its max_connections, then try again.",
  io_error: "check the database's disk, then try again.",
  damaged: "restore a backup of the database.",
  moved: "try again after the move, where the building is served then.",
  unreachable: "check that the database server runs and can be reached, then try again."
}

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect(),
  /** Absent if the code of the error does not show the reason. */
  reason: Schema.optionalKey(StoreReason),
  /**
   * Present if something may have changed. With `unknown`, the answer was lost, and the operation may have been carried
   * out. With `begun`, the store carried out a part of the operation, and this part remains.
   */
  outcome: Schema.optionalKey(Schema.Literals(["unknown", "begun"])),
  /**
   * Advice for an error that repeating the operation can't fix, such as unreadable data. Without it, the message gives
   * the advice for the reason, or general advice.
   */
  advice: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const said = rootMessage(this.cause).replace(/\.$/, "")
    if (this.outcome === "unknown") {
      return `The database's answer to ${this.operation} was lost: ${said}. The operation may or may not have been carried out. Check before you try again.`
    }
    const general = "check that the database is reachable and writable and has space, then try again."
    const advice = this.advice ?? (this.reason === undefined ? general : remedies[this.reason])
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
