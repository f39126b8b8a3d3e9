/**
 * The request that carries an attempt: the headers that receivers see, no more and no fewer. The sender and the
 * conformance suite both send this one.
 */
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Crypto } from "../ports/Crypto.ts"
import { headerNames, signWith } from "./Signature.ts"

/** The name under which receivers see doorhook: some of them ask for one. */
export const userAgent = "doorhook/0.1"

/** What distinguishes one attempt from all others. */
export interface AttemptIdentity {
  /** The event: the same at every attempt. */
  readonly id: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When it is signed, in milliseconds since the epoch. */
  readonly signedAt: number
  readonly body: string
}

/**
 * The headers of an attempt, signed with each of the secrets; without any, unsigned. An exit, without a fiber, in the cases
 * in which `signWith` returns one.
 */
export const headersOf = (
  crypto: Crypto["Service"],
  { attempt, body, id, signedAt }: AttemptIdentity,
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
  if (secrets.length === 0) return Effect.succeed(headers)
  return Effect.mapEager(signWith(crypto, secrets, { id, timestamp, body }), (signature) => {
    headers[headerNames.signature] = signature
    return headers
  })
}
