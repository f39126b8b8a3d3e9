/**
 * The integrations of buildings and tenants (document section 4.2).
 */
import { BuildingId, IntegrationId, Integrations, parsePositiveInt, resourceOf, TenantId } from "@doorhook/core"
import type { Integration, Scope } from "@doorhook/core"
import { Effect, Option, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { notFound } from "../http/KnownFailures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { resource } from "../http/Resource.ts"
import { ApiEndpoint } from "./ApiEndpoint.ts"
import type { Answer } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { readDocument } from "./DocumentBody.ts"
import { entityTag, expectedVersions } from "./EntityTag.ts"
import { offsetOf, pageInfo, pageLinks, pageParameters, readPage } from "./Pagination.ts"

/** The two kinds of owner, each with the first part of its paths. */
const owners = [
  {
    segment: "buildings",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(BuildingId, text), (id) => ({ type: "building", id }))
  },
  {
    segment: "tenants",
    toScope: (text: string): Option.Option<Scope> =>
      Option.map(parsePositiveInt(TenantId, text), (id) => ({ type: "tenant", id }))
  }
] as const

type Owner = (typeof owners)[number]

const collectionPath = ({ segment }: Owner) => `/v4/${segment}/:owner_id/integrations` as const

/** A part of the path. */
const param = (name: string) => Effect.map(HttpRouter.params, (params) => params[name] ?? "")

const makeRoutes = Effect.gen(function* () {
  const integrations = yield* Integrations
  const { operation, refuse } = yield* ApiEndpoint
  const { url } = yield* PublicUrl
  const settings = yield* ApiSettings

  const collectionUrl = (scope: Scope): string => `${url}/v4/${scope.type}s/${scope.id}/integrations`

  const toResource = (integration: Integration) => {
    const self = `${collectionUrl(integration.scope)}/${integration.id}`
    const written = resourceOf(integration, self)
    return settings.configAlias
      ? { ...written, attributes: { ...written.attributes, config: integration.configuration } }
      : written
  }

  const single = (integration: Integration): Answer => ({
    status: 200,
    document: { data: toResource(integration) },
    headers: { etag: entityTag(integration.version) }
  })

  const routesOf = (owner: Owner) => {
    const scope = Effect.flatMap(param("owner_id"), (text) =>
      Option.match(owner.toScope(text), {
        onNone: () => notFound(`${JSON.stringify(text)} is no id of ${owner.segment}.`),
        onSome: Effect.succeed
      })
    )
    const target = Effect.all({
      scope,
      id: Effect.flatMap(param("id"), (text) =>
        Option.match(parsePositiveInt(IntegrationId, text), {
          onNone: () => notFound(`${JSON.stringify(text)} is no id of integrations.`),
          onSome: Effect.succeed
        })
      )
    })
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
        const page_info = pageInfo(page, items.length, total)
        return {
          status: 200,
          document: {
            data: items.map(toResource),
            links: pageLinks(collectionUrl(owned), page, page_info),
            meta: { page_info },
            ...(settings.topLevelPageInfo && { page_info })
          }
        }
      })
    )

    const create = operation([], (caller) =>
      Effect.gen(function* () {
        const owned = yield* scope
        const integration = yield* integrations.create(caller, owned, yield* readDocument)
        const data = toResource(integration)
        return {
          status: settings.createdStatus,
          // The one time that the secret is shown.
          document: { data, meta: { signing_secret: Redacted.value(integration.signing_secret) } },
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

    const path = collectionPath(owner)
    return [
      resource(path, { GET: list, POST: create }, refuse),
      resource(`${path}/:id`, { GET: get, PUT: change("replace"), PATCH: change("patch"), DELETE: remove }, refuse)
    ]
  }

  return owners.flatMap(routesOf)
})

export const IntegrationRoutes = HttpRouter.addAll(makeRoutes)
