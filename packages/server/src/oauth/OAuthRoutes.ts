/**
 * The routes of the authorization server (document section 4.1, RFC 7009, RFC 7662, RFC 8414).
 */
import { AuthorizationServer, Crypto } from "@doorhook/core"
import type { ClientRequest } from "@doorhook/core"
import { Context, Effect } from "effect"
import type { Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { clientAddress } from "../http/ClientAddress.ts"
import { nothingHere } from "../http/KnownFailures.ts"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { allowed } from "../http/Resource.ts"
import type { Failure } from "./Answers.ts"
import { failure, json, methodNotAllowed, recoverJson, recoverWith, statusOf, unsupportedMediaType } from "./Answers.ts"
import { Appearance } from "./Appearance.ts"
import * as AuthorizeEndpoint from "./AuthorizeEndpoint.ts"
import { readParameters } from "./FormBody.ts"
import { metadataOf, isMetadataPath, paths } from "./Metadata.ts"
import * as Page from "./Page.ts"
import { problemPage } from "./ResultPages.ts"

type Services = AuthorizationServer | Crypto | PageSecret | PublicUrl

type Handler = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  Services | HttpServerRequest.HttpServerRequest
>

/** An endpoint that takes parameters from a client's program and answers in JSON. */
const forClients = (answer: (request: ClientRequest) => Effect.Effect<object, Failure, Services>): Handler =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const parameters = yield* readParameters
    if (parameters === null) return unsupportedMediaType
    const authorization = headers["authorization"] ?? null
    return json(yield* answer({ parameters, authorization, address: yield* clientAddress }))
  }).pipe(recoverJson)

const token = forClients((request) => Effect.flatMap(AuthorizationServer, (service) => service.token(request)))

// The empty object is for libraries that parse any answer as JSON.
const revoke = forClients((request) =>
  Effect.flatMap(AuthorizationServer, (service) => Effect.as(service.revoke(request), {}))
)

const introspect = forClients((request) =>
  Effect.flatMap(AuthorizationServer, (service) => service.introspect(request))
)

const metadata: Handler = Effect.map(PublicUrl, ({ url }) =>
  HttpServerResponse.jsonUnsafe(metadataOf(url), { headers: { "cache-control": "public, max-age=3600" } })
)

/** Answers failures on a page. */
const recoverOnPage = recoverWith((failure) => {
  if (failure === null) return Page.answer(problemPage("Something went wrong inside the service.", 500))
  const { status, headers } = statusOf(failure)
  const message = status === 503 ? "The service is not available at the moment." : failure.message
  return Page.answer(problemPage(message, status, headers))
})

/** Routes a path by method, HEAD as GET; any other method is told which there are. */
const endpoint = (handlers: { readonly GET?: Handler; readonly POST?: Handler }): Handler =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method }) => {
    const handler = method === "POST" ? handlers.POST : /^(?:GET|HEAD)$/.test(method) ? handlers.GET : undefined
    return handler ?? Effect.succeed(methodNotAllowed(allowed(Object.keys(handlers))))
  })

const metadataEndpoint = endpoint({ GET: metadata })

/** The metadata, and once more where clients of a public URL with a path look for it. That of another issuer is not here. */
const metadataOnly: Handler = Effect.gen(function* () {
  const { url: target } = yield* HttpServerRequest.HttpServerRequest
  const { url } = yield* PublicUrl
  const [path = ""] = target.split("?")
  return isMetadataPath(path, url) ? yield* metadataEndpoint : failure(404, nothingHere.message)
})

const endpoints: ReadonlyArray<readonly [HttpRouter.PathInput, Handler]> = [
  [
    paths.authorize,
    endpoint({ GET: recoverOnPage(AuthorizeEndpoint.get), POST: recoverOnPage(AuthorizeEndpoint.post) })
  ],
  [paths.token, endpoint({ POST: token })],
  [paths.revoke, endpoint({ POST: revoke })],
  [paths.introspect, endpoint({ POST: introspect })],
  [`${paths.metadata}/*`, metadataOnly]
]

/**
 * All routes of the authorization server. The server that they run in must trace no queries, which have secrets in them:
 * that happens before a route is found, so that no route can prevent it.
 */
export const OAuthRoutes: Layer.Layer<never, never, HttpRouter.HttpRouter | Services> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const authorization = yield* AuthorizationServer
    const crypto = yield* Crypto
    const pageSecret = yield* PageSecret
    const publicUrl = yield* PublicUrl
    const appearance = yield* Appearance
    for (const [path, answer] of endpoints) {
      // Laid over the request's context in one step.
      const handler = Effect.updateContext(answer, (context: Context.Context<HttpServerRequest.HttpServerRequest>) =>
        context.pipe(
          Context.add(AuthorizationServer, authorization),
          Context.add(Crypto, crypto),
          Context.add(PageSecret, pageSecret),
          Context.add(PublicUrl, publicUrl),
          Context.add(Appearance, appearance)
        )
      )
      yield* router.add("*", path, handler)
    }
  })
)
