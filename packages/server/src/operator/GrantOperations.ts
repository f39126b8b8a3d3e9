/**
 * Lists the access that users have granted to clients, and revokes it.
 */
import { ClientId, Grants, isoOf, UserId } from "@doorhook/core"
import type { NamedGrant } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { decodeDocument } from "../http/Documents.ts"
import { parameterFailure } from "../http/Failures.ts"
import { readParameter } from "../http/Query.ts"
import { handler, operation, readBody } from "./Operation.ts"

export const GrantDocument = Schema.Struct({
  id: Schema.String,
  client_id: Schema.String,
  /** The client's name; null if the client no longer exists. */
  client_name: Schema.NullOr(Schema.String),
  scope: Schema.String,
  /** When the user granted access. */
  created_at: Schema.String,
  /** When the client last got a token. */
  last_used_at: Schema.String
})
export type GrantDocument = typeof GrantDocument.Type

/** Largest body, in bytes. */
const maxRevocationBytes = 4 * 1024

export const grantOperations = {
  list: operation("grants.list", "GET", "/operator/grants", Schema.Struct({ grants: Schema.Array(GrantDocument) }), {
    query: ["user_id"]
  }),
  revoke: operation(
    "grants.revoke",
    "POST",
    "/operator/grants/revoke",
    Schema.Struct({
      /** The number of revoked grants. */
      grants: Schema.Finite
    }),
    { bodyLimit: maxRevocationBytes }
  )
}

const documentOf = ({ client_name, grant, last_used_at }: NamedGrant): GrantDocument => ({
  id: grant.id,
  client_id: grant.client_id,
  client_name,
  scope: grant.scope,
  created_at: isoOf(grant.created_at),
  last_used_at: isoOf(last_used_at)
})

const aUser = "the id of a user in the directory"

/** Schema of an id that databases can store: not empty, and without NUL. */
const idText = (expected: string) =>
  Schema.String.check(Schema.isPattern(/^[^\0]+$/, { message: `must be ${expected}` }))

const user = idText(aUser).pipe(Schema.decodeTo(UserId))
const parseUser = Schema.decodeUnknownOption(user)

const Revocation = Schema.Struct({
  user_id: user,
  client_id: Schema.optionalKey(idText("the id of a client").pipe(Schema.decodeTo(ClientId)))
})

export const makeGrantHandlers = Effect.gen(function* () {
  const grants = yield* Grants
  return [
    handler(grantOperations.list, ({ query }) =>
      Effect.gen(function* () {
        const id = yield* readParameter(query, "user_id", parseUser, aUser)
        if (id === null) return yield* parameterFailure("user_id", `\`user_id\` is missing: it must be ${aUser}.`)
        return { grants: (yield* grants.list(id)).map(documentOf) }
      })
    ),
    handler(grantOperations.revoke, (input) =>
      Effect.gen(function* () {
        // Refuses unknown members. Otherwise, a misspelled `client_id` would revoke the grants to all clients.
        const document = yield* decodeDocument(Revocation, "Invalid revocation", yield* readBody(input), "error")
        return { grants: yield* grants.revoke(document.user_id, document.client_id ?? null) }
      })
    )
  ]
})
