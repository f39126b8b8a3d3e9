/**
 * Special addresses, copied from the registries so that they check the code independently: all blocks of the IANA
 * special-purpose registries for IPv4 and IPv6, the multicast, reserved and deprecated blocks of the address space
 * registries, and addresses with a special meaning inside clouds.
 */
import { AddressPolicy } from "@doorhook/core"
import { Option } from "effect"
import fc from "fast-check"
import { BlockList, isIPv4 } from "node:net"

export const networks = (...texts: ReadonlyArray<string>): AddressPolicy.AllowList =>
  texts.map((text) => Option.getOrThrow(AddressPolicy.parseNetwork(text)))

export const ipv4Blocks = [
  "0.0.0.0/8",
  "0.0.0.0/32",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.0.0/29",
  "192.0.0.8/32",
  "192.0.0.9/32",
  "192.0.0.10/32",
  "192.0.0.170/32",
  "192.0.0.171/32",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.88.99.2/32",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "255.255.255.255/32"
]

export const ipv6Blocks = [
  "::/8", // reserved, except for IPv4-mapped addresses, which are judged as IPv4 addresses
  "::/128",
  "::1/128",
  "::/96", // IPv4-compatible
  "::ffff:0:0:0/96", // IPv4-translated
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/8",
  "100::/64",
  "100:0:0:1::/64",
  "200::/7", // OSI NSAP, and overlay networks
  "400::/6",
  "800::/5",
  "1000::/4",
  "2001::/23",
  "2001::/32",
  "2001:1::1/128",
  "2001:1::2/128",
  "2001:1::3/128",
  "2001:2::/48",
  "2001:3::/32",
  "2001:4:112::/48",
  "2001:10::/28",
  "2001:20::/28",
  "2001:30::/28",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
  "4000::/3",
  "5f00::/16",
  "6000::/3",
  "8000::/3",
  "a000::/3",
  "c000::/3",
  "e000::/4",
  "f000::/5",
  "f800::/6",
  "fc00::/7",
  "fe00::/9",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8"
]

export const parts = (block: string): readonly [address: string, prefix: number] => {
  const [address = "", prefix] = block.split("/")
  return [address, Number(prefix)]
}

/** Returns a check that uses Node's own address arithmetic, which is independent of the policy. */
const inRegistry = (blocks: ReadonlyArray<string>, family: "ipv4" | "ipv6") => {
  const list = new BlockList()
  for (const [address, prefix] of blocks.map(parts)) list.addSubnet(address, prefix, family)
  return (address: string): boolean => list.check(address, family)
}
export const isSpecialIpv4 = inRegistry(ipv4Blocks, "ipv4")
export const isSpecialIpv6 = inRegistry(ipv6Blocks, "ipv6")

export const ipv4Text = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".")

export const ipv6Text = (value: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(":")

/** Converts an address, written as in the lists above, to a number. */
export const numberOf = (address: string): bigint => {
  if (isIPv4(address)) return address.split(".").reduce((sum, octet) => sum * 256n + BigInt(octet), 0n)
  const [head = [], tail = []] = address.split("::").map((half) => (half === "" ? [] : half.split(":")))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0")
  return [...head, ...zeros, ...tail].reduce((sum, segment) => sum * 65_536n + BigInt(`0x${segment}`), 0n)
}

/** Generates an address within one of the blocks, as a number. */
export const inside = (blocks: ReadonlyArray<string>, width: number): fc.Arbitrary<bigint> =>
  fc.constantFrom(...blocks).chain((block) => {
    const [address, prefix] = parts(block)
    return fc.bigInt({ min: 0n, max: 2n ** BigInt(width - prefix) - 1n }).map((host) => numberOf(address) + host)
  })

export const anyIpv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })

/**
 * Generates notations of an IPv6 address: zeros compressed or not, upper or lower case, the last 32 bits dotted or not.
 */
export const hostOfIpv6 = (value: bigint): fc.Arbitrary<string> => {
  const long = ipv6Text(value)
  const dotted = `${ipv6Text(value).split(":").slice(0, 6).join(":")}:${ipv4Text(value & 0xffffffffn)}`
  const short = URL.parse(`http://[${long}]/`)?.hostname.slice(1, -1) ?? long
  const padded = long.replaceAll(/[0-9a-f]+/g, (segment) => segment.padStart(4, "0"))
  return fc.constantFrom(...[long, dotted, short, padded].flatMap((text) => [text, text.toUpperCase()]))
}
