/**
 * `POST /operator/integrations/{id}/portal_links`: makes a link to an integration's own page, for its owner.
 * `POST /operator/portal/rotate_secret`: ends all such links, the sessions that they opened, and forms that are open.
 */
import { DurationText } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { parseJson } from "../http/JsonBody.ts"
import { PageSecret } from "../http/PageSecret.ts"
import { readDocument } from "../http/ReadDocument.ts"
import { readText } from "../http/RequestBody.ts"
import { resource } from "../http/Resource.ts"
import { defaultLinkLifetime, longestLinkLifetime, PortalLinks } from "../portal/PortalLinks.ts"
import { integrationId } from "../http/ListQuery.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body, in bytes. */
const maxLinkBytes = 4 * 1024

const Wanted = Schema.Struct({
  expires_in: DurationText.DurationText.check(
    Schema.isBetween({ minimum: 1_000, maximum: longestLinkLifetime }, { message: "must be from 1s to 24h" })
  ).pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(defaultLinkLifetime)))
})

/** For how long a link is wanted; the default when nothing is said. */
const readLifetime = Effect.gen(function* () {
  const text = yield* readText(maxLinkBytes)
  const value = text === "" ? {} : yield* parseJson(text)
  return (yield* readDocument(Wanted, "Invalid link", value)).expires_in
})

const makeRoutes = Effect.gen(function* () {
  const links = yield* PortalLinks
  const secret = yield* PageSecret
  const { operation, refuse } = yield* OperatorEndpoint

  const create = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      return { status: 201, body: yield* links.create(id, yield* readLifetime) }
    })
  )

  const rotate = operation([], () => Effect.as(secret.rotate, { status: 204, body: null } as const))

  return [
    resource("/operator/integrations/:id/portal_links", { POST: create }, refuse),
    resource("/operator/portal/rotate_secret", { POST: rotate }, refuse)
  ]
})

export const PortalLinkRoutes = HttpRouter.addAll(makeRoutes)
