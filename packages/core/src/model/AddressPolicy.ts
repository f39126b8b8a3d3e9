/**
 * Decides which network addresses deliveries may be sent to.
 *
 * Third parties create integrations, so an integration's URL must not lead into networks that only this machine can
 * reach. Special-purpose ranges are therefore refused unless an allow-list contains them: the ranges of the IANA
 * registries (RFC 6890), and one public address that serves cloud metadata. Registry ranges marked as globally
 * reachable are refused too, because they are anycast services without webhook receivers. In IPv6, everything outside
 * 2000::/3, the range for global unicast (RFC 4291), is refused.
 */
import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** Special-purpose networks that may be reached. */
export type AllowList = ReadonlyArray<IpNetwork.IpNetwork>

const networks = (...texts: ReadonlyArray<string>): AllowList => texts.map(IpNetwork.fromStringUnsafe)

const globalUnicast = networks("2000::/3")

const special: AllowList = networks(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // cloud metadata, although a public address
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
  "2001::/23", // protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20" // documentation
)

const covers = (list: AllowList, address: NetAddress.IpAddress): boolean =>
  list.some((network) => IpNetwork.contains(network, address))

const isSpecial = (address: NetAddress.IpAddress): boolean =>
  covers(special, address) || (NetAddress.isIpv6Address(address) && !covers(globalUnicast, address))

const ipv4Of = (high: number, low: number): NetAddress.Ipv4Address =>
  NetAddress.ipv4FromBytesUnsafe(Uint8Array.of(high >> 8, high & 255, low >> 8, low & 255))

/**
 * Returns the IPv4 addresses that a transition mechanism may route an IPv6 address to: IPv4-compatible and
 * IPv4-translated addresses, NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380) and ISATAP (RFC 5214).
 */
const embeddedIn = (address: NetAddress.Ipv6Address): ReadonlyArray<NetAddress.Ipv4Address> => {
  const [a, b, c, d, e, f, g, h] = NetAddress.ipv6ToSegments(address)
  const last = ipv4Of(g, h)
  const isZero = (...segments: ReadonlyArray<number>): boolean => segments.every((segment) => segment === 0)
  // The unspecified address and loopback have the form of IPv4-compatible addresses, but are not.
  if (isZero(a, b, c, d, e, f)) return g === 0 && h <= 1 ? [] : [last]
  if (isZero(a, b, c, d, f) && e === 0xffff) return [last]
  if (a === 0x64 && b === 0xff9b && isZero(c, d, e, f)) return [last]
  if (a === 0x2002) return [ipv4Of(b, c)]
  if (a === 0x2001 && b === 0) return [ipv4Of(c, d), ipv4Of(g ^ 0xffff, h ^ 0xffff)]
  if ((e === 0 || e === 0x200) && f === 0x5efe) return [last]
  return []
}

/** Parses an address, ignoring its zone. An IPv4-mapped address becomes the IPv4 address. */
const parseAddress = (text: string): Option.Option<NetAddress.IpAddress> =>
  Option.map(Result.getSuccess(NetAddress.ipFromString(text.split("%")[0] ?? text)), (address): NetAddress.IpAddress =>
    NetAddress.toCanonical(address)
  )

/**
 * Whether a connection to an address in text form is allowed. If the address embeds an IPv4 address, both must be
 * allowed. False for text that is not an address.
 */
export const isAllowedAddress = (text: string, allow: AllowList): boolean =>
  Option.exists(parseAddress(text), (address) => {
    const embedded = NetAddress.isIpv6Address(address) ? embeddedIn(address) : []
    return [address, ...embedded].every((one) => covers(allow, one) || !isSpecial(one))
  })

/** Whether an address in text form belongs to one of the networks. */
export const isInside = (text: string, list: AllowList): boolean =>
  Option.exists(parseAddress(text), (address) => covers(list, address))

/**
 * Converts an IPv4-mapped network (`::ffff:10.0.0.0/104`) to the IPv4 network. The prefix of such a network has at
 * least 96 bits. With a shorter prefix, the one-bits of `ffff` would be host bits, which must be zero.
 */
const canonical = (network: IpNetwork.IpNetwork): Result.Result<IpNetwork.IpNetwork, NetAddress.NetAddressError> => {
  const address = NetAddress.toCanonical(network.address)
  return address === network.address ? Result.succeed(network) : IpNetwork.make(address, network.prefixLength - 96)
}

/** Parses a CIDR (`10.0.0.0/8`) or a single address. None for other text. */
export const parseNetwork = (text: string): Option.Option<IpNetwork.IpNetwork> =>
  Result.getSuccess(
    Result.flatMap(
      text.includes("/")
        ? IpNetwork.fromString(text)
        : Result.flatMap(NetAddress.ipFromString(text), (address) =>
            IpNetwork.make(address, NetAddress.width(address))
          ),
      canonical
    )
  )
