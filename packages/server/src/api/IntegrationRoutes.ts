/**
 * The integrations of buildings and tenants (interface document, section 4.2).
 */
import { Integrations, resourceOf } from "@doorhook/core"
import type { ExpectedVersions, Integration } from "@doorhook/core"
import { Effect, Exit, Redacted } from "effect"
import { idempotencyKeyOf, readJson } from "../http/Documents.ts"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { failure } from "../http/Failures.ts"
import * as MediaType from "../http/MediaType.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Route } from "../http/Route.ts"
import type { ApiEndpoint, Reply } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { collectionUrl, scopePath, scopeKinds, scopeIn, targetIn } from "./ScopePaths.ts"
import type { ScopeKind } from "./ScopePaths.ts"
import { listText, offsetOf, pageParameters, readPage } from "./ListPages.ts"

/** Largest request body, in bytes. */
const maxDocumentBytes = 64 * 1024

const unsupported = failure(415, {
  code: "unsupported_media_type",
  title: "Unsupported media type",
  detail: `Send ${MediaType.jsonApi}, without parameters, or ${MediaType.json}.`,
  source: { header: "Content-Type" }
})

/** Reads the JSON:API document in a request's body. */
const readDocument = (x: Exchange): Effect.Effect<unknown, KnownError> =>
  MediaType.isReadable(x.header("content-type")) ? readJson(x, maxDocumentBytes) : Exit.fail(unsupported)

/** Returns the strong entity tag for a version (RFC 9110 section 8.8.3). */
const entityTag = (version: number): string => `"${version}"`

/**
 * Returns the versions that the `If-Match` header of a request accepts (RFC 9110 section 13.1.1). Weak and unknown tags
 * match no version. Without the header, or with `*`, returns null: every version matches.
 */
const expectedVersions = (x: Exchange): ExpectedVersions => {
  const ifMatch = x.header("if-match")
  if (ifMatch === undefined || ifMatch.trim() === "*") return null
  return ifMatch.split(",").flatMap((tag) => {
    const version = /^\s*"(\d{1,15})"\s*$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}

/** Formats integrations as JSON:API documents. */
class Documents {
  readonly #publicUrl: PublicUrl["Service"]
  readonly #configAlias: boolean
  /** Serialized resources. Stores return the same object until an integration changes, so the object can be the key. */
  readonly #texts = new WeakMap<Integration, { readonly base: string; readonly text: string }>()

  constructor(publicUrl: PublicUrl["Service"], configAlias: boolean) {
    this.#publicUrl = publicUrl
    this.#configAlias = configAlias
  }

  urlOf(integration: Integration): string {
    return `${collectionUrl(this.#publicUrl.url, integration.scope)}/${integration.id}`
  }

  /** Formats an integration's resource object. */
  resource(integration: Integration): string {
    const base = this.#publicUrl.url
    const known = this.#texts.get(integration)
    if (known?.base === base) return known.text
    const text = JSON.stringify(this.#resourceOf(integration))
    this.#texts.set(integration, { base, text })
    return text
  }

  #resourceOf(integration: Integration) {
    const written = resourceOf(integration, this.urlOf(integration))
    return this.#configAlias
      ? { ...written, attributes: { ...written.attributes, config: integration.configuration } }
      : written
  }

  /** Makes the answer with one integration. */
  reply(integration: Integration): Reply & { readonly document: string } {
    return {
      status: 200,
      document: `{"data":${this.resource(integration)}}`,
      headers: { etag: entityTag(integration.version) }
    }
  }

  /** Formats the document of an integration with its new secret. */
  withSecret(integration: Integration): string {
    const meta = { signing_secret: Redacted.value(integration.signing_secret) }
    return JSON.stringify({ data: this.#resourceOf(integration), meta })
  }
}

export const makeIntegrationRoutes = Effect.fnUntraced(function* ({ operation }: ApiEndpoint) {
  const integrations = yield* Integrations
  const publicUrl = yield* PublicUrl
  const settings = yield* ApiSettings
  const documents = new Documents(publicUrl, settings.configAlias)

  const routesOf = (owner: ScopeKind): ReadonlyArray<Route> => {
    const group = owner.segment.slice(0, -1)
    const collection = `${scopePath(owner)}/integrations` as const
    const item = `${collection}/:id` as const

    const list = operation({
      operation: `${group} integrations.list`,
      method: "GET",
      path: collection,
      query: pageParameters,
      run: ({ caller, params, query }) =>
        Effect.gen(function* () {
          const owned = yield* scopeIn(owner, params)
          const page = yield* readPage(query)
          const { items, total } = yield* integrations.list(caller, owned, { offset: offsetOf(page), limit: page.size })
          const url = collectionUrl(publicUrl.url, owned)
          return {
            status: 200,
            document: listText(
              { url, page, total },
              items.map((item) => documents.resource(item)),
              settings
            )
          }
        })
    })

    const create = operation({
      operation: `${group} integrations.create`,
      method: "POST",
      path: collection,
      run: ({ caller, params, x }) =>
        Effect.gen(function* () {
          const owned = yield* scopeIn(owner, params)
          const key = yield* idempotencyKeyOf(x)
          const { integration, replayed } = yield* integrations.create(caller, owned, yield* readDocument(x), key)
          return {
            status: settings.createdStatus,
            // Only this answer contains the secret. A client that has lost the secret can rotate it.
            document: replayed ? documents.reply(integration).document : documents.withSecret(integration),
            headers: { location: documents.urlOf(integration), etag: entityTag(integration.version) }
          }
        })
    })

    const get = operation({
      operation: `${group} integrations.get`,
      method: "GET",
      path: item,
      run: ({ caller, params }) =>
        Effect.flatMapEager(targetIn(owner, params), ({ id, scope }) =>
          Effect.mapEager(integrations.get(caller, scope, id), (found) => documents.reply(found))
        )
    })

    const change = (method: "PUT" | "PATCH", how: "replace" | "patch") =>
      operation({
        operation: `${group} integrations.${how}`,
        method,
        path: item,
        run: ({ caller, params, x }) =>
          Effect.gen(function* () {
            const { id, scope } = yield* targetIn(owner, params)
            const document = yield* readDocument(x)
            return documents.reply(yield* integrations[how](caller, scope, id, document, expectedVersions(x)))
          })
      })

    const remove = operation({
      operation: `${group} integrations.remove`,
      method: "DELETE",
      path: item,
      run: ({ caller, params, x }) =>
        Effect.gen(function* () {
          const { id, scope } = yield* targetIn(owner, params)
          yield* integrations.remove(caller, scope, id, expectedVersions(x))
          return { status: 204 }
        })
    })

    const rotateSecret = operation({
      operation: `${group} integrations.rotateSecret`,
      method: "POST",
      path: `${item}/rotate_secret`,
      run: ({ caller, params, x }) =>
        Effect.gen(function* () {
          const { id, scope } = yield* targetIn(owner, params)
          const integration = yield* integrations.rotateSecret(caller, scope, id, expectedVersions(x))
          return { ...documents.reply(integration), document: documents.withSecret(integration) }
        })
    })

    return [list, create, get, change("PUT", "replace"), change("PATCH", "patch"), remove, rotateSecret]
  }

  return scopeKinds.flatMap(routesOf)
})
