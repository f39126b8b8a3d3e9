/**
 * The one way in which storage fails: it could not be reached or refused to work. Nothing was changed, unless the database
 * carried it out and the answer was lost on the way.
 */
import { Schema } from "effect"

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The database did not confirm ${this.operation}. Check that it is reachable and has space, then try again.`
  }
}
