/**
 * A run on virtual time could not go on: its store fails, or its engine does not start, and nothing in the simulation makes
 * them fail.
 */
import { rootMessage, StoreError } from "@doorhook/core"
import { Schema } from "effect"

export class VirtualStopped extends Schema.TaggedError<VirtualStopped>()("VirtualStopped", {
  /** What was tried, like `publish an event`. */
  tried: Schema.String,
  /** How often it was tried in a row. */
  tries: Schema.Int,
  /** The virtual moment, in milliseconds since the epoch. */
  at: Schema.Number,
  /** The last failure. */
  cause: Schema.Defect()
}) {
  override get message(): string {
    const often = this.tries === 1 ? "" : ` ${this.tries} times in a row`
    const said = this.cause instanceof StoreError ? this.cause.message : `${rootMessage(this.cause)}.`
    return `The run stopped at ${new Date(this.at).toISOString()} of its own time: it could not ${this.tried}${often}. ${said} Nothing that the run plays makes its store fail: mend what does, then run it again, in memory or with a new --database.`
  }
}
