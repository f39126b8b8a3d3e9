/**
 * The request that carries an attempt: exactly what doorhook sends.
 */
import type { Crypto } from "@doorhook/core"
import { DeliveryRequest } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { HttpRequest } from "./Connection.ts"

export interface Stamped {
  readonly webhook_id: string
  readonly body: string
  readonly attempt: number
  /** When it was signed, in milliseconds since the epoch. */
  readonly signed_at: number
}

/** Writes and, where a secret is given, signs a request. */
export const make = (
  { attempt, body, signed_at, webhook_id }: Stamped,
  secret: Redacted.Redacted<string> | null
): Effect.Effect<HttpRequest, never, Crypto> =>
  Effect.map(
    DeliveryRequest.headersOf({ id: webhook_id, attempt, signedAt: signed_at, body }, secret === null ? [] : [secret]),
    (headers) => ({ headers, body })
  )
