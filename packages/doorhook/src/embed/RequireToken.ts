/**
 * Checks doorhook's access tokens on the host's own routes: finds the identity behind a token, and provides middleware
 * that refuses requests without a valid token (RFC 6750).
 */
import type { Audience, Principal } from "@doorhook/core"
import { isoOf, publicScope, unboundOnly } from "@doorhook/core"
import {
  authorizationsIn,
  bareAnswer,
  insufficientScope,
  isRepeated,
  metadataUrlOfResource,
  readBearer,
  repeatedAuthorization,
  unauthorized
} from "@doorhook/server"
import type { RequestFailure } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { DoorhookError } from "../DoorhookError.ts"
import { badArgument, optionsOf } from "./Arguments.ts"
import { answerTo, asError } from "./NodeHandler.ts"
import type { HostLog } from "./NodeHandler.ts"

/** The user and client of an access token. */
export interface TokenIdentity {
  /** The user's id in the directory. */
  readonly user_id: string
  /** The `client_id` of the OAuth client that acts for the user. */
  readonly client_id: string
  /** The scopes of the token, like `["public", "doors:open"]`. */
  readonly scopes: ReadonlyArray<string>
  /** When the token expires, ISO 8601 UTC. */
  readonly expires_at: string
}

/** Requirements on a token. */
export interface TokenOptions {
  /** Scope that the token must have: `public`, or a scope declared in the option `scopes`. Default: any. */
  readonly scope?: string | undefined
  /**
   * The API that the token must be for, as declared in the option `resources` (RFC 8707). Default: only tokens that
   * were requested without a resource are accepted.
   */
  readonly resource?: string | undefined
}

/** Any object with headers, like a web request, or a request of `node:http` or a framework. */
export interface RequestWithHeaders {
  /** A web `Headers` object, or an object with names in lower case. */
  readonly headers: object
}

declare module "node:http" {
  interface IncomingMessage {
    /** The identity of the request's access token, set by `doorhook.requireToken`. */
    doorhook?: TokenIdentity
  }
}

/** The members of a Hono context that the middleware uses. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request }
  readonly set: (key: never, value: never) => void
}

/** The members of a Fastify request that the middleware uses. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage
}
/** The members of a Fastify reply that the middleware uses. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse
  code(status: number): unknown
  header(name: string, value: string): unknown
  send(body: string): unknown
}

/**
 * Refuses requests without a valid access token. Works as middleware of Express, Connect (identity in
 * `request.doorhook`) and Hono (`c.get("doorhook")`), and as a `preHandler` of Fastify (`request.doorhook`).
 */
export interface TokenMiddleware {
  (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown>
  (context: HonoContextLike, next: () => Promise<void>): Promise<Response | undefined>
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void
}

interface TokenChecks {
  /** Returns the identity behind a token; null if the token is not valid. */
  readonly identify: (token: string, audience: Audience) => Promise<Principal | null>
  /** The scopes that the host declares. */
  readonly declared: ReadonlyArray<string>
  /** The resources that the host declares. */
  readonly resources: ReadonlyArray<string>
  readonly log: HostLog
  /** Returns the URL of the metadata by which a client without a valid token finds the authorization server. */
  readonly metadata: () => string
}

/** The `Authorization` headers of a request. */
interface Credentials {
  readonly header: string | undefined
  readonly all: ReadonlyArray<string>
}

const textIn = (headers: object): string | undefined => {
  if (Predicate.hasProperty(headers, "get") && Predicate.isFunction(headers.get)) {
    const value: unknown = headers.get("authorization")
    return Predicate.isString(value) ? value : undefined
  }
  const value: unknown = Predicate.hasProperty(headers, "authorization") ? headers.authorization : undefined
  return Predicate.isString(value) ? value : undefined
}

const credentialsOf = (given: unknown): Credentials => {
  if (given === undefined || given === null) return { header: undefined, all: [] }
  if (Predicate.isString(given)) return { header: given, all: [] }
  if (!Predicate.hasProperty(given, "headers") || !Predicate.isObject(given.headers)) {
    throw badArgument("request", "a request with headers, or the value of an Authorization header", given)
  }
  const source: unknown = Predicate.hasProperty(given, "raw") ? given.raw : given
  const list: unknown = Predicate.hasProperty(source, "rawHeaders") ? source.rawHeaders : []
  return { header: textIn(given.headers), all: authorizationsIn(Array.isArray(list) ? list.map(String) : []) }
}

const isTwice = ({ all, header }: Credentials): boolean =>
  isRepeated({ header: () => header, authorizations: () => all })

/** What a call requires of a token. */
interface Requirements {
  /** Null for any scope. */
  readonly scope: string | null
  readonly audience: Audience
}

/** Reads the requirements of a call. Throws for an undeclared scope or resource, which is a programming error. */
const requirementsIn = (
  options: TokenOptions | null | undefined,
  { declared, resources }: Pick<TokenChecks, "declared" | "resources">
): Requirements => {
  const given = optionsOf(options, ["scope", "resource"])
  // A value of undefined probably comes from a failed lookup. Ignoring it would leave the route less protected than
  // intended.
  const read = (name: "scope" | "resource", known: ReadonlyArray<string>): string | null => {
    if (!(name in given)) return null
    const value = given[name]
    if (value !== undefined && known.includes(value)) return value
    throw new DoorhookError(
      "bad_request",
      `${name}: ${JSON.stringify(value) ?? "undefined"} is not declared. Name one declared ${name}, or leave out \`${name}\`. The option \`${name}s\` of createDoorhook declares ${name}s. Declared ${name}s: ${known.length === 0 ? "none" : known.join(", ")}`
    )
  }
  const resource = read("resource", resources)
  return {
    scope: read("scope", [publicScope, ...declared]),
    audience: resource === null ? unboundOnly : { resource, acceptsUnbound: false }
  }
}

const identityOf = ({ client_id, expires_at, scopes, user_id }: Principal): TokenIdentity => ({
  user_id,
  client_id,
  scopes,
  expires_at: isoOf(expires_at)
})

/** Makes `doorhook.authenticate`. */
export const makeAuthenticate =
  (checks: Pick<TokenChecks, "declared" | "identify" | "resources">) =>
  async (
    given: RequestWithHeaders | string | null | undefined,
    options?: TokenOptions
  ): Promise<TokenIdentity | null> => {
    const { audience, scope } = requirementsIn(options, checks)
    const credentials = credentialsOf(given)
    const presented = readBearer(credentials.header)
    if (presented._tag !== "Token" || isTwice(credentials)) return null
    const principal = await checks.identify(presented.token, audience)
    if (principal === null || (scope !== null && !principal.scopes.includes(scope))) return null
    return identityOf(principal)
  }

/** The identity of a request's token, or the reason to refuse the request. */
type Checked = { readonly identity: TokenIdentity } | { readonly refusal: RequestFailure }

/** Makes `doorhook.requireToken`. */
export const makeRequireToken =
  (checks: TokenChecks) =>
  (options?: TokenOptions): TokenMiddleware => {
    const { audience, scope } = requirementsIn(options, checks)
    const metadata = (): string =>
      audience.resource === null ? checks.metadata() : metadataUrlOfResource(audience.resource)

    const check = async (request: RequestWithHeaders): Promise<Checked> => {
      const credentials = credentialsOf(request)
      if (isTwice(credentials)) return { refusal: repeatedAuthorization }
      const presented = readBearer(credentials.header)
      const principal = presented._tag === "Token" ? await checks.identify(presented.token, audience) : null
      if (principal === null) return { refusal: unauthorized(presented, metadata()) }
      if (scope !== null && !principal.scopes.includes(scope)) {
        return { refusal: insufficientScope(scope, metadata()) }
      }
      return { identity: identityOf(principal) }
    }

    const inFastify = async (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
      const checked = await check(request.raw)
      if ("identity" in checked) {
        Reflect.set(request, "doorhook", checked.identity)
        return undefined
      }
      const { body, headers, status } = bareAnswer(checked.refusal)
      reply.code(status)
      for (const [name, value] of Object.entries(headers)) reply.header(name, value)
      return reply.send(body)
    }

    const inHono = async (context: HonoContextLike, next: () => Promise<void>): Promise<Response | undefined> => {
      // The error is caught here, because Hono would ignore its status and respond with 500.
      const checked = await check(context.req.raw).catch((error: unknown) => asError(error))
      if ("identity" in checked) {
        Reflect.apply(context.set, context, ["doorhook", checked.identity])
        await next()
        return undefined
      }
      const answer = checked instanceof Error ? answerTo(checked, checks.log) : bareAnswer(checked.refusal)
      return new Response(answer.body, { status: answer.status, headers: answer.headers })
    }

    const inNode = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void => {
      check(request).then((checked) => {
        if ("identity" in checked) {
          request.doorhook = checked.identity
          return next()
        }
        // The host might have responded already, for example after a timeout.
        if (response.headersSent) return
        const { body, headers, status } = bareAnswer(checked.refusal)
        response.writeHead(status, headers).end(body)
      }, next)
    }

    function middleware(request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown>
    function middleware(context: HonoContextLike, next: () => Promise<void>): Promise<Response | undefined>
    function middleware(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void
    function middleware(
      first: FastifyRequestLike | HonoContextLike | IncomingMessage,
      second: FastifyReplyLike | ServerResponse | (() => Promise<void>),
      next?: (error?: unknown) => void
    ): unknown {
      if ("req" in first && Predicate.isFunction(second)) return inHono(first, second)
      if ("raw" in first && "raw" in second) return inFastify(first, second)
      if ("rawHeaders" in first && "writeHead" in second && next !== undefined) return inNode(first, second, next)
      throw badArgument("request", "a request of Express, Fastify, Hono or node:http", first)
    }
    return middleware
  }
