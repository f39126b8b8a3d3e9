/**
 * The one way in which storage fails: it could not be reached or refused to work. Nothing was changed.
 */
import { Schema } from "effect"

export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** The store operation that failed, like `DeliveryStore.settle`. */
  operation: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The database did not carry out ${this.operation}. Nothing was changed; check that it is reachable and has space, then try again.`
  }
}
