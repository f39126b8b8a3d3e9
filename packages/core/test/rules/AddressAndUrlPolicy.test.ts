import { assert, describe, it } from "@effect/vitest"
import { AddressPolicy, UrlPolicy } from "@doorhook/core"
import { Option, Result } from "effect"
import fc from "fast-check"
import { BlockList, isIPv4 } from "node:net"

const networks = (...texts: ReadonlyArray<string>) =>
  texts.map((text) => Option.getOrThrow(AddressPolicy.parseNetwork(text)))

const isAllowed = (address: string, ...allow: ReadonlyArray<string>) =>
  AddressPolicy.isAllowedAddress(address, networks(...allow))

const problemOf = (url: string, allow = networks()) =>
  Result.match(UrlPolicy.check(url, allow), { onSuccess: () => null, onFailure: ({ code }) => code })

// Written down again, from the registries rather than from the code: every block of the IANA special-purpose registries
// for IPv4 and IPv6, and of the address space registries what is multicast, reserved, or deprecated.

const ipv4Blocks = [
  "0.0.0.0/8",
  "0.0.0.0/32",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
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

const ipv6Blocks = [
  "::/8", // reserved, but for the IPv4-mapped addresses, which are judged as IPv4 addresses
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

const parts = (block: string): readonly [address: string, prefix: number] => {
  const [address = "", prefix] = block.split("/")
  return [address, Number(prefix)]
}

/** Node's own arithmetic, so that the policy's is checked by another. */
const inRegistry = (blocks: ReadonlyArray<string>, family: "ipv4" | "ipv6") => {
  const list = new BlockList()
  for (const [address, prefix] of blocks.map(parts)) list.addSubnet(address, prefix, family)
  return (address: string): boolean => list.check(address, family)
}
const isSpecialIpv4 = inRegistry(ipv4Blocks, "ipv4")
const isSpecialIpv6 = inRegistry(ipv6Blocks, "ipv6")

const ipv4Text = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".")

const ipv6Text = (value: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(":")

/** The number of an address that is written as the lists above write it. */
const numberOf = (address: string): bigint => {
  if (isIPv4(address)) return address.split(".").reduce((sum, octet) => sum * 256n + BigInt(octet), 0n)
  const [head = [], tail = []] = address.split("::").map((half) => (half === "" ? [] : half.split(":")))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0")
  return [...head, ...zeros, ...tail].reduce((sum, segment) => sum * 65_536n + BigInt(`0x${segment}`), 0n)
}

/** The number of any address inside one of the blocks. */
const inside = (blocks: ReadonlyArray<string>, width: number): fc.Arbitrary<bigint> =>
  fc.constantFrom(...blocks).chain((block) => {
    const [address, prefix] = parts(block)
    return fc.bigInt({ min: 0n, max: 2n ** BigInt(width - prefix) - 1n }).map((host) => numberOf(address) + host)
  })

const anyIpv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })

// How an IPv4 address can be written in a URL.

const numeral = (value: bigint): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant(value.toString()),
    fc.constant(`0x${value.toString(16)}`),
    fc.constant(`0X${value.toString(16).toUpperCase()}`),
    fc.nat(4).map((zeros) => `0${"0".repeat(zeros)}${value.toString(8)}`)
  )

/** One to four parts, of which the last takes what is left. */
const written = (value: bigint): fc.Arbitrary<string> =>
  fc.integer({ min: 1, max: 4 }).chain((count) => {
    const heads = [24n, 16n, 8n].slice(0, count - 1).map((shift) => (value >> shift) & 255n)
    const last = value & (2n ** BigInt(32 - 8 * (count - 1)) - 1n)
    return fc.tuple(...[...heads, last].map(numeral)).map((texts) => texts.join("."))
  })

const codePoint = (character: string): number => character.codePointAt(0) ?? 0

/** The same text to a URL parser: percent-encoded, full-width or another kind of full stop, character by character. */
const disguised = (text: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...Array.from(text, (character) =>
        fc.constantFrom(
          character,
          `%${codePoint(character).toString(16)}`,
          character === "." ? "\u3002" : String.fromCodePoint(codePoint(character) + 0xfee0)
        )
      )
    )
    .map((characters) => characters.join(""))

const hostOfIpv4 = (value: bigint): fc.Arbitrary<string> =>
  fc.tuple(written(value).chain(disguised), fc.constantFrom("", ".")).map((texts) => texts.join(""))

/** With and without the long run of zeros, in either case, the last 32 bits in dots or not. */
const hostOfIpv6 = (value: bigint): fc.Arbitrary<string> => {
  const long = ipv6Text(value)
  const dotted = `${ipv6Text(value).split(":").slice(0, 6).join(":")}:${ipv4Text(value & 0xffffffffn)}`
  const short = URL.parse(`http://[${long}]/`)?.hostname.slice(1, -1) ?? long
  const padded = long.replaceAll(/[0-9a-f]+/g, (segment) => segment.padStart(4, "0"))
  return fc.constantFrom(...[long, dotted, short, padded].flatMap((text) => [text, text.toUpperCase()]))
}

describe("AddressPolicy", () => {
  it("refuses every address of every special block, however it is written", () => {
    fc.assert(
      fc.property(inside(ipv4Blocks, 32), (value) => {
        assert.isFalse(isAllowed(ipv4Text(value)), ipv4Text(value))
        assert.isFalse(isAllowed(`::ffff:${ipv4Text(value)}`))
        assert.isFalse(isAllowed(ipv6Text(0xffff00000000n + value)))
      }),
      { numRuns: 2_000 }
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

  it("refuses the first and the last address of each block, and allows its neighbours unless another covers them", () => {
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
      { numRuns: 5_000 }
    )
  })

  it("allows every other global unicast IPv6 address", () => {
    const globalUnicast = fc.bigInt({ min: 0n, max: 2n ** 125n - 1n }).map((rest) => (1n << 125n) + rest)
    fc.assert(
      fc.property(globalUnicast, (value) => {
        fc.pre(((value >> 32n) & 0xfdffffffn) !== 0x5efen)
        assert.strictEqual(isAllowed(ipv6Text(value)), !isSpecialIpv6(ipv6Text(value)), ipv6Text(value))
      }),
      { numRuns: 5_000 }
    )
  })

  it.each([
    "not an address",
    "",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::1]",
    "::1%",
    "1::2::3"
  ])("refuses %j, which is no address as resolvers and sockets write them", (text) => {
    assert.isFalse(isAllowed(text))
  })

  it.each([
    "2606:4700::1234:5efe:a00:1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "192.0.1.1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "2001:200::1"
  ])("allows %s", (address) => {
    assert.isTrue(isAllowed(address))
  })

  it("judges what embeds an IPv4 address by that address too, whatever the allow-list says of the wrapping", () => {
    const wrappings: ReadonlyArray<readonly [network: string, wrap: (ipv4: bigint) => bigint]> = [
      ["::/96", (ipv4) => ipv4],
      ["::ffff:0:0:0/96", (ipv4) => (0xffffn << 48n) | ipv4],
      ["64:ff9b::/96", (ipv4) => (0x64ff9bn << 96n) | ipv4],
      ["2002::/16", (ipv4) => (0x2002n << 112n) | (ipv4 << 80n) | 1n],
      // Teredo: the client's address, with all bits turned, behind a server that is public.
      ["2001::/32", (ipv4) => (0x20010000n << 96n) | (0x08080808n << 64n) | (ipv4 ^ 0xffffffffn)],
      // Teredo: the server's address, before a client that is public.
      ["2001::/32", (ipv4) => (0x20010000n << 96n) | (ipv4 << 64n) | 0xf7f7f7f7n],
      // ISATAP, in a network that needs no allow-list.
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

  it("allows what an allow-list names, and nothing beside it", () => {
    const allow = ["192.168.7.0/24", "::1", "::ffff:10.9.0.0/112"]
    assert.isTrue(isAllowed("192.168.7.9", ...allow))
    assert.isTrue(isAllowed("::ffff:192.168.7.9", ...allow))
    assert.isTrue(isAllowed("::1", ...allow))
    assert.isTrue(isAllowed("10.9.255.255", ...allow))
    assert.isFalse(isAllowed("10.10.0.0", ...allow))
    assert.isFalse(isAllowed("192.168.8.9", ...allow))
    assert.isFalse(isAllowed("127.0.0.1", ...allow))
    assert.isFalse(isAllowed("::", ...allow))
    assert.isFalse(isAllowed("::192.168.7.9", ...allow))
  })

  it("reads networks and single addresses, and nothing else", () => {
    const read = (text: string) => Option.isSome(AddressPolicy.parseNetwork(text))
    assert.isTrue(["10.0.0.0/8", "10.1.2.3", "fc00::/7", "::1", "0.0.0.0/0", "::/0"].every(read))
    assert.isFalse(["10.1.2.3/8", "10/8", "10.0.0.0/33", "localhost", "", "127.1", "::1/129", "10.0.0.0/8 "].some(read))
  })
})

describe("UrlPolicy", () => {
  it.each([
    ["https://hooks.example.com/door", null],
    ["http://93.184.216.34:8080/x?y=1", null],
    ["https://hooks.example.com./door", null],
    ["HTTPS://Hooks.Example.com", null],
    ["https://münchen.example/", null],
    ["notaurl", "not_a_url"],
    ["/relative", "not_a_url"],
    ["//example.com/", "not_a_url"],
    ["http://", "not_a_url"],
    ["http://exa mple.com", "not_a_url"],
    ["http://example.com/\n", "not_a_url"],
    ["http:example.com", "not_a_url"],
    ["http:/example.com", "not_a_url"],
    ["http:///example.com", "not_a_url"],
    ["http:\\\\example.com", "not_a_url"],
    ["http://example.com\\@evil.example", "not_a_url"],
    ["http://example..com/", "not_a_url"],
    ["http://127.0.0.1../", "not_a_url"],
    ["http://1.2.3.4.5/", "not_a_url"],
    ["http://256.256.256.256/", "not_a_url"],
    ["http://[fe80::1%25eth0]/", "not_a_url"],
    ["http://127.0.0.1%00.example.com/", "not_a_url"],
    ["ftp://example.com", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["javascript:alert(1)", "scheme"],
    [`https://example.com/${"x".repeat(2_048)}`, "too_long"],
    ["https://user:pw@example.com", "userinfo"],
    ["https://user@example.com", "userinfo"],
    ["https://127.0.0.1@example.com", "userinfo"],
    ["https://example.com/#", "fragment"],
    ["http://127.0.0.1/", "refused_address"],
    ["http://2130706433/", "refused_address"],
    ["http://0x7f.1/", "refused_address"],
    ["http://0/", "refused_address"],
    ["http://127.0.0.1./", "refused_address"],
    ["http://①②⑦.⓪.⓪.①/", "refused_address"],
    ["http://[::1]/", "refused_address"],
    ["http://[::ffff:7f00:1]/", "refused_address"]
  ])("judges %s: %s", (url, expected) => {
    assert.strictEqual(problemOf(url), expected)
  })

  it("refuses special addresses in every spelling that a URL parser understands, and allows the others", () => {
    fc.assert(
      fc.property(
        fc
          .oneof(inside(ipv4Blocks, 32), anyIpv4)
          .chain((value) => hostOfIpv4(value).map((host) => [value, host] as const)),
        ([value, host]) => {
          const expected = isSpecialIpv4(ipv4Text(value)) ? "refused_address" : null
          assert.strictEqual(problemOf(`http://${host}:8080/hook`), expected, host)
        }
      ),
      { numRuns: 3_000 }
    )
    fc.assert(
      fc.property(
        inside(ipv6Blocks, 128).chain((value) => hostOfIpv6(value)),
        (host) => {
          assert.strictEqual(problemOf(`http://[${host}]/hook`), "refused_address", host)
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("lets an allow-listed literal through", () => {
    assert.isNull(problemOf("http://127.0.0.1:9000/hook", networks("127.0.0.0/8")))
  })

  it("refuses a name as soon as one of its addresses is refused", () => {
    assert.isTrue(Result.isFailure(UrlPolicy.checkAddresses(["8.8.8.8", "10.0.0.1"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses(["8.8.8.8"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses([], [])))
  })
})
