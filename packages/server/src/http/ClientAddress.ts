/**
 * The network address of a client: the address of the connection, or the address that trusted reverse proxies report.
 *
 * `X-Forwarded-For` is read from the right, where the nearest proxy appends, up to the first untrusted address. The
 * client may have forged everything to the left of that address.
 */
import { AddressPolicy } from "@doorhook/core"
import { Effect, Result } from "effect"
import { NetAddress } from "effect/net"
import type { Exchange, Incoming } from "./Exchange.ts"

/** Headers in which proxies report the original client. */
const proxyHeader = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|.*client-ip|(?:proxy|cf|cdn|fastly|fly|akamai)-.*)$/

/** Returns the name of the first header that only proxies add; undefined if there is none. */
export const proxyHeaderOf = (x: Exchange): string | undefined =>
  Object.keys(x.headers()).find((name) => proxyHeader.test(name))

/** Reads an address in `X-Forwarded-For`, with or without port and brackets. Returns null for anything else. */
const parseHop = (text: string): string | null => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const address = Result.orElse(NetAddress.ipFromString(bare), () =>
    Result.map(NetAddress.inetAddressFromString(text), (found) => found.address)
  )
  return Result.isSuccess(address) ? NetAddress.formatIp(NetAddress.toCanonical(address.success)) : null
}

/** Makes a function that finds the client's address. Logs once when requests come through an untrusted proxy. */
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
        `A request with X-Forwarded-For came from ${peer ?? "an unknown address"}, which is not a trusted proxy. The header is ignored: all clients behind this address count as one client, and wrong passwords from one of them slow down the others. If this address is your reverse proxy, set its network with --trusted-proxy or trustedProxies; if not, nothing is wrong. This is logged once.`
      )
    )
  }
  return (incoming) => {
    const { peer } = incoming
    const forwarded = incoming.header("x-forwarded-for")
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
