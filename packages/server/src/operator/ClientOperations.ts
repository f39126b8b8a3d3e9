/**
 * OAuth clients that are registered with the service. Only the answer that creates a secret contains it.
 */
import { Clients, defaultOverlap, DurationText, isConfidential, isoOf, KeySet } from "@doorhook/core"
import type { ClientWithSecret, NewClient, RegisteredClient } from "@doorhook/core"
import { Effect, Redacted, Schema } from "effect"
import { decodeDocument } from "../http/Documents.ts"
import type { Params } from "../http/Route.ts"
import { handler, operation, readBody, readOptionalBody } from "./Operation.ts"

export const ClientDocument = Schema.Struct({
  /** The `client_id`. */
  id: Schema.String,
  /** The name that users see when they log in. */
  name: Schema.String,
  redirect_uris: Schema.Array(Schema.String),
  /** Whether the client has a secret or keys. A client without must use PKCE. */
  confidential: Schema.Boolean,
  /** The expiry of each secret in ISO 8601 UTC, newest secret first; null for a secret that does not expire. */
  secrets: Schema.Array(Schema.Struct({ expires_at: Schema.NullOr(Schema.String) })),
  /** The public keys of a client that authenticates with `private_key_jwt`; null for others. */
  jwks: Schema.NullOr(KeySet),
  created_at: Schema.String
})
export type ClientDocument = typeof ClientDocument.Type

/** A client with its new secret. The secret is null for a client that is public or has keys. */
export const ClientWithSecretDocument = Schema.Struct({
  client: ClientDocument,
  client_secret: Schema.NullOr(Schema.String)
})
export type ClientWithSecretDocument = typeof ClientWithSecretDocument.Type

/** Largest body, in bytes. */
const maxClientBytes = 16 * 1024

export const clientOperations = {
  list: operation("clients.list", "GET", "/operator/clients", Schema.Struct({ clients: Schema.Array(ClientDocument) })),
  add: operation("clients.add", "POST", "/operator/clients", ClientWithSecretDocument, {
    bodyLimit: maxClientBytes,
    status: 201
  }),
  rotate: operation("clients.rotate", "POST", "/operator/clients/:id/rotate", ClientWithSecretDocument, {
    bodyLimit: maxClientBytes
  }),
  remove: operation("clients.remove", "DELETE", "/operator/clients/:id", Schema.Null, { status: 204 })
}

const documentOf = (client: RegisteredClient): ClientDocument => ({
  id: client.id,
  name: client.name,
  redirect_uris: client.redirect_uris,
  confidential: isConfidential(client),
  secrets: client.secrets.map(({ expires_at }) => ({ expires_at: expires_at === null ? null : isoOf(expires_at) })),
  jwks: client.jwks,
  created_at: isoOf(client.created_at)
})

const withSecret = ({ client, secret }: ClientWithSecret): ClientWithSecretDocument => ({
  client: documentOf(client),
  client_secret: secret === null ? null : Redacted.value(secret)
})

const Wanted = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  name: Schema.String,
  redirect_uris: Schema.Array(Schema.String),
  jwks: Schema.optionalKey(KeySet),
  confidential: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))
})

/** Longest time that old secrets can stay valid after a rotation, in milliseconds. */
const longestOverlap = 365 * 24 * 3_600_000

const Rotation = Schema.Struct({
  /** How long the old secrets stay valid. Default: a day. */
  overlap: DurationText.DurationText.check(
    Schema.isLessThanOrEqualTo(longestOverlap, { message: "must be 365d at most" })
  ).pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(defaultOverlap)))
})

/** Reads the client id in the path. Hosts choose these ids, so any text is possible. */
const clientIdIn = (params: Params): string => params["id"] ?? ""

export const makeClientHandlers = Effect.gen(function* () {
  const clients = yield* Clients
  return [
    handler(clientOperations.list, () => Effect.map(clients.list, (all) => ({ clients: all.map(documentOf) }))),
    handler(clientOperations.add, (input) =>
      Effect.gen(function* () {
        // Refuses unknown members. Otherwise, a public client would get a secret if `confidential` were misspelled.
        const wanted: NewClient = yield* decodeDocument(Wanted, "Invalid client", yield* readBody(input), "error")
        return withSecret(yield* clients.add(wanted))
      })
    ),
    handler(clientOperations.rotate, (input) =>
      Effect.gen(function* () {
        const { overlap } = yield* decodeDocument(Rotation, "Invalid rotation", yield* readOptionalBody(input))
        return withSecret(yield* clients.rotate(clientIdIn(input.params), overlap))
      })
    ),
    handler(clientOperations.remove, ({ params }) => Effect.as(clients.remove(clientIdIn(params)), null))
  ]
})
