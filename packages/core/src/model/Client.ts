/**
 * An OAuth client (RFC 6749 section 2), either from the host's directory or registered with the service.
 */
import { Predicate, Schema } from "effect"
import { ClientId } from "./Ids.ts"
import { TokenHash } from "./Token.ts"

/** The redirect URI that shows the code on a page (interface document, section 5). */
export const outOfBandUri = "urn:ietf:wg:oauth:2.0:oob"

/** A secret of a registered client: its SHA-256, and its expiry in milliseconds since the epoch (null: never). */
export const ClientSecret = Schema.Struct({ hash: TokenHash, expires_at: Schema.NullOr(Schema.Int) })
export type ClientSecret = typeof ClientSecret.Type

const Text = Schema.optionalKey(Schema.String)

/** A public key (RFC 7517 section 4). Members with private parts are refused, because they don't belong here. */
export const PublicKey = Schema.Struct({
  kty: Schema.Literals(["RSA", "EC", "OKP"]),
  kid: Text,
  use: Text,
  alg: Text,
  n: Text,
  e: Text,
  crv: Text,
  x: Text,
  y: Text,
  d: Schema.optionalKey(
    Schema.Never.annotate({ message: "must be left out: give the public key only, and keep the private key secret" })
  )
})
export type PublicKey = typeof PublicKey.Type

/** Public keys with which a client signs its assertions (RFC 7517 section 5). */
export const KeySet = Schema.Struct({ keys: Schema.Array(PublicKey).check(Schema.isMaxLength(20)) })

export const Client = Schema.Struct({
  id: ClientId,
  /** Shown to the user at login. */
  name: Schema.NonEmptyString,
  /**
   * A client without a secret and without keys is public (RFC 6749 section 2.1) and must use PKCE. Database rows store
   * the missing secret as null.
   */
  secret: Schema.optional(Schema.NullOr(Schema.RedactedFromValue(Schema.NonEmptyString))),
  /** The keys of a client that authenticates with `private_key_jwt` (RFC 7523 section 2.2). */
  jwks: Schema.optional(Schema.NullOr(KeySet)),
  redirect_uris: Schema.Array(Schema.NonEmptyString)
})
export type Client = typeof Client.Type

/**
 * A client registered with the service. A client without secrets and without keys is public. During a rotation, a client
 * has several secrets.
 */
export const RegisteredClient = Schema.Struct({
  id: ClientId,
  name: Schema.NonEmptyString,
  redirect_uris: Schema.Array(Schema.NonEmptyString),
  secrets: Schema.Array(ClientSecret),
  /** The keys of a client that authenticates with `private_key_jwt`, which has no secret. */
  jwks: Schema.NullOr(KeySet),
  created_at: Schema.Int
})
export type RegisteredClient = typeof RegisteredClient.Type

/** A public client that is not registered: its id is the URL of its metadata. */
export interface DocumentClient {
  readonly id: ClientId
  readonly name: string
  /** The host of the id, with the port if it has one. */
  readonly host: string
  readonly redirect_uris: ReadonlyArray<string>
}

/** A client of any kind. */
export type KnownClient = Client | RegisteredClient | DocumentClient

/** Returns the keys with which a client signs its assertions. */
export const keysOf = (client: KnownClient): ReadonlyArray<PublicKey> =>
  "host" in client ? [] : (client.jwks?.keys ?? [])

/** Whether the client has a secret or a key to authenticate with (RFC 6749 section 2.1). */
export const isConfidential = (client: KnownClient): boolean =>
  !("host" in client) &&
  (Predicate.isNotNullish(client.jwks) ||
    ("secrets" in client ? client.secrets.length > 0 : Predicate.isNotNullish(client.secret)))
