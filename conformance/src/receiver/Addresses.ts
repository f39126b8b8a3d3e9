/**
 * An IP filter: which addresses deliveries may come from.
 */
import { BlockList, isIP } from "node:net"

/** A range that can't be read. */
export class InvalidRange extends Error {
  override readonly name = "InvalidRange"
}

const familyOf = (address: string): "ipv4" | "ipv6" | null => {
  const version = isIP(address)
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : null
}

/** An IPv4 address that came in through an IPv6 socket is that IPv4 address. */
const unwrapped = (address: string): string =>
  address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "").replace(/%.*$/, "")

/** Whether an address is in one of the ranges, each like `203.0.113.0/24` or one address. Throws `InvalidRange`. */
export const makeAddressFilter = (ranges: ReadonlyArray<string>): ((address: string) => boolean) => {
  const allowed = new BlockList()
  for (const range of ranges) {
    const [address = "", prefix, ...more] = range.split("/")
    const family = familyOf(address)
    const longest = family === "ipv4" ? 32 : 128
    const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
    if (family === null || length < 0 || length > longest || more.length > 0) {
      throw new InvalidRange(`${range} is no range of addresses; write one like 203.0.113.0/24 or 2001:db8::/32`)
    }
    allowed.addSubnet(address, length, family)
  }
  return (given) => {
    const address = unwrapped(given)
    const family = familyOf(address)
    return family !== null && allowed.check(address, family)
  }
}
