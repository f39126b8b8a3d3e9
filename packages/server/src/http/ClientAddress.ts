/**
 * Which network address a request comes from: the connection's, or, behind reverse proxies that the operator trusts, the one
 * that they report.
 *
 * `X-Forwarded-For` is read from the right, where the nearest proxy writes, up to the first address that is not trusted. What
 * stands further left anybody can have made up.
 */
import { AddressPolicy } from "@doorhook/core"
import { Effect, Result } from "effect"
import { NetAddress } from "effect/net"
import type { Exchange, Incoming } from "./Exchange.ts"

/** Headers in which proxies say whose request they pass on. */
const proxyHeader = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|.*client-ip|(?:proxy|cf|cdn|fastly|fly|akamai)-.*)$/

/** A header of a request that shows that it came through a proxy; undefined without one. */
export const proxyHeaderOf = (x: Exchange): string | undefined =>
  Object.keys(x.headers()).find((name) => proxyHeader.test(name))

/** An address in a list of proxies, which may have a port and brackets; null for what is none. */
const parseHop = (text: string): string | null => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const address = Result.orElse(NetAddress.ipFromString(bare), () =>
    Result.map(NetAddress.inetAddressFromString(text), (found) => found.address)
  )
  return Result.isSuccess(address) ? NetAddress.formatIp(NetAddress.toCanonical(address.success)) : null
}

/** Finds the client's address, and logs once that requests come through a proxy that is not trusted. */
export const makeClientAddress = (
  trustedProxies: AddressPolicy.AllowList,
  log: (warning: Effect.Effect<void>) => void
): ((incoming: Incoming) => string | null) => {
  const isTrusted = (address: string): boolean => AddressPolicy.isInside(address, trustedProxies)
  let isWarned = false
  const warn = (peer: string | null): void => {
    if (isWarned) return
    isWarned = true
    log(
      Effect.logWarning(
        `A request with X-Forwarded-For came from ${peer ?? "an unknown address"}, which is not a trusted proxy. The header is ignored: all clients behind it count as one address, and wrong passwords from one slow down the others. If that is your reverse proxy, name its network with --trusted-proxy or trustedProxies; if not, nothing is wrong. This is logged once.`
      )
    )
  }
  return ({ header, peer }) => {
    const forwarded = header("x-forwarded-for")
    if (forwarded === undefined) return peer
    if (peer === null || !isTrusted(peer)) {
      warn(peer)
      return peer
    }
    const hops = forwarded.split(",").map((hop) => parseHop(hop.trim()))
    for (let at = hops.length - 1; at >= 0; at--) {
      const hop = hops[at] ?? null
      if (hop === null) return peer
      if (at === 0 || !isTrusted(hop)) return hop
    }
    return peer
  }
}
