/**
 * Clients that were registered with the service, as the operator sees them: never a secret, but in the answer in which it is
 * made.
 */
import { isConfidential, isoOf } from "@doorhook/core"
import type { ClientWithSecret, RegisteredClient } from "@doorhook/core"
import { Redacted, Schema } from "effect"

export const ClientDocument = Schema.Struct({
  /** The `client_id`. */
  id: Schema.String,
  /** What users are shown when they log in. */
  name: Schema.String,
  redirect_uris: Schema.Array(Schema.String),
  /** Whether it has a secret; else it must use PKCE. */
  confidential: Schema.Boolean,
  /** The secrets that are good or were, the newest first, by when they end; null is never. */
  secrets: Schema.Array(Schema.Struct({ expires_at: Schema.NullOr(Schema.String) })),
  created_at: Schema.String
})
export type ClientDocument = typeof ClientDocument.Type

/** A client with the secret that was just made for it; null when it is public. */
export const ClientWithSecretDocument = Schema.Struct({
  client: ClientDocument,
  client_secret: Schema.NullOr(Schema.String)
})
export type ClientWithSecretDocument = typeof ClientWithSecretDocument.Type

export const clientDocument = (client: RegisteredClient): ClientDocument => ({
  id: client.id,
  name: client.name,
  redirect_uris: client.redirect_uris,
  confidential: isConfidential(client),
  secrets: client.secrets.map(({ expires_at }) => ({ expires_at: expires_at === null ? null : isoOf(expires_at) })),
  created_at: isoOf(client.created_at)
})

export const clientWithSecretDocument = ({ client, secret }: ClientWithSecret): ClientWithSecretDocument => ({
  client: clientDocument(client),
  client_secret: secret === null ? null : Redacted.value(secret)
})
