/**
 * Which network addresses a delivery may go to.
 *
 * Integrations are made by third parties, so their URLs must not reach what only this machine can: special-purpose
 * ranges (the IANA registries of RFC 6890) are refused unless an allow-list names them. IPv6 addresses that embed an
 * IPv4 address are judged by both.
 */
import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** Networks that may be reached although they are special. */
export type AllowList = ReadonlyArray<IpNetwork.IpNetwork>

const networks = (...texts: ReadonlyArray<string>): AllowList => texts.map(IpNetwork.fromStringUnsafe)

const refused: AllowList = networks(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, cloud metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relay
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
  "::/96", // unspecified, loopback, IPv4-compatible
  "64:ff9b::/96", // NAT64
  "64:ff9b:1::/48", // local NAT64
  "100::/64", // discard
  "100:0:0:1::/64", // dummy
  "2001::/23", // protocol assignments, Teredo, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
  "5f00::/16", // segment routing
  "fc00::/7", // unique local
  "fe80::/10", // link-local
  "fec0::/10", // site-local
  "ff00::/8" // multicast
)

const covers = (list: AllowList, address: NetAddress.IpAddress): boolean =>
  list.some(
    (network) =>
      NetAddress.familyOf(network.address) === NetAddress.familyOf(address) && IpNetwork.contains(network, address)
  )

/** Whether an address in text form may be connected to. Text that is no address may not. */
export const isAllowedAddress = (text: string, allow: AllowList): boolean => {
  const zoneless = text.split("%")[0] ?? text
  return Option.match(Result.getSuccess(NetAddress.ipFromString(zoneless)), {
    onNone: () => false,
    onSome: (parsed) => {
      const address = NetAddress.toCanonical(parsed)
      return covers(allow, address) || !covers(refused, address)
    }
  })
}

/** A CIDR in text form (`10.0.0.0/8`), or a single address; none when it is neither. */
export const parseNetwork = (text: string): Option.Option<IpNetwork.IpNetwork> =>
  Result.getSuccess(
    text.includes("/")
      ? IpNetwork.fromString(text)
      : Result.flatMap(NetAddress.ipFromString(text), (address) => IpNetwork.make(address, NetAddress.width(address)))
  )
