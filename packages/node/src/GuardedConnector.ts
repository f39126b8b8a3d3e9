/**
 * Connects only to addresses that the address policy allows.
 *
 * undici's connector asks `lookup` for names but not for literal addresses, so there are three checks: the literal
 * before, every answer of the look-up (one bad answer refuses the name), and the peer of the connected socket.
 */
import { AddressPolicy } from "@doorhook/core"
import { lookup } from "node:dns"
import { isIP } from "node:net"
import type { LookupFunction } from "node:net"
import { buildConnector } from "undici"

/** A connection was refused because of where it leads. */
export class BlockedAddressError extends Error {
  readonly code = "DOORHOOK_BLOCKED_ADDRESS"
  constructor(host: string, address: string) {
    const where = host === address ? address : `${host} resolves to ${address}, which`
    super(`${where} is private or reserved and not on the allow-list`)
  }
}

const guardedLookup =
  (allow: AddressPolicy.AllowList): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const bad = addresses.find(({ address }) => !AddressPolicy.isAllowedAddress(address, allow))
      const first = addresses[0]
      if (bad !== undefined) return callback(new BlockedAddressError(hostname, bad.address), [])
      if (options.all === true || first === undefined) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }

/** A connector for undici. `timeout`, in milliseconds, bounds connecting and the TLS handshake. */
export const make = (allow: AddressPolicy.AllowList, timeout: number): buildConnector.connector => {
  const connect = buildConnector({ timeout, lookup: guardedLookup(allow) })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, "")
    if (isIP(host) !== 0 && !AddressPolicy.isAllowedAddress(host, allow)) {
      callback(new BlockedAddressError(host, host), null)
      return
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      const peer = socket.remoteAddress
      if (peer === undefined || !AddressPolicy.isAllowedAddress(peer, allow)) {
        socket.destroy()
        return callback(new BlockedAddressError(host, peer ?? "an unknown address"), null)
      }
      return callback(null, socket)
    })
  }
}
