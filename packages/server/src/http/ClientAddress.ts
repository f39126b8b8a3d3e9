/**
 * Which network address a request comes from: that of the connection, or, behind reverse proxies that the operator trusts,
 * the one that they say.
 *
 * `X-Forwarded-For` is read from the right, where the nearest proxy writes, up to the first address that is not trusted:
 * what stands further left is the client's own invention.
 */
import { AddressPolicy } from "@doorhook/core"
import { Context, Effect, Option } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { NetAddress } from "effect/net"
import { ownRequests } from "../OwnPaths.ts"
import { HttpSettings } from "./HttpSettings.ts"

/** The address of the peer of a web request, which has none of its own; null when whoever hands it on does not say. */
export const PeerAddress = Context.Reference<string | null>("@doorhook/server/http/PeerAddress", {
  defaultValue: () => null
})

/** Headers in which proxies say whose request they pass on. */
const proxyHeader = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|.*client-ip|(?:proxy|cf|cdn|fastly|fly|akamai)-.*)$/

/** A header of a request that shows that it came through a proxy; undefined when none does. */
export const proxyHeaderOf = ({ headers }: HttpServerRequest.HttpServerRequest): string | undefined =>
  Object.keys(headers).find((name) => proxyHeader.test(name))

/** The address of the request being answered; null when nobody knows. */
export const clientAddress = Effect.map(HttpServerRequest.HttpServerRequest, ({ remoteAddress }) =>
  Option.getOrNull(remoteAddress)
)

/** Puts the peer's address on a web request. */
const withPeer = <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.withFiber<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>((fiber) => {
    const peer = fiber.getRef(PeerAddress)
    return peer === null
      ? handler
      : Effect.updateService(handler, HttpServerRequest.HttpServerRequest, (request) =>
          request.modify({ remoteAddress: Option.some(peer) })
        )
  })

/** Says, once, that a proxy is in front that nobody named: then all its users count as one address. */
const makeWarning = (isTrusted: (peer: string) => boolean) => {
  let isTold = false
  return (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> => {
    if (isTold || request.headers["x-forwarded-for"] === undefined) return Effect.void
    const peer = Option.getOrNull(request.peerAddress)
    if (peer !== null && isTrusted(peer)) return Effect.void
    isTold = true
    return Effect.logWarning(
      `A request with X-Forwarded-For came from ${peer ?? "an address that is not known"}, which is not named as a trusted proxy. The header is not believed: all who come that way count as one address, and whoever guesses passwords there has the others wait too. If that is your reverse proxy, name its network with --trusted-proxy or trustedProxies; if not, nothing is wrong. This is logged once.`
    )
  }
}

/** Finds out the address of each request to doorhook before a route sees it. */
export const ClientAddress = HttpRouter.middleware(
  Effect.gen(function* () {
    const { trustedProxies } = yield* HttpSettings
    const isOurs = yield* ownRequests
    const isTrusted = (address: string): boolean => AddressPolicy.isInside(address, trustedProxies)
    const forwarded = HttpMiddleware.xForwardedHeaders({
      trustedProxies: (address) => isTrusted(NetAddress.formatIp(address))
    })
    const warn = makeWarning(isTrusted)
    return <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => {
      const believed = trustedProxies.length === 0 ? handler : forwarded(handler)
      return withPeer(
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          isOurs(request.url) ? Effect.andThen(warn(request), believed) : handler
        )
      )
    }
  }),
  { global: true }
)
