/**
 * The routes of the authorization server (interface document, section 4.1; RFC 7009, RFC 7662, RFC 8414), and the
 * format of their failures.
 */
import {
  apiPath,
  AuthorizationServer,
  AuthorizationSettings,
  authorizeParameters,
  OAuthErrorCode,
  publicScope
} from "@doorhook/core"
import type { ClientRequest, Crypto } from "@doorhook/core"
import { Effect, Exit, Schema } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError, RequestFailure } from "../http/Failures.ts"
import { failure, notAllowed, nothingHere } from "../http/Failures.ts"
import { isMetadataPath, isResourceMetadataPath, prefixOf, resourceAt } from "../http/OwnPaths.ts"
import type { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer, Face, Handler, Route } from "../http/Route.ts"
import { confidential, makePages } from "../ui/Page.ts"
import type { Pages } from "../ui/Page.ts"
import { HostTexts, makeLanguages } from "../ui/Texts.ts"
import type { Language } from "../ui/Texts.ts"
import { makeAuthorizeEndpoint } from "./AuthorizeEndpoint.ts"
import { maxBodyBytes, readParameters } from "./FormBody.ts"
import { metadataOf, paths, resourceMetadataOf, scopesOfResource } from "./Metadata.ts"
import { problemPage } from "./FormPages.ts"

const jsonHeaders = { "content-type": "application/json", ...confidential }

const isErrorCode = Schema.is(Schema.Union([OAuthErrorCode, Schema.Literal("temporarily_unavailable")]))

/**
 * Returns the OAuth error code for a failure. If OAuth does not define the failure's code, chooses one by the status.
 */
const codeOf = ({ errors, status }: RequestFailure): string => {
  const [{ code }] = errors
  if (isErrorCode(code)) return code
  if (status === 503 || status === 429) return "temporarily_unavailable"
  return status >= 500 ? "server_error" : "invalid_request"
}

const internal = "Something went wrong inside the service."

const descriptionOf = ({ headers, message, status }: RequestFailure): string => {
  if (status === 500) return internal
  return status === 405 ? `This address accepts only ${headers["allow"] ?? ""}.` : message
}

/** Formats failures as OAuth errors (RFC 6749 section 5.2). */
export const oauthFace: Face = {
  refuse: (_, refusal) =>
    Exit.succeed({
      status: refusal.status,
      headers: { ...jsonHeaders, ...refusal.headers },
      body: JSON.stringify({ error: codeOf(refusal), error_description: descriptionOf(refusal) })
    })
}

/**
 * Formats failures as pages for users. A wrong method is answered with JSON, because only programs use wrong methods.
 */
const makePageFace = (pages: Pages, languageOf: (x: Exchange) => Language): Face => ({
  refuse: (x, refusal) => {
    const { headers, message, status } = refusal
    if (status === 405) return oauthFace.refuse(x, refusal)
    const language = languageOf(x)
    if (status === 500) return pages.answer(problemPage(language, language.t("internal"), status, headers))
    const text = status === 503 ? language.t("unavailable") : message
    return pages.answer(problemPage(language, text, status, headers))
  }
})

const unsupported = failure(415, {
  code: "unsupported_media_type",
  title: "Unsupported media type",
  detail: "The body must be multipart/form-data, application/x-www-form-urlencoded or application/json."
})

const answerWith = (document: object): Answer => ({ status: 200, headers: jsonHeaders, body: JSON.stringify(document) })

/** Makes the handler of an endpoint that client programs call. It reads parameters and returns a JSON document. */
const forClients =
  (publicUrl: PublicUrl["Service"], answer: (request: ClientRequest) => Effect.Effect<object, KnownError>): Handler =>
  (x, _, body) =>
    Effect.flatMapEager(readParameters(x.header("content-type"), body), (parameters) => {
      if (parameters === null) return Exit.fail(unsupported)
      const authorization = x.header("authorization") ?? null
      return Effect.mapEager(
        answer({ parameters, authorization, address: x.address, issuer: publicUrl.url }),
        answerWith
      )
    })

/** All routes of the authorization server. */
export const makeOAuthRoutes: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  AuthorizationServer | AuthorizationSettings | Crypto | PageSecret | PublicUrl
> = Effect.gen(function* () {
  const authorization = yield* AuthorizationServer
  const publicUrl = yield* PublicUrl
  const { apis, clientIdMetadata, resources, scopes } = yield* AuthorizationSettings
  const pages = yield* makePages
  const languageOf = makeLanguages(yield* HostTexts)
  const authorize = yield* makeAuthorizeEndpoint(pages, languageOf, scopes)
  const pageFace = makePageFace(pages, languageOf)

  const endpoint = { method: "POST", face: oauthFace, bodyFirst: maxBodyBytes } as const
  /** Makes the handler of a metadata document. `contentOf` returns null if there is none at the request's path. */
  const document =
    (contentOf: (x: Exchange, issuer: string) => object | null): Handler =>
    (x) => {
      const content = contentOf(x, publicUrl.url)
      if (content === null) return Exit.fail(nothingHere)
      if (x.method !== "GET") return Exit.fail(notAllowed("GET, HEAD"))
      return Exit.succeed({
        status: 200,
        headers: { "content-type": "application/json", "cache-control": "public, max-age=3600" },
        body: JSON.stringify(content)
      })
    }
  const metadata = document(({ path }, issuer) =>
    isMetadataPath(path, issuer) ? metadataOf(issuer, scopes, clientIdMetadata !== null) : null
  )
  const resourceMetadata = document((x, issuer) => {
    const declared = resourceAt(x.path, x.header("host"), Object.keys(resources), issuer)
    if (declared !== null) return resourceMetadataOf(declared, issuer, scopesOfResource(resources[declared], scopes))
    const api = apis.find((path) => isResourceMetadataPath(x.path, path, issuer))
    if (api === undefined) return null
    return resourceMetadataOf(
      issuer + api,
      issuer,
      api === apiPath ? [publicScope] : scopesOfResource(undefined, scopes)
    )
  })
  const metadataRoute = { method: "*", face: oauthFace, crossOrigin: true, handle: resourceMetadata } as const
  return [
    {
      method: "GET",
      path: paths.authorize,
      face: pageFace,
      operation: "oauth.authorize",
      query: authorizeParameters,
      handle: (x) => authorize.get(x)
    },
    {
      method: "POST",
      path: paths.authorize,
      face: pageFace,
      bodyFirst: maxBodyBytes,
      handle: (x, _, body) => authorize.post(x, body)
    },
    {
      ...endpoint,
      path: paths.token,
      operation: "oauth.token",
      crossOrigin: true,
      handle: forClients(publicUrl, (request) => authorization.token(request))
    },
    {
      ...endpoint,
      path: paths.revoke,
      operation: "oauth.revoke",
      crossOrigin: true,
      // Returns an empty object, because some libraries parse every answer as JSON.
      handle: forClients(publicUrl, (request) => Effect.mapEager(authorization.revoke(request), () => ({})))
    },
    {
      ...endpoint,
      path: paths.introspect,
      operation: "oauth.introspect",
      handle: forClients(publicUrl, (request) => authorization.introspect(request))
    },
    {
      method: "GET",
      path: paths.metadata,
      face: oauthFace,
      operation: "oauth.metadata",
      crossOrigin: true,
      handle: metadata
    },
    // Clients append the issuer's path to the metadata path, if the issuer has a path.
    { method: "*", path: `${paths.metadata}/*`, face: oauthFace, crossOrigin: true, handle: metadata },
    {
      method: "GET",
      path: `${paths.resourceMetadata}${apiPath}`,
      face: oauthFace,
      operation: "oauth.resourceMetadata",
      crossOrigin: true,
      handle: resourceMetadata
    },
    // The metadata of a resource at the root of its origin have no path of their own.
    ...(Object.keys(resources).some((uri) => prefixOf(uri) === "")
      ? ([{ ...metadataRoute, path: paths.resourceMetadata }] as const)
      : []),
    { ...metadataRoute, path: `${paths.resourceMetadata}/*` }
  ]
})
