/**
 * The HTTP surface as a Fastify plugin: `app.register(doorhook.fastify)`, optionally with a `prefix`.
 *
 * The types declare only what the plugin needs, so that Fastify is not a dependency.
 */
import type { Apis } from "@doorhook/server"
import { metadataPrefixes, ownPaths, ownPrefixes, pathsOf, resourceMetadataPath } from "@doorhook/server"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { NodeRequestHandler } from "./NodeHandler.ts"

interface FastifyRequest {
  readonly raw: IncomingMessage
}

interface FastifyReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** The methods of a Fastify instance that the plugin uses. */
export interface FastifyHost {
  readonly prefix: string
  readonly supportedMethods: ReadonlyArray<string>
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parser: (request: FastifyRequest, payload: IncomingMessage, done: (error: Error | null) => void) => void
  ): unknown
  route(route: {
    readonly method: Array<string>
    readonly url: string
    readonly handler: (request: FastifyRequest, reply: FastifyReply) => void
  }): unknown
}

/**
 * A Fastify plugin. The host's hooks run before the plugin. The host's body parsers do not run, because doorhook reads
 * bodies itself.
 */
export type FastifyPlugin = (instance: FastifyHost, options: object, done: (error?: Error) => void) => void

/** Makes the plugin. It calls `seen` with each request and the plugin's prefix. */
export const makeFastifyPlugin =
  (handle: NodeRequestHandler, apis: Apis, seen: (request: IncomingMessage, mount: string) => void): FastifyPlugin =>
  (instance, _, done) => {
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
    const route = (url: string): unknown =>
      instance.route({
        method: [...instance.supportedMethods],
        url,
        handler: ({ raw }, reply) => {
          reply.hijack()
          seen(raw, instance.prefix)
          const target = raw.url ?? "/"
          if (target.startsWith(instance.prefix)) raw.url = target.slice(instance.prefix.length)
          handle(raw, reply.raw)
        }
      })
    for (const path of [...ownPaths, ...pathsOf(apis), resourceMetadataPath]) route(path)
    // The public URL determines which paths of metadata belong to doorhook (RFC 8414 section 3.1, RFC 9728 section 3.1).
    // The others get 404.
    for (const prefix of [...metadataPrefixes, ...ownPrefixes]) route(`${prefix}*`)
    done()
  }
