import { english, UrlPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import {
  anyIpv4,
  hostOfIpv6,
  inside,
  ipv4Blocks,
  ipv4Text,
  ipv6Blocks,
  isSpecialIpv4,
  networks
} from "../delivery/addresses.ts"

const problemOf = (url: string, allow = networks()) =>
  Result.match(UrlPolicy.check(url, allow), { onSuccess: () => null, onFailure: ({ code }) => code })

// Generators for the notations of an IPv4 address in a URL.

const numeral = (value: bigint): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant(value.toString()),
    fc.constant(`0x${value.toString(16)}`),
    fc.constant(`0X${value.toString(16).toUpperCase()}`),
    fc.nat(4).map((zeros) => `0${"0".repeat(zeros)}${value.toString(8)}`)
  )

/** Generates notations with one to four parts; the last part has the remaining bits. */
const written = (value: bigint): fc.Arbitrary<string> =>
  fc.integer({ min: 1, max: 4 }).chain((count) => {
    const heads = [24n, 16n, 8n].slice(0, count - 1).map((shift) => (value >> shift) & 255n)
    const last = value & (2n ** BigInt(32 - 8 * (count - 1)) - 1n)
    return fc.tuple(...[...heads, last].map(numeral)).map((texts) => texts.join("."))
  })

const codePoint = (character: string): number => character.codePointAt(0) ?? 0

/**
 * Generates texts that a URL parser treats as equal to `text`: percent-encoded, full-width, or with other full stops.
 */
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

describe("UrlPolicy", () => {
  it.each([
    ["https://hooks.example.com/door", null],
    ["http://93.184.216.34:8080/x?y=1", null],
    ["https://hooks.example.com./door", null],
    ["HTTPS://Hooks.Example.com", null],
    ["https://münchen.example/", null],
    ["https://1.2.3.4.example.com/", null],
    ["https://[2606:4700::1111]/", null],
    ["https://example.com//a@b?to=x//y@z", null],
    [`https://example.com/${"x".repeat(2_028)}`, null],
    ["notaurl", "not_a_url"],
    ["/relative", "not_a_url"],
    ["//example.com/", "not_a_url"],
    ["http://", "not_a_url"],
    ["http://exa mple.com", "not_a_url"],
    ["http://example.com/\n", "not_a_url"],
    ["http://example.com/\u001b[2J", "not_a_url"],
    ["http://example.com/\u007f", "not_a_url"],
    ["http://example.com/\u009b2J", "not_a_url"],
    ["http:example.com", "not_a_url"],
    ["http:/example.com", "not_a_url"],
    ["http:https://example.com", "not_a_url"],
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
    [`https://example.com/${"x".repeat(2_029)}`, "too_long"],
    ["https://user:pw@example.com", "userinfo"],
    ["https://user@example.com", "userinfo"],
    ["https://:pw@example.com", "userinfo"],
    ["https://127.0.0.1@example.com", "userinfo"],
    ["https://@example.com/", "userinfo"],
    ["https://:@example.com", "userinfo"],
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
      { numRuns: 1_000 }
    )
    fc.assert(
      fc.property(
        inside(ipv6Blocks, 128).chain((value) => hostOfIpv6(value)),
        (host) => {
          assert.strictEqual(problemOf(`http://[${host}]/hook`), "refused_address", host)
        }
      ),
      { numRuns: 1_000 }
    )
  })

  it("allows an address literal on the allow-list", () => {
    assert.isNull(problemOf("http://127.0.0.1:9000/hook", networks("127.0.0.0/8")))
    assert.isNull(problemOf("http://[::1]:9000/hook", networks("::1")))
    assert.strictEqual(problemOf("http://[::2]:9000/hook", networks("::1")), "refused_address")
  })

  it("refuses a name if any of its addresses is refused", () => {
    assert.isTrue(Result.isFailure(UrlPolicy.checkAddresses(["8.8.8.8", "10.0.0.1"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses(["8.8.8.8", "10.0.0.1"], networks("10.0.0.0/8"))))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses(["8.8.8.8"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses([], [])))
  })

  it.each([
    "notaurl",
    "ftp://example.com",
    "x".repeat(2_049),
    "http://u@h.example",
    "http://h.example/#a",
    "http://0/"
  ])("says of %s what is accepted instead", (text) => {
    const message = Result.match(UrlPolicy.check(text, []), {
      onSuccess: () => "",
      onFailure: ({ said }) => english(said)
    })
    assert.match(message, /^The URL must (be|begin|lead|not) [^{]+\.$/)
  })

  it("shows a URL to its owner without user name and query, and does not accept that form as a URL to save", () => {
    const shown = UrlPolicy.shownUrl(new URL("https://user:pw@hooks.example.com:8443/a/b?key=1"))
    assert.strictEqual(shown, "https://hooks.example.com:8443/a/b?...")
    assert.match(UrlPolicy.hiddenQueryFlaw(shown) ?? "", /Write the query itself\.$/)
    const whole = UrlPolicy.shownUrl(new URL("https://hooks.example.com/a"))
    assert.strictEqual(whole, "https://hooks.example.com/a")
    assert.isNull(UrlPolicy.hiddenQueryFlaw(whole))
    assert.isNull(UrlPolicy.hiddenQueryFlaw(`${whole}?...&key=1`))
  })

  it("shows only the host and the port of a URL in a log, even if the URL is unusable", () => {
    assert.strictEqual(
      UrlPolicy.shownHost("https://user:pw@Hooks.example.com:8443/secret?key=1"),
      "hooks.example.com:8443"
    )
    assert.strictEqual(UrlPolicy.shownHost("secret"), "an unusable URL")
  })
})
