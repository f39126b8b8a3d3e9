/**
 * An OAuth client (RFC 6749 section 2), as the host's directory describes it.
 */
import type { Redacted } from "effect"
import { Schema } from "effect"
import { ClientId } from "./Ids.ts"

/** The redirect URI that means «show the code on a page» (document section 5). */
export const outOfBandUri = "urn:ietf:wg:oauth:2.0:oob"

export const Client = Schema.Struct({
  id: ClientId,
  /** Shown to the user who is asked to log in. */
  name: Schema.NonEmptyString,
  /** A client without a secret is public (RFC 6749 section 2.1) and must use PKCE. */
  secret: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  redirect_uris: Schema.Array(Schema.NonEmptyString)
})
export type Client = typeof Client.Type

/** Whether the client has a secret to authenticate with (RFC 6749 section 2.1). */
export const isConfidential = (client: Client): client is Client & { readonly secret: Redacted.Redacted<string> } =>
  client.secret !== undefined
