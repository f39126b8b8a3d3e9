/**
 * A request of the suite, as it is sent and shown.
 */
import { Schema } from "effect"

export const HttpRequest = Schema.Struct({
  method: Schema.Literals(["POST", "GET", "HEAD", "OPTIONS"]),
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String,
  /** How the body's characters become bytes: `latin1` makes one of each, for bodies that are no UTF-8. */
  encoding: Schema.Literals(["utf8", "latin1"])
})
export type HttpRequest = typeof HttpRequest.Type
