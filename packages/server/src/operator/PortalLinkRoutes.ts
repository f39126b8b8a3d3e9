/**
 * `POST /operator/integrations/{id}/portal_links`: how a host gets a link for those whose integration it is.
 */
import { DurationText } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { parseJson } from "../http/JsonBody.ts"
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
  const { operation, refuse } = yield* OperatorEndpoint

  const create = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      return { status: 201, body: yield* links.create(id, yield* readLifetime) }
    })
  )

  return [resource("/operator/integrations/:id/portal_links", { POST: create }, refuse)]
})

export const PortalLinkRoutes = HttpRouter.addAll(makeRoutes)
