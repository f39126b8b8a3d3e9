import { AddressPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import fc from "fast-check"
import {
  anyIpv4,
  hostOfIpv6,
  inside,
  ipv4Blocks,
  ipv4Text,
  ipv6Blocks,
  ipv6Text,
  isSpecialIpv4,
  isSpecialIpv6,
  networks,
  numberOf,
  parts
} from "../delivery/addresses.ts"

const isAllowed = (address: string, ...allow: ReadonlyArray<string>) =>
  AddressPolicy.isAllowedAddress(address, networks(...allow))

describe("AddressPolicy", () => {
  it("refuses every address of every special block, in every notation", () => {
    fc.assert(
      fc.property(inside(ipv4Blocks, 32), (value) => {
        assert.isFalse(isAllowed(ipv4Text(value)), ipv4Text(value))
        assert.isFalse(isAllowed(`::ffff:${ipv4Text(value)}`))
        assert.isFalse(isAllowed(ipv6Text(0xffff00000000n + value)))
      }),
      { numRuns: 1_000 }
    )
    fc.assert(
      fc.property(
        inside(ipv6Blocks, 128).chain((value) => hostOfIpv6(value)),
        fc.constantFrom("", "%eth0", "%1"),
        (address, zone) => {
          assert.isFalse(isAllowed(address + zone), address + zone)
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("refuses the first and the last address of each block, and allows their neighbours outside all blocks", () => {
    for (const [blocks, width, text, isSpecial] of [
      [ipv4Blocks, 32, ipv4Text, isSpecialIpv4],
      [ipv6Blocks, 128, ipv6Text, isSpecialIpv6]
    ] as const) {
      for (const block of blocks) {
        const [address, prefix] = parts(block)
        const first = numberOf(address)
        const last = first + 2n ** BigInt(width - prefix) - 1n
        assert.isFalse(isAllowed(text(first)), text(first))
        assert.isFalse(isAllowed(text(last)), text(last))
        for (const neighbour of [first - 1n, last + 1n]) {
          if (neighbour < 0n || neighbour >= 2n ** BigInt(width)) continue
          const expected = !isSpecial(text(neighbour))
          assert.strictEqual(isAllowed(text(neighbour)), expected, text(neighbour))
        }
      }
    }
  })

  it("allows every other IPv4 address", () => {
    fc.assert(
      fc.property(anyIpv4.map(ipv4Text), (address) => {
        assert.strictEqual(isAllowed(address), !isSpecialIpv4(address), address)
      }),
      { numRuns: 2_000 }
    )
  })

  it("allows every other global unicast IPv6 address", () => {
    const globalUnicast = fc.bigInt({ min: 0n, max: 2n ** 125n - 1n }).map((rest) => (1n << 125n) + rest)
    fc.assert(
      fc.property(globalUnicast, (value) => {
        fc.pre(((value >> 32n) & 0xfdffffffn) !== 0x5efen)
        assert.strictEqual(isAllowed(ipv6Text(value)), !isSpecialIpv6(ipv6Text(value)), ipv6Text(value))
      }),
      { numRuns: 2_000 }
    )
  })

  it.each([
    // Resolvers and sockets never return addresses in these notations.
    ["not an address", false],
    ["", false],
    ["127.1", false],
    ["2130706433", false],
    ["0x7f000001", false],
    ["0177.0.0.1", false],
    ["127.0.0.1.", false],
    ["[::1]", false],
    ["::1%", false],
    ["1::2::3", false],
    // These addresses only resemble refused ones.
    ["2606:4700::1234:5efe:a00:1", true],
    ["8.8.8.8", true],
    ["172.32.0.1", true],
    ["100.128.0.1", true],
    ["192.0.1.1", true],
    ["2606:4700::1111", true],
    ["::ffff:8.8.8.8", true],
    ["2001:200::1", true]
  ])("judges %j, without an allow-list: allowed %j", (text, allowed) => {
    assert.strictEqual(isAllowed(text), allowed)
  })

  it("also checks an embedded IPv4 address, even if the allow-list covers the enclosing address", () => {
    const wrappings: ReadonlyArray<readonly [network: string, wrap: (ipv4: bigint) => bigint]> = [
      ["::/96", (ipv4) => ipv4],
      ["::ffff:0:0:0/96", (ipv4) => (0xffffn << 48n) | ipv4],
      ["64:ff9b::/96", (ipv4) => (0x64ff9bn << 96n) | ipv4],
      ["2002::/16", (ipv4) => (0x2002n << 112n) | (ipv4 << 80n) | 1n],
      // Teredo: the tested address is the client's, with inverted bits; the server is public.
      ["2001::/32", (ipv4) => (0x20010000n << 96n) | (0x08080808n << 64n) | (ipv4 ^ 0xffffffffn)],
      // Teredo: the tested address is the server's; the client is public.
      ["2001::/32", (ipv4) => (0x20010000n << 96n) | (ipv4 << 64n) | 0xf7f7f7f7n],
      // ISATAP, in a network that is allowed without an allow-list.
      ["2606:4700::/32", (ipv4) => (0x26064700n << 96n) | (0x5efen << 32n) | ipv4],
      ["2606:4700::/32", (ipv4) => (0x26064700n << 96n) | (0x2005efen << 32n) | ipv4]
    ]
    fc.assert(
      fc.property(fc.constantFrom(...wrappings), fc.oneof(anyIpv4, inside(ipv4Blocks, 32)), ([network, wrap], ipv4) => {
        fc.pre(ipv4 > 1n)
        const address = ipv6Text(wrap(ipv4))
        assert.strictEqual(isAllowed(address, network), isAllowed(ipv4Text(ipv4)), address)
        assert.isTrue(isAllowed(address, network, "0.0.0.0/0"), address)
      }),
      { numRuns: 2_000 }
    )
  })

  it("allows exactly the addresses on an allow-list", () => {
    const allow = ["192.168.7.0/24", "::1", "::ffff:10.9.0.0/112"]
    assert.isTrue(isAllowed("192.168.7.9", ...allow))
    assert.isTrue(isAllowed("::ffff:192.168.7.9", ...allow))
    assert.isTrue(isAllowed("::1", ...allow))
    assert.isTrue(isAllowed("10.9.255.255", ...allow))
    assert.isTrue(isAllowed("10.10.0.0", "::ffff:0:0/96"))
    assert.isFalse(isAllowed("10.10.0.0", ...allow))
    assert.isFalse(isAllowed("192.168.8.9", ...allow))
    assert.isFalse(isAllowed("127.0.0.1", ...allow))
    assert.isFalse(isAllowed("::", ...allow))
    assert.isFalse(isAllowed("::192.168.7.9", ...allow))
  })

  it("checks no embedded address in addresses that only look as if they had one", () => {
    const resembling = ["::1234:0:a00:1", "64:1::a00:1", "64:ff9b::1:0:a00:1", "65:ff9b::a00:1", "2003:a00:1::"]
    for (const address of resembling) assert.isTrue(isAllowed(address, "::/8", "64::/16", "65::/16"), address)
  })

  it("ignores the zone of an address, which only names an interface", () => {
    assert.isTrue(isAllowed("fe80::1%eth0", "fe80::/10"))
    assert.isFalse(isAllowed("fe80::1%eth0", "fe90::/16"))
  })

  it.each([
    ["10.255.0.1", true],
    ["::ffff:10.0.0.1", true],
    ["fc00::1%1", true],
    ["11.0.0.1", false],
    ["::10.0.0.1", false],
    ["fe00::1", false],
    ["everything", false]
  ])("finds %s inside 10.0.0.0/8 or fc00::/7: %j", (address, expected) => {
    assert.strictEqual(AddressPolicy.isInside(address, networks("10.0.0.0/8", "fc00::/7")), expected)
  })

  it("reads networks and single addresses, and nothing else", () => {
    const read = (text: string) => Option.isSome(AddressPolicy.parseNetwork(text))
    assert.isTrue(["10.0.0.0/8", "10.1.2.3", "fc00::/7", "::1", "0.0.0.0/0", "::/0", "::ffff:0:0/96"].every(read))
    assert.isFalse(
      ["10.1.2.3/8", "10/8", "10.0.0.0/33", "localhost", "", "127.1", "::1/129", "::ffff:0:0/95", "10.0.0.0/8 "].some(
        read
      )
    )
  })
})
