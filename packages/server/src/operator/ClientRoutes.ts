/**
 * Registering OAuth clients, giving them new secrets, and ending them.
 */
import { Clients, defaultOverlap, DurationText } from "@doorhook/core"
import type { NewClient } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { parseJson, readJson } from "../http/JsonBody.ts"
import { readDocument } from "../http/ReadDocument.ts"
import { readText } from "../http/RequestBody.ts"
import { resource } from "../http/Resource.ts"
import { clientDocument, clientWithSecretDocument } from "./ClientDocument.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
const maxClientBytes = 16 * 1024

const Wanted = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  name: Schema.String,
  redirect_uris: Schema.Array(Schema.String),
  confidential: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))
})

/** The longest that a secret may stay good beside its successor, in milliseconds. */
const longestOverlap = 365 * 24 * 3_600_000

const Rotation = Schema.Struct({
  overlap: DurationText.DurationText.check(
    Schema.isLessThanOrEqualTo(longestOverlap, { message: "must be 365d at most" })
  ).pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(defaultOverlap)))
})

/** How long the secrets before stay good; a day when it is not said. */
const readOverlap = Effect.gen(function* () {
  const text = yield* readText(maxClientBytes)
  return (yield* readDocument(Rotation, "Invalid rotation", text === "" ? {} : yield* parseJson(text))).overlap
})

/** The client that the path names. Ids are the hosts' own, so any text may be one. */
const clientId = Effect.map(HttpRouter.params, (params) => params["id"] ?? "")

const makeRoutes = Effect.gen(function* () {
  const clients = yield* Clients
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation([], () =>
    Effect.map(clients.list, (all) => ({ status: 200, body: { clients: all.map(clientDocument) } }))
  )

  const add = operation([], () =>
    Effect.gen(function* () {
      const wanted: NewClient = yield* readDocument(Wanted, "Invalid client", yield* readJson(maxClientBytes))
      return { status: 201, body: clientWithSecretDocument(yield* clients.add(wanted)) }
    })
  )

  const rotate = operation([], () =>
    Effect.gen(function* () {
      const id = yield* clientId
      return { status: 200, body: clientWithSecretDocument(yield* clients.rotate(id, yield* readOverlap)) }
    })
  )

  const remove = operation([], () =>
    Effect.gen(function* () {
      yield* clients.remove(yield* clientId)
      return { status: 204, body: null }
    })
  )

  return [
    resource("/operator/clients", { GET: list, POST: add }, refuse),
    resource("/operator/clients/:id", { DELETE: remove }, refuse),
    resource("/operator/clients/:id/rotate", { POST: rotate }, refuse)
  ]
})

export const ClientRoutes = HttpRouter.addAll(makeRoutes)
