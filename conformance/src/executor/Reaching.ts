/**
 * Sends a request so that it arrives, or finds out that the receiver is gone.
 */
import { Effect } from "effect"
import { patienceOf } from "../checks/Terms.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import type { Connection, Exchanged } from "./Connection.ts"
import type { Exchange } from "../observed/Exchange.ts"
import type { Setting } from "./Setting.ts"
import { TargetUnusable } from "./TargetUnusable.ts"

/** Pauses before a receiver that can't be reached is tried again: a supervisor may be starting it anew. */
const pauses = [250, 1_000]

/** The receiver never saw the request, so that this says nothing about how it handles events. */
const isUnreached = (exchange: Exchange): boolean => exchange._tag === "Failed" && !exchange.connected

/** A server may close an idle connection at any time (RFC 9112 section 9.3.1): the request is sent again at once. */
const isStale = ({ exchange, reused }: Exchanged): boolean =>
  reused && exchange._tag === "Failed" && exchange.outcome === "connection_reset"

/** What may help where no connection comes about. */
const adviceFor = ({ protocol }: URL, exchange: Exchange): string => {
  const outcome = exchange._tag === "Failed" ? exchange.outcome : null
  if (outcome === "dns") return "Has the name an address here? Correct --url, or the name's DNS entries."
  return outcome === "tls" && protocol === "https:"
    ? "Its certificate must be valid now, for the name in --url, and of an authority that Node.js knows: one of your own is made known by NODE_EXTRA_CA_CERTS=FILE."
    : "Is the receiver still running?"
}

const unusable = (url: URL, exchange: Exchange): TargetUnusable => {
  const why = exchange._tag === "Failed" ? exchange.detail : ""
  const tries = pauses.length + 1
  return new TargetUnusable({
    message: `${url.origin} could not be connected to ${tries} times in a row (${why}). ${adviceFor(url, exchange)}`
  })
}

/** Repeats what does not reach the receiver. Fails when it can't be reached any more. */
export const reaching = Effect.fnUntraced(function* (
  url: URL,
  send: Effect.Effect<Exchange>
): Effect.fn.Return<Exchange, TargetUnusable> {
  let exchange = yield* send
  for (const pause of pauses) {
    if (!isUnreached(exchange)) return exchange
    exchange = yield* Effect.andThen(Effect.sleep(pause), send)
  }
  return isUnreached(exchange) ? yield* unusable(url, exchange) : exchange
})

/** Sends a request over a connection, again if it could not arrive; or if the connection may have been closed already. */
export const deliver = Effect.fnUntraced(function* (
  connection: Connection,
  request: HttpRequest,
  { terms, url }: Setting,
  mayBeStale = true
): Effect.fn.Return<Exchanged, TargetUnusable> {
  const post = connection.post(request, patienceOf(terms))
  const first = yield* post
  let reused = first.reused
  let exchange = first.exchange
  if (mayBeStale && isStale(first)) {
    const second = yield* Effect.andThen(connection.renew, post)
    reused = second.reused
    exchange = second.exchange
  }
  if (!isUnreached(exchange)) return { exchange, reused }
  return {
    exchange: yield* reaching(
      url,
      Effect.map(Effect.andThen(connection.renew, post), (one) => one.exchange)
    ),
    reused
  }
})
