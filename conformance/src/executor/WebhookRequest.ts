/**
 * The request that carries an attempt: the headers that doorhook sends, no more and no fewer.
 */
import type { Crypto } from "@doorhook/core"
import { Signature } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { HttpRequest } from "./Connection.ts"

/** The name under which receivers see doorhook: some of them ask for it. */
export const userAgent = "doorhook/0.1"

export interface Stamped {
  readonly webhook_id: string
  readonly body: string
  readonly attempt: number
  /** When it was signed, in milliseconds since the epoch. */
  readonly signed_at: number
}

/** Writes and, where a secret is given, signs a request. */
export const make = Effect.fnUntraced(function* (
  stamped: Stamped,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<HttpRequest, never, Crypto> {
  const { attempt, body, signed_at, webhook_id } = stamped
  const timestamp = Math.floor(signed_at / 1_000)
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": userAgent,
    [Signature.headerNames.id]: webhook_id,
    [Signature.headerNames.timestamp]: String(timestamp),
    [Signature.headerNames.attempt]: String(attempt)
  }
  if (secret !== null) {
    headers[Signature.headerNames.signature] = yield* Signature.sign([secret], { id: webhook_id, timestamp, body })
  }
  return { headers, body }
})
