/**
 * `GET /openapi.json`: the description of the public surface (OpenAPI 3.1).
 */
import { ResourceTypes } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { json } from "../http/MediaType.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { publicApiOf } from "./PublicApi.ts"

const makeRoutes = Effect.gen(function* () {
  const publicUrl = yield* PublicUrl
  const types = yield* ResourceTypes
  // Made at the first request: most processes are never asked for it.
  const response = yield* Effect.cached(
    Effect.sync(() => {
      const description = { ...OpenApi.fromApi(publicApiOf(types)), servers: [{ url: publicUrl.url }] }
      return HttpServerResponse.text(JSON.stringify(description), { contentType: json })
    })
  )
  return [resource("/openapi.json", { GET: response }, failureResponse(json))]
})

export const OpenApiRoute = HttpRouter.addAll(makeRoutes)
