/**
 * The HTTP request of an attempt, with all headers that receivers see. The sender and the conformance suite both use
 * it.
 */
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Crypto } from "../ports/Crypto.ts"
import { subscriptionHeader } from "../model/Subscription.ts"
import { headerNames, signWith } from "./Signature.ts"

/** The `user-agent` header, which some receivers require. */
export const userAgent = "doorhook/0.1"

/** The parts of an attempt that its headers depend on. */
export interface AttemptIdentity {
  /** The id of the event, the same in every attempt. */
  readonly id: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Time of the signature, in milliseconds since the epoch. */
  readonly signedAt: number
  /** End of the event's lifetime, in milliseconds since the epoch, the same in every attempt; null without a lifetime. */
  readonly expiresAt: number | null
  /**
   * Whether an operator, an owner, a recovery or a probe requested the attempt. A receiver stores such an event, but does
   * not act as if it had just happened.
   */
  readonly isReplay: boolean
  readonly body: string
  /** The handle of the subscription, if the integration is one. */
  readonly subscription?: string | undefined
}

/**
 * Returns the headers of an attempt, with one signature per secret. Without secrets, the request is unsigned. If
 * `signWith` returns an exit, so does this function, and no fiber is needed.
 */
export const headersOf = (
  crypto: Crypto["Service"],
  { attempt, body, expiresAt, id, isReplay, signedAt, subscription }: AttemptIdentity,
  secrets: ReadonlyArray<Redacted.Redacted<string>>
): Effect.Effect<Readonly<Record<string, string>>> => {
  const timestamp = Math.floor(signedAt / 1_000)
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": userAgent,
    [headerNames.id]: id,
    [headerNames.timestamp]: String(timestamp),
    [headerNames.attempt]: String(attempt)
  }
  if (expiresAt !== null) headers[headerNames.expiresAt] = String(Math.ceil(expiresAt / 1_000))
  if (isReplay) headers[headerNames.replay] = "1"
  if (subscription !== undefined) headers[subscriptionHeader] = subscription
  if (secrets.length === 0) return Effect.succeed(headers)
  return Effect.mapEager(signWith(crypto, secrets, { id, timestamp, body }), (signature) => {
    headers[headerNames.signature] = signature
    return headers
  })
}
