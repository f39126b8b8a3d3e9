/**
 * Filters requests by the sender's address.
 */
import { BlockList, isIP } from "node:net"
import { InvalidOption } from "./Problem.ts"

const familyOf = (address: string): "ipv4" | "ipv6" | null => {
  const version = isIP(address)
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : null
}

/** Converts an IPv4-mapped address like `::ffff:203.0.113.7` to IPv4. */
const unmapped = (address: string): string =>
  address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "").replace(/%.*$/, "")

/**
 * Makes a filter that accepts addresses in the given ranges, each like `203.0.113.0/24` or a single address. Throws
 * `InvalidOption` for an invalid range.
 */
export const addressFilter = (ranges: ReadonlyArray<string>): ((address: string) => boolean) => {
  const allowed = new BlockList()
  for (const range of ranges) {
    const [address = "", prefix, ...more] = range.split("/")
    const family = familyOf(address)
    const longest = family === "ipv4" ? 32 : 128
    const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
    if (family === null || length < 0 || length > longest || more.length > 0) {
      throw new InvalidOption("addresses", `${range} is not a range; write one like 203.0.113.0/24 or 2001:db8::/32`)
    }
    allowed.addSubnet(address, length, family)
  }
  return (given) => {
    const address = unmapped(given)
    const family = familyOf(address)
    return family !== null && allowed.check(address, family)
  }
}
