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
import { HttpSettings } from "./HttpSettings.ts"

/** The address of the peer of a web request, which has none of its own; null when whoever hands it on does not say. */
export const PeerAddress = Context.Reference<string | null>("@doorhook/server/http/PeerAddress", {
  defaultValue: () => null
})

/** The address of the request being answered; null when nobody knows. */
export const clientAddress = Effect.map(HttpServerRequest.HttpServerRequest, ({ remoteAddress }) =>
  Option.getOrNull(remoteAddress)
)

/** Puts the peer's address on a web request. */
const withPeer = <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.flatMap(PeerAddress, (peer) =>
    peer === null
      ? handler
      : Effect.updateService(handler, HttpServerRequest.HttpServerRequest, (request) =>
          request.modify({ remoteAddress: Option.some(peer) })
        )
  )

/** Finds out the address of each request before a route sees it. */
export const ClientAddress = HttpRouter.middleware(
  Effect.map(HttpSettings, ({ trustedProxies }) => {
    const forwarded = HttpMiddleware.xForwardedHeaders({
      trustedProxies: (address) => AddressPolicy.isInside(NetAddress.formatIp(address), trustedProxies)
    })
    return <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
      withPeer(trustedProxies.length === 0 ? handler : forwarded(handler))
  }),
  { global: true }
)
