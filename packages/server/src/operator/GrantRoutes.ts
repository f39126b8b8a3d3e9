/**
 * What a user has granted to clients, and ending it.
 */
import { ClientId, Grants, UserId } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { readJson } from "../http/JsonBody.ts"
import { readParameter } from "../http/ListQuery.ts"
import { readDocument } from "../http/ReadDocument.ts"
import { parameterFailure } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { grantDocument } from "./GrantDocument.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
const maxRevocationBytes = 4 * 1024

const aUser = "the id of a user, as the directory knows it"

/** A text that a database can hold: any but none, and any without NUL. */
const idText = (expected: string) =>
  Schema.String.check(Schema.isPattern(/^[^\0]+$/, { message: `must be ${expected}` }))

const user = idText(aUser).pipe(Schema.decodeTo(UserId))
const parseUser = Schema.decodeUnknownOption(user)

const Revocation = Schema.Struct({
  user_id: user,
  client_id: Schema.optionalKey(idText("the id of a client").pipe(Schema.decodeTo(ClientId)))
})

const makeRoutes = Effect.gen(function* () {
  const grants = yield* Grants
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation(["user_id"], (query) =>
    Effect.gen(function* () {
      const id = yield* readParameter(query, "user_id", parseUser, aUser)
      if (id === null) return yield* parameterFailure("user_id", `\`user_id\` is missing: it must be ${aUser}.`)
      return { status: 200, body: { grants: (yield* grants.list(id)).map(grantDocument) } }
    })
  )

  const revoke = operation([], () =>
    Effect.gen(function* () {
      const body = yield* readJson(maxRevocationBytes)
      // Whoever mistypes `client_id` would end more than they mean to.
      const { client_id, user_id } = yield* readDocument(Revocation, "Invalid revocation", body, "error")
      return { status: 200, body: { grants: yield* grants.revoke(user_id, client_id ?? null) } }
    })
  )

  return [
    resource("/operator/grants", { GET: list }, refuse),
    resource("/operator/grants/revoke", { POST: revoke }, refuse)
  ]
})

export const GrantRoutes = HttpRouter.addAll(makeRoutes)
