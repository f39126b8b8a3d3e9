/**
 * The integrations of buildings and tenants (document section 4.2).
 */
import { Integrations, resourceOf } from "@doorhook/core"
import type { Integration } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { idempotencyKey } from "../http/IdempotencyKey.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { resource } from "../http/Resource.ts"
import { ApiEndpoint } from "./ApiEndpoint.ts"
import type { Answer } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { readDocument } from "./DocumentBody.ts"
import { entityTag, expectedVersions } from "./EntityTag.ts"
import { listText } from "./ListDocument.ts"
import { collectionPath, collectionUrl, owners, scopeOf, targetOf } from "./Owners.ts"
import type { Owner } from "./Owners.ts"
import { offsetOf, pageParameters, readPage } from "./Pagination.ts"

const makeRoutes = Effect.gen(function* () {
  const integrations = yield* Integrations
  const { operation, refuse } = yield* ApiEndpoint
  const publicUrl = yield* PublicUrl
  const settings = yield* ApiSettings

  const toResource = (integration: Integration) => {
    const self = `${collectionUrl(publicUrl.url, integration.scope)}/${integration.id}`
    const written = resourceOf(integration, self)
    return settings.configAlias
      ? { ...written, attributes: { ...written.attributes, config: integration.configuration } }
      : written
  }

  /** The document of an integration whose secret is new. */
  const withSecret = (integration: Integration) => ({
    data: toResource(integration),
    meta: { signing_secret: Redacted.value(integration.signing_secret) }
  })

  const single = (integration: Integration): Answer => ({
    status: 200,
    document: { data: toResource(integration) },
    headers: { etag: entityTag(integration.version) }
  })

  const routesOf = (owner: Owner) => {
    const scope = scopeOf(owner)
    const target = targetOf(owner)
    const condition = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      expectedVersions(headers["if-match"])
    )

    const list = operation(pageParameters, (caller, query) =>
      Effect.gen(function* () {
        const owned = yield* scope
        const page = yield* readPage(query)
        const { items, total } = yield* integrations.list(caller, owned, {
          offset: offsetOf(page),
          limit: page.size
        })
        const texts = items.map((integration) => JSON.stringify(toResource(integration)))
        return {
          status: 200,
          document: listText({ url: collectionUrl(publicUrl.url, owned), page, total }, texts, settings)
        }
      })
    )

    const create = operation([], (caller) =>
      Effect.gen(function* () {
        const owned = yield* scope
        const key = yield* idempotencyKey
        const { integration, replayed } = yield* integrations.create(caller, owned, yield* readDocument, key)
        const data = toResource(integration)
        return {
          status: settings.createdStatus,
          // The one time that the secret is shown: whoever lost this answer rotates.
          document: replayed ? { data } : withSecret(integration),
          headers: { location: data.links.self, etag: entityTag(integration.version) }
        }
      })
    )

    const get = operation([], (caller) =>
      Effect.gen(function* () {
        const { scope, id } = yield* target
        return single(yield* integrations.get(caller, scope, id))
      })
    )

    const change = (how: "replace" | "patch") =>
      operation([], (caller) =>
        Effect.gen(function* () {
          const { scope, id } = yield* target
          const document = yield* readDocument
          return single(yield* integrations[how](caller, scope, id, document, yield* condition))
        })
      )

    const remove = operation([], (caller) =>
      Effect.gen(function* () {
        const { scope, id } = yield* target
        yield* integrations.remove(caller, scope, id, yield* condition)
        return { status: 204 }
      })
    )

    const rotateSecret = operation([], (caller) =>
      Effect.gen(function* () {
        const { scope, id } = yield* target
        const integration = yield* integrations.rotateSecret(caller, scope, id, yield* condition)
        return { ...single(integration), document: withSecret(integration) }
      })
    )

    const path = collectionPath(owner)
    return [
      resource(path, { GET: list, POST: create }, refuse),
      resource(`${path}/:id`, { GET: get, PUT: change("replace"), PATCH: change("patch"), DELETE: remove }, refuse),
      resource(`${path}/:id/rotate_secret`, { POST: rotateSecret }, refuse)
    ]
  }

  return owners.flatMap(routesOf)
})

export const IntegrationRoutes = HttpRouter.addAll(makeRoutes)
