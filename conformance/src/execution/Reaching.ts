/**
 * What an exchange says of whether the receiver could be reached, and what to say where it can't be any more.
 */
import { Schema } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { Exchanged } from "../http/Wire.ts"

/** The receiver can't be tested: nothing can be said of it, good or bad. */
export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  /** What was tried, what came of it, what to do. */
  message: Schema.String,
  /** Whether it is the receiver's own doing, and a trace shows it: it was killed, and did not start again. */
  stayedDown: Schema.optionalKey(Schema.Boolean)
}) {}

/** Pauses before a receiver that can't be reached is tried again: a supervisor may be starting it. */
export const pauses = [250, 1_000]

/** The receiver never saw the request, so that this says nothing about how it handles events. */
export const isUnreached = (exchange: Exchange): boolean => exchange._tag === "Failed" && !exchange.connected

/** A server may close an idle connection at any time (RFC 9112 section 9.3.1): the request is sent again at once. */
export const isStale = ({ exchange, reused }: Exchanged): boolean =>
  reused && exchange._tag === "Failed" && exchange.outcome === "connection_reset"

/** An answer that a receiver with a limit of its own gives to one request too many (RFC 6585 section 4, RFC 9110 section 15.6.4). */
export const isCrowding = (exchange: Exchange): boolean =>
  exchange._tag === "Answered" && (exchange.status === 429 || exchange.status === 503)

/** What may help where no connection comes about. */
const adviceFor = ({ protocol }: URL, exchange: Exchange): string => {
  const outcome = exchange._tag === "Failed" ? exchange.outcome : null
  if (outcome === "dns") return "Has the name an address here? Correct --url, or the name's DNS entries."
  return outcome === "tls" && protocol === "https:"
    ? "Its certificate must be valid now, for the name in --url, and of an authority that Node.js knows: one of your own is made known by NODE_EXTRA_CA_CERTS=FILE."
    : "Is the receiver still running?"
}

export const unusable = (url: URL, exchange: Exchange): TargetUnusable => {
  const why = exchange._tag === "Failed" ? exchange.detail : ""
  const tries = pauses.length + 1
  return new TargetUnusable({
    message: `${url.origin} could not be connected to ${tries} times in a row (${why}). ${adviceFor(url, exchange)}`
  })
}
