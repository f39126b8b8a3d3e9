/**
 * The receiver can't be tested: nothing can be said of it, good or bad.
 */
import { Schema } from "effect"

export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  /** What was tried, what came of it, what to do. */
  message: Schema.String,
  /** Whether it is the receiver's own doing, and a trace shows it: it was killed, and did not start again. */
  stayedDown: Schema.optionalKey(Schema.Boolean)
}) {}
